//! `docs/files.md` names what programs of this project write: real ones are run, and whatever they wrote is looked up there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ahma_tests::http_process::HttpProcess;
use ahma_tests::mcp::McpProcess;
use ahma_tests::served::ahma_mcp;
use ahma_tests::{Workspace, repository, until};
use regex::Regex;
use serde_json::json;

use crate::stdio_server::sign_in_world::World;

const STATE: &str = "project/.ahma/.mcp_server_state.json";

/// A row of the document.
struct Row {
    /// As it is written there.
    text: String,
    /// Of every part of the path, seen from the directory of a [`User`].
    parts: Vec<Regex>,
    /// Whether it stands for all that is below it, too.
    is_all_below: bool,
    mode: Option<u32>,
    /// Whether it is there for longer than a moment.
    lasts: bool,
}

impl Row {
    fn fits(&self, parts: &[&str]) -> bool {
        parts
            .iter()
            .zip(&self.parts)
            .all(|(it, of)| of.is_match(it))
    }

    fn names(&self, parts: &[&str]) -> bool {
        let is_there = match self.is_all_below {
            true => parts.len() >= self.parts.len(),
            false => parts.len() == self.parts.len(),
        };
        is_there && self.fits(parts)
    }

    /// Whether a directory has to be there for it.
    fn is_below(&self, parts: &[&str]) -> bool {
        parts.len() < self.parts.len() && self.fits(parts)
    }
}

/// A part of a path of the document; words in capitals stand for others.
fn part(text: &str) -> Regex {
    let words = Regex::new("[A-Z]{2,}").unwrap();
    let (mut pattern, mut end) = ("^".to_owned(), 0);
    for word in words.find_iter(text) {
        pattern += &regex::escape(&text[end..word.start()]);
        pattern += match word.as_str() {
            "HASH" => "[0-9a-f]{16,}",
            "RANDOM" => "[0-9A-Za-z]+",
            "NUMBER" => "[0-9]+",
            "DATE" => "[0-9]{4}-[0-9]{2}-[0-9]{2}",
            "TIME" => "[0-9TZ.-]+",
            // No name has a dot in it.
            _ => "[^.]+",
        };
        end = word.end();
    }
    pattern += &regex::escape(&text[end..]);
    Regex::new(&format!("{pattern}$")).unwrap()
}

fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The rows of the tables below headings that name a directory.
fn rows() -> Vec<Row> {
    let text = fs::read_to_string(repository().join("docs/files.md")).unwrap();
    let (mut rows, mut base) = (Vec::new(), None);
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let place = |it: &str| {
                let it = it.replace('~', "home").replace("$TMPDIR", "tmp");
                it.replace("PROJECT", "project")
            };
            base = spans(heading).next().map(place);
        }
        let (Some(base), true) = (&base, line.starts_with("| `")) else {
            continue;
        };
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let mode = cells.get(2).and_then(|it| u32::from_str_radix(it, 8).ok());
        for text in spans(cells[0]) {
            let path = format!("{base}/{}", text.trim_end_matches("/**"));
            rows.push(Row {
                text: text.to_owned(),
                parts: path.split('/').map(part).collect(),
                is_all_below: text.ends_with("/**"),
                mode,
                lasts: !cells.iter().any(|it| it.starts_with("a moment")),
            });
        }
    }
    rows
}

/// All below a directory, with modes. What goes meanwhile is left out.
fn below(directory: &Path, found: &mut BTreeMap<PathBuf, u32>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else {
            continue;
        };
        found
            .entry(entry.path())
            .or_insert(about.permissions().mode() & 0o7777);
        if about.is_dir() {
            below(&entry.path(), found);
        }
    }
}

/// Somebody with a home, a project, a directory for temporary files, and what was written there.
struct User {
    place: Workspace,
    written: BTreeMap<PathBuf, u32>,
}

impl User {
    fn new() -> Self {
        let place = Workspace::new();
        for directory in ["home", "project", "tmp", "roots"] {
            place.make_directory(directory);
        }
        User {
            place,
            written: BTreeMap::new(),
        }
    }

    fn path(&self, name: &str) -> String {
        self.place.path().join(name).to_str().unwrap().to_owned()
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("HOME", self.path("home")),
            ("XDG_STATE_HOME", self.path("home/.local/state")),
            ("XDG_CACHE_HOME", self.path("home/.cache")),
            ("XDG_CONFIG_HOME", self.path("home/.config")),
            ("TMPDIR", self.path("tmp")),
        ]
    }

    /// Puts an `mcp.json` of this user there, with a server that is told to behave so.
    fn name_server(&self, options: &[&str]) {
        let script = repository().join("tests/fixtures/upstream/server.py");
        let script = [script.to_str().unwrap()];
        let args = [&script, options].concat();
        let servers = json!({ "servers": { "up": { "command": "python3", "args": args } } });
        let file = "home/.config/ahma_mcp/mcp.json";
        self.place.write(file, servers.to_string());
    }

    fn look(&mut self) {
        below(self.place.path(), &mut self.written);
    }

    fn serve(&mut self, arguments: &[&str], using: impl FnOnce(&Self, &mut McpProcess)) {
        let variables = self.variables();
        let variables: Vec<_> = variables
            .iter()
            .map(|(it, to)| (*it, to.as_str()))
            .collect();
        let project = self.place.path().join("project");
        let mut client = McpProcess::connect(&ahma_mcp(), arguments, &project, &variables);
        using(self, &mut client);
        self.look();
        client.close();
        assert_eq!(client.wait().code(), Some(0));
        self.look();
    }

    fn serve_http(&mut self, arguments: &[&str]) {
        let variables = self.variables();
        let variables: Vec<_> = variables
            .iter()
            .map(|(it, to)| (*it, to.as_str()))
            .collect();
        let project = self.place.path().join("project");
        let mut server = HttpProcess::start_with(&ahma_mcp(), arguments, &project, &variables);
        self.look();
        server.terminate();
        assert_eq!(server.wait().code(), Some(0));
        self.look();
    }

    fn run(&mut self, arguments: &[&str]) {
        let variables = self.variables();
        let variables: Vec<_> = variables
            .iter()
            .map(|(it, to)| (*it, to.as_str()))
            .collect();
        let directory = self.path("project");
        let words = ["-C", &directory, &ahma_mcp()];
        let words = [&words, arguments].concat();
        let ran = self.place.run_with("env", &words, &variables);
        assert_eq!(ran.code, 0, "{ran:?}");
        self.look();
    }
}

