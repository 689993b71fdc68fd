//! Which files count, and what comes before what.

#![expect(clippy::disallowed_methods, reason = "tests may block")]

use std::fs;

use clap::{CommandFactory as _, FromArgMatches as _};
use tempfile::TempDir;

use super::*;

/// A user with a home, a configuration directory and a project.
struct World {
    root: TempDir,
    environment: BTreeMap<OsString, OsString>,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for directory in ["home/data", "config", "project/.ahma", "other"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        let home = root.path().join("home").into_os_string();
        let environment = BTreeMap::from([(OsString::from("HOME"), home)]);
        World { root, environment }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        fs::write(
            self.path(name),
            text.replace("ROOT", self.path("").to_str().unwrap()),
        )
        .unwrap();
        self
    }

    fn start(&self, words: &[&str]) -> Result<Args, String> {
        let words = ["ahma_mcp"].iter().chain(words).map(OsString::from);
        let words: Vec<OsString> = words.collect();
        let given = Args::command().get_matches_from(&words);
        let args = Args::from_arg_matches(&given).unwrap();
        let user = UserDirectories {
            config: Some(self.path("config")),
            state: Some(self.path("state")),
            cache: Some(self.path("cache")),
        };
        let start = Start {
            environment: &self.environment,
            user: &user,
            directory: &self.path("project"),
            words: &words,
        };
        with_files(args, &given, &start).map_err(|error| error.to_string())
    }

    fn origins(&self, words: &[&str]) -> Vec<String> {
        let root = self.path("");
        let root = root.to_str().unwrap();
        let args = self.start(words).unwrap();
        let origins = args.origins.iter();
        let line = |it: &SettingOrigin| format!("{} = {} ({})", it.name, it.value, it.source);
        origins.map(|it| line(it).replace(root, "ROOT/")).collect()
    }
}

/// Proves: P70.
#[test]
fn every_flag_of_the_server_is_a_setting_of_its_name_and_bounds() {
    // What a file cannot say of itself, what is no setting, and what other subcommands are for.
    let others = ["config", "help", "version"];
    let command = Args::command();
    let flags = command.get_arguments().filter_map(clap::Arg::get_long);
    let mut flags: Vec<&str> = flags.filter(|it| !others.contains(it)).collect();
    let mut keys: Vec<&str> = KEYS.iter().map(|it| it.name).collect();
    flags.sort_unstable();
    keys.sort_unstable();
    assert_eq!(flags, keys);
    let is_taken = |name: &str, value: &str| {
        let mut words = vec!["ahma_mcp".to_owned(), format!("--{name}={value}")];
        let needs = [
            ("session-isolation", "--scope-root=/a"),
            ("scope-root", "--session-isolation"),
        ];
        let needed = needs.iter().filter(|(it, _)| *it == name);
        words.extend(needed.map(|(_, flag)| (*flag).to_owned()));
        Args::try_parse_from(words).is_ok()
    };
    for key in KEYS {
        let name = key.name;
        match key.kind {
            Kind::Switch => {}
            Kind::Number(least, most) => {
                assert!(is_taken(name, &least.to_string()), "{name}");
                assert!(is_taken(name, &most.to_string()), "{name}");
                let outside = [i64::from(least) - 1, i64::from(most) + 1];
                assert!(
                    !outside.iter().any(|it| is_taken(name, &it.to_string())),
                    "{name}"
                );
            }
            Kind::Choice(all) | Kind::Choices(all) => {
                assert!(all.iter().all(|it| is_taken(name, it)), "{name}");
                assert!(!is_taken(name, "nothing"), "{name}");
            }
            _ => assert!(is_taken(name, "/a"), "{name}"),
        }
    }
}

/// Proves: P70.
#[test]
fn a_flag_comes_before_a_variable_before_the_project_before_the_server() {
    let mut world = World::new();
    let text = "[server]\nnetwork = \"off\"\ntimeout = 10\nsync = true\n\n[scope.\"ROOTproject\"]\ntimeout = 20\nsync = false\n\n\
        [scope.\"ROOTother\"]\ntimeout = 30\n";
    world.write("config/ahma.toml", text);
    let args = world.start(&[]).unwrap();
    assert_eq!(
        (args.network, args.timeout, args.sync),
        (Some(NetworkArg::Off), 20, false)
    );
    let args = world.start(&["--timeout", "5"]).unwrap();
    assert_eq!((args.network, args.timeout), (Some(NetworkArg::Off), 5));
    let other = world.path("other");
    let other = ["--sandbox-scope", other.to_str().unwrap()];
    assert_eq!(world.start(&other).unwrap().timeout, 30);
    assert_eq!(
        world.origins(&["--timeout", "5"]),
        [
            "network = off ([server] of ROOT/config/ahma.toml:2)",
            "sync = false ([scope.\"ROOT/project\"] of ROOT/config/ahma.toml:8)",
            "timeout = 5 (flag)",
        ]
    );
    world.environment.insert("AHMA_NETWORK".into(), "on".into());
    assert_eq!(
        world.start(&[]).unwrap().network,
        None,
        "the variable counts"
    );
    assert_eq!(
        world.origins(&[])[0],
        "network = on (variable AHMA_NETWORK)"
    );
    world.write("third.toml", "[server]\ntimeout = 3\n");
    let third = world.path("third.toml");
    let args = world.start(&["--config", third.to_str().unwrap()]).unwrap();
    assert_eq!(
        (args.timeout, args.network),
        (3, None),
        "instead of the user's file"
    );
}

/// Proves: P70.
#[test]
fn settings_of_http_are_for_http_and_one_flag_takes_the_place_of_what_excludes_it() {
    let world = World::new();
    let text =
        "[server]\nhttp-port = 4300\nlog-level = \"warn\"\nhttp-token = \"0123456789abcdef0123\"\n";
    world.write("config/ahma.toml", text);
    assert_eq!(world.start(&[]).unwrap().http_port, None);
    let args = world.start(&["--mode", "http", "--debug"]).unwrap();
    assert_eq!((args.http_port, args.log_level), (Some(4300), None));
    let args = world
        .start(&["--mode", "http", "--http-socket", "/a"])
        .unwrap();
    assert_eq!(args.http_port, None);
    let origins = world.origins(&["--mode", "dual"]);
    assert!(
        origins.contains(&"http-token = (secret) ([server] of ROOT/config/ahma.toml:4)".to_owned()),
        "{origins:?}"
    );
}

/// Proves: P70.
#[test]
fn paths_are_filled_in_and_subcommands_get_settings_too() {
    let world = World::new();
    world.write(
        "config/ahma.toml",
        "[server]\nsandbox-read = [\"~/data\", \"${HOME}/more\"]\ntools = [\"core\", \"-git_push\"]\n",
    );
    let args = world.start(&["downstream", "list"]).unwrap();
    let home = world.root.path().join("home");
    assert_eq!(args.sandbox_read, [home.join("data"), home.join("more")]);
    assert_eq!(args.tools, ["core", "-git_push"]);
    assert!(args.command.is_some());
    world.write(
        "config/ahma.toml",
        "[server]\nsandbox-read = [\"${NOWHERE}/a\"]\n",
    );
    let error = world.start(&[]).unwrap_err();
    assert!(
        error.contains("ahma.toml:2: `${NOWHERE}/a` begins with a variable that is not set"),
        "{error}"
    );
}

/// Proves: P71.
#[test]
fn a_file_with_faults_keeps_the_server_from_starting() {
    let world = World::new();
    world.write(
        "config/ahma.toml",
        "[server]\nnetwrok = \"off\"\ntimeout = 0\n",
    );
    let error = world.start(&[]).unwrap_err();
    assert!(
        error.contains("ahma.toml:2:1: unknown setting `netwrok`\nhint: did you mean `network`?"),
        "{error}"
    );
    assert!(error.contains("ahma.toml:3:11: "), "{error}");
    let error = world.start(&["--config", "/no/such/file"]).unwrap_err();
    assert!(error.contains("/no/such/file:1:1: "), "{error}");
}