/// What was written and is not named, or has another mode; and which lasting rows were met.
fn looked_up(place: &Path, written: &BTreeMap<PathBuf, u32>) -> (Vec<String>, BTreeSet<String>) {
    let rows = rows();
    let (mut wrong, mut met) = (Vec::new(), BTreeSet::new());
    for (path, mode) in written {
        let path = path.strip_prefix(place).unwrap().to_str().unwrap();
        let parts: Vec<&str> = path.split('/').collect();
        let row = rows.iter().find(|it| it.names(&parts));
        let allowed = match row {
            Some(row) => row.mode,
            None if rows.iter().any(|it| it.is_below(&parts)) => Some(0o700),
            None => {
                wrong.push(format!("{path} is not named"));
                continue;
            }
        };
        if allowed.is_some_and(|it| it != *mode) {
            wrong.push(format!("{path} has mode {mode:04o}"));
        }
        met.extend(row.filter(|it| it.lasts).map(|it| it.text.clone()));
    }
    (wrong, met)
}

/// Proves: P83.
#[test]
fn whatever_programs_write_is_named_with_its_mode() {
    let mut user = User::new();
    user.name_server(&[]);
    let other = json!({ "mcpServers": { "other": { "command": "true" } } });
    user.place.write("roots/mcp.json", other.to_string());
    let mut before = BTreeMap::new();
    below(user.place.path(), &mut before);

    user.serve(&[], |_, client| {
        let script = "mkdir -p ~/.local/bin; echo x > ~/.local/bin/x; echo y > \"$TMPDIR/y\"";
        let call = json!({ "command": script, "execution_mode": "sync" });
        let ran = client.call("sandboxed_shell", &call);
        assert!(!ran.is_error, "{ran:?}");
        let call = json!({ "text": "hello" });
        assert_eq!(client.call("up_echo", &call).text, "hello");
    });
    user.name_server(&["--describe=Another one"]);
    user.serve(&["--mode", "dual", "--home", "fresh"], |user, client| {
        until(|| user.place.path().join(STATE).exists());
        let held = client.call("up_echo", &json!({ "text": "hello" }));
        assert!(held.text.contains("description changed"), "{held:?}");
    });
    user.serve_http(&[]);
    let roots = user.path("roots");
    user.serve_http(&["--session-isolation", "--scope-root", &roots]);
    user.run(&["run", "--", "echo z > ~/z"]);
    let file = user.path("roots/mcp.json");
    user.run(&["downstream", "import", "--from", "cursor", "--file", &file]);
    user.run(&["setup", "cursor"]);
    user.run(&["setup", "claude", "--only"]);
    user.run(&["new", "cat", "--add"]);
    user.run(&["clean"]);

    user.written.retain(|path, _| !before.contains_key(path));
    let (wrong, met) = looked_up(user.place.path(), &user.written);
    assert_eq!(wrong, [""; 0]);
    let lasting = [
        ".ahma/.gitignore",
        ".ahma/.mcp_server_state.json",
        ".ahma/tools/NAME.json",
        ".claude.json",
        ".claude/settings.json",
        ".cursor/mcp.json",
        "ahma-HASH/home/**",
        "ahma-HASH/lock",
        "ahma-HASH/tmp/**",
        "ahma_mcp.DATE.audit.jsonl",
        "ahma_mcp.DATE.log",
        "availability.json",
        "downstream/SERVER.held.json",
        "downstream/SERVER.json",
        "guard/HASH.json",
        "homes/HASH/home/**",
        "homes/HASH/scope",
        "homes/HASH/used",
        "http-tokens/HASH",
        "http-tokens/HASH.isolated",
        "mcp.json.bak-TIME",
        "setup/HASH/before",
        "setup/HASH/record.json",
        "setup/lock",
    ];
    let missing: Vec<&str> = lasting
        .into_iter()
        .filter(|it| !met.contains(*it))
        .collect();
    assert_eq!(missing, [""; 0]);
}

/// Proves: P83.
#[test]
fn what_is_kept_of_a_sign_in_is_named_with_its_mode() {
    let user = User::new();
    let mut world = World::new();
    world
        .variables
        .insert("XDG_STATE_HOME", user.path("home/.local/state"));
    world.login();
    let mut written = BTreeMap::new();
    below(&user.place.path().join("home"), &mut written);
    let (wrong, met) = looked_up(user.place.path(), &written);
    assert_eq!(wrong, [""; 0]);
    assert!(met.contains("auth/HASH.json"), "{met:?}");
    assert!(met.contains("auth/HASH.lock"), "{met:?}");
}