/// Proves: P72.
#[test]
fn a_file_of_the_project_takes_away_whatever_else_is_said() {
    let world = World::new();
    let own = "[server]\nnetwork = \"off\"\nno-shell = true\ntimeout = 100\nprotect = [\"a\"]\nuser-path = \"off\"\n\
        require = [\"landlock\"]\nhome = \"fresh\"\nmax-operations = 9999\n";
    world.write("project/.ahma/ahma.toml", own);
    let args = world
        .start(&["--network", "on", "--timeout", "50"])
        .unwrap();
    assert_eq!(
        (args.network, args.timeout, args.no_shell),
        (Some(NetworkArg::Off), 50, true)
    );
    assert_eq!((args.user_path, args.home), (OnOff::Off, HomeArg::Fresh));
    assert_eq!(
        (args.protect, args.require),
        (vec![PathBuf::from("a")], vec![LayerArg::Landlock])
    );
    assert_eq!(args.max_operations, 128, "more than the default");
    assert!(
        world
            .origins(&["--network", "on"])
            .contains(&"network = off (ROOT/project/.ahma/ahma.toml:2)".to_owned())
    );
    world.write(
        "project/.ahma/ahma.toml",
        "[server]\nsandbox-write = [\"/\"]\n",
    );
    let error = world.start(&[]).unwrap_err();
    assert!(
        error.contains("a file of the project cannot set `sandbox-write`"),
        "{error}"
    );
    fs::remove_file(world.path("project/.ahma/ahma.toml")).unwrap();
    world.write("other/a.toml", "[server]\nnetwork = \"on\"\n");
    std::os::unix::fs::symlink(
        world.path("other/a.toml"),
        world.path("project/.ahma/ahma.toml"),
    )
    .unwrap();
    let error = world.start(&[]).unwrap_err();
    assert!(error.contains("is a link"), "{error}");
}

/// Proves: P72.
#[test]
fn a_named_file_that_commands_can_write_grants_nothing() {
    let world = World::new();
    world.write("project/mine.toml", "[server]\nnetwork = \"on\"\n");
    let error = world.start(&["--config", "mine.toml"]).unwrap_err();
    assert!(
        error.contains("can only say `network = \"off\"`"),
        "{error}"
    );
    world.write(
        "config/ahma.toml",
        "[server]\nsandbox-write = [\"ROOTconfig\"]\n",
    );
    let error = world.start(&[]).unwrap_err();
    assert!(error.contains("commands could write"), "{error}");
}

/// Proves: P74.
#[test]
fn a_profile_grants_what_is_there_and_the_users_own_comes_first() {
    let mut world = World::new();
    fs::create_dir_all(world.path("home/.nvm")).unwrap();
    let args = world.start(&["--profile", "node,gh"]).unwrap();
    assert_eq!(
        args.sandbox_read,
        [world.root.path().join("home/.nvm")],
        "of four, one is there"
    );
    assert_eq!(args.pass_env, ["GH_TOKEN", "GITHUB_TOKEN"]);
    let own = "[server]\nprofile = [\"node\"]\n[profile.node]\nsandbox-read = [\"${TOOLS}/node\", \"~/data\"]\n";
    world.write("config/ahma.toml", own);
    assert_eq!(
        world.start(&[]).unwrap().sandbox_read,
        [world.root.path().join("home/data")]
    );
    let tools = world.path("other");
    fs::create_dir_all(tools.join("node")).unwrap();
    world
        .environment
        .insert("TOOLS".into(), tools.clone().into());
    assert_eq!(
        world.start(&[]).unwrap().sandbox_read[0],
        tools.join("node")
    );
    let error = world.start(&["--profile", "nod"]).unwrap_err();
    assert!(
        error.contains("there is no profile `nod`\nhint: did you mean `node`?"),
        "{error}"
    );
}
