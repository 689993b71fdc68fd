//! Every known way out of the sandbox, tried by a program that wants out.
//!
//! `tests/attacks/attack.py` holds the attacks. First they are made without a sandbox, where each that
//! is harmless has to work; then confined, where none may, beyond what the policy allows and the
//! gaps that the report names. They are aimed at a victim of the same user, at every thread of the
//! server and of its host, and at a command that runs beside the attacker.

mod matrix;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{children, host_program, threads};

/// A user who owns nothing on the machine.
const NOBODY: u32 = 65534;
const PYTHON: &str = "/usr/bin/python3";

/// Who runs server, attacker and victim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    /// Whoever runs the tests; root in CI.
    Tester,
    Nobody,
}

/// What the sandbox is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sandbox {
    Full,
    FullByFork,
    FullFromAWarmShell,
    FullInAStandbyHost,
    FullWithoutNetwork,
    NoUserNamespaces,
    NoSeccomp,
    FirstLandlock,
    FirstLandlockNoUserNamespaces,
}

/// With a network, commands may use that of the machine.
const ALLOWED_BY_NETWORK: [&str; 5] = [
    "connect_by_tcp",
    "send_with_tcp_fast_open",
    "connect_by_multipath_tcp",
    "send_by_udp",
    "ask_the_kernel_about_the_network",
];

/// What stays open without user namespaces, as the report says there.
const GAPS_WITHOUT_NAMESPACES: [&str; 11] = [
    "see_that_a_file_exists",
    "ask_whether_a_file_is_accessible",
    "read_where_a_link_points",
    "read_an_attribute",
    "enter_a_directory",
    "watch_a_directory",
    "change_a_mode",
    "change_an_owner",
    "change_times",
    "change_an_attribute",
    "read_shared_memory",
];

/// What stays open without the filter.
const GAPS_WITHOUT_FILTER: [&str; 5] = [
    "make_a_pair_of_unusual_sockets",
    "open_a_socket_to_the_hypervisor",
    "type_into_a_terminal",
    "use_io_uring",
    "use_the_keyring",
];

/// What Landlock does not know before its sixth version, where nothing else covers it.
const GAP_OF_OLD_LANDLOCK: &str = "connect_to_an_abstract_socket";
const GAPS_OF_OLD_LANDLOCK_WITHOUT_NAMESPACES: [&str; 3] = [
    "signal_a_process",
    "signal_a_thread",
    "signal_through_a_descriptor",
];

/// Where root runs the server, the machine's devices and kernel files are the user's own too.
const GAPS_FOR_ROOT_WITHOUT_NAMESPACES: [&str; 2] = [
    "change_the_mode_of_a_device",
    "change_the_mode_of_a_kernel_file",
];

struct Battlefield {
    base: TempDir,
    user: User,
    victim: Child,
    about_the_victim: Value,
}

impl Battlefield {
    fn new(user: User) -> Self {
        let base = TempDir::new().unwrap();
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = |name: &str| base.path().join(name);
        for directory in ["scope", "outside", "tmp"] {
            fs::create_dir(path(directory)).unwrap();
        }
        for file in ["secret", "spare", "to-remove", "to-move"] {
            fs::write(path("outside").join(file), "the secret\n").unwrap();
        }
        let program = path("outside/program");
        fs::write(&program, "#!/bin/sh\nexit 0\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        symlink("nowhere", path("outside/link")).unwrap();
        fs::write(
            path("scope/attack.py"),
            include_str!("../attacks/attack.py"),
        )
        .unwrap();
        fs::write(path("victim.py"), include_str!("../attacks/victim.py")).unwrap();
        // The build directory may be closed to other users.
        let programs = host_program();
        fs::copy(&programs, path("confined")).unwrap();
        fs::copy(programs.with_file_name("weakened_host"), path("weakened")).unwrap();
        if user == User::Nobody {
            give_away(base.path());
        }
        let mark = "import os; os.setxattr('secret', 'user.ahma', b'1')";
        let marked = as_user(user, PYTHON, &path("outside"))
            .args(["-c", mark])
            .status();
        assert!(marked.unwrap().success());
        let mut victim = as_user(user, PYTHON, &path("outside"))
            .arg(path("victim.py"))
            .arg(path("outside"))
            .env("SECRET", "of the victim")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = victim.stdout.as_mut().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        Battlefield {
            base,
            user,
            victim,
            about_the_victim: serde_json::from_str(&line).unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = as_user(self.user, program.to_str().unwrap(), &self.path("scope"));
        command.env("TMPDIR", self.path("tmp"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Attacks without a sandbox: what can be reached at all.
    fn attack_unconfined(&self) -> BTreeMap<String, String> {
        let mut command = self.command(Path::new(PYTHON));
        let attacker = command.args(["attack.py", "context"]).spawn().unwrap();
        self.tell_the_attacker(&[], true);
        results(attacker)
    }

    /// Attacks from inside.
    fn attack_confined(&self, sandbox: Sandbox) -> BTreeMap<String, String> {
        let mut command = match sandbox {
            Sandbox::NoUserNamespaces | Sandbox::FirstLandlockNoUserNamespaces => {
                let mut command = self.command(&self.path("weakened"));
                command.arg("no-user-namespaces").arg(self.path("confined"));
                command
            }
            _ => self.command(&self.path("confined")),
        };
        let option = match sandbox {
            Sandbox::FullByFork => Some("--fork"),
            Sandbox::FullFromAWarmShell => Some("--warm"),
            Sandbox::FullInAStandbyHost => Some("--standby"),
            Sandbox::FullWithoutNetwork => Some("--no-network"),
            Sandbox::NoSeccomp => Some("--no-seccomp"),
            Sandbox::FirstLandlock | Sandbox::FirstLandlockNoUserNamespaces => {
                Some("--first-landlock")
            }
            Sandbox::Full | Sandbox::NoUserNamespaces => None,
        };
        command.args(option);
        fs::write(self.path("scope/beside"), "#!/bin/sh\nexec sleep 100\n").unwrap();
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path("scope/beside"), executable).unwrap();
        let attacker = command
            .args(["--beside", "./beside"])
            .arg(self.path("scope"))
            .args([PYTHON, "attack.py", "context"])
            .spawn()
            .unwrap();
        self.tell_the_attacker(&family_of_the_server(attacker.id()), false);
        results(attacker)
    }

    /// Writes the context the attacker waits for.
    fn tell_the_attacker(&self, targets: &[u32], control: bool) {
        let mut context = self.about_the_victim.clone();
        let victim = self.victim.id();
        let processes: Vec<u32> = [victim]
            .into_iter()
            .chain(targets.iter().copied())
            .collect();
        let threads: Vec<Value> = processes
            .iter()
            .flat_map(|pid| threads(*pid).into_iter().map(move |tid| json!([pid, tid])))
            .collect();
        context["outside"] = json!(self.path("outside"));
        context["control"] = json!(control);
        context["processes"] = json!(processes);
        context["threads"] = json!(threads);
        let unfinished = self.path("scope/unfinished");
        fs::write(&unfinished, context.to_string()).unwrap();
        fs::rename(unfinished, self.path("scope/context")).unwrap();
    }
}

impl Drop for Battlefield {
    fn drop(&mut self) {
        // The end of its input makes it clean up.
        drop(self.victim.stdin.take());
        let _ = self.victim.wait();
    }
}

fn as_user(user: User, program: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).env_clear();
    command.env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    if user == User::Nobody {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn give_away(path: &Path) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path());
        }
    }
    lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

/// The server and everything below it but the attacker: the host, its inits, the command beside.
fn family_of_the_server(server: u32) -> Vec<u32> {
    let timeout = Instant::now() + Duration::from_secs(30);
    loop {
        let mut family = vec![server];
        let mut next = 0;
        while let Some(pid) = family.get(next).copied() {
            family.extend(children(pid));
            next += 1;
        }
        let line = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline"));
        let (attackers, others): (Vec<u32>, Vec<u32>) = family
            .into_iter()
            .partition(|pid| line(pid).is_ok_and(|line| line.starts_with(PYTHON)));
        let beside = others
            .iter()
            .any(|pid| line(pid).is_ok_and(|line| line.starts_with("sleep")));
        if beside && !attackers.is_empty() {
            return others;
        }
        assert!(
            Instant::now() < timeout,
            "attackers {attackers:?}, others {others:?}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn results(attacker: Child) -> BTreeMap<String, String> {
    let output = attacker.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let report = String::from_utf8_lossy(&output.stderr);
    let results: BTreeMap<String, String> = text
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, result)| (name.to_owned(), result.to_owned()))
        .collect();
    assert!(results.len() > 50, "{text}\n{report}");
    results
}

fn reached(results: &BTreeMap<String, String>) -> Vec<&str> {
    let reached = results.iter().filter(|(_, result)| *result == "REACHED");
    reached.map(|(name, _)| name.as_str()).collect()
}

/// Everything about the files outside that can be seen from there.
fn state(directory: &Path) -> BTreeMap<PathBuf, (u32, u32, i64, String)> {
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            let about = fs::symlink_metadata(&path).unwrap();
            let content = match about.is_file() {
                true => fs::read_to_string(&path).unwrap(),
                false => String::new(),
            };
            (path, (about.mode(), about.uid(), about.mtime(), content))
        })
        .collect()
}

fn sorted(lists: &[&[&'static str]]) -> Vec<&'static str> {
    let mut all = lists.concat();
    all.sort_unstable();
    all
}

/// Whoever runs the tests, and an ordinary user besides if root runs them.
fn users() -> Vec<User> {
    let mut users = vec![User::Tester];
    if rustix::process::geteuid().is_root() {
        users.push(User::Nobody);
    }
    users
}

fn gaps_of_root(user: User) -> &'static [&'static str] {
    let is_root = user == User::Tester && rustix::process::geteuid().is_root();
    match is_root {
        true => &GAPS_FOR_ROOT_WITHOUT_NAMESPACES,
        false => &[],
    }
}

fn nothing_is_reached_beyond(user: User, sandbox: Sandbox, expected: &[&'static str]) {
    let field = Battlefield::new(user);
    let before = state(&field.path("outside"));
    let results = field.attack_confined(sandbox);
    assert_eq!(
        reached(&results),
        expected,
        "{user:?} {sandbox:?}: {results:#?}"
    );
    let script = include_str!("../attacks/attack.py");
    let all = script.lines().filter(|line| line.starts_with("@attack("));
    assert_eq!(results.len(), all.count(), "every attack was made");
    if !matches!(
        sandbox,
        Sandbox::NoUserNamespaces | Sandbox::FirstLandlockNoUserNamespaces
    ) {
        assert_eq!(state(&field.path("outside")), before);
    }
}

/// Proves: S29.
#[test]
fn without_a_sandbox_the_attacks_work() {
    for user in users() {
        let field = Battlefield::new(user);
        let before = state(&field.path("outside"));
        let results = field.attack_unconfined();
        let failed: Vec<_> = results.iter().filter(|(_, it)| *it != "REACHED").collect();
        assert!(failed.is_empty(), "{user:?}: {failed:#?}");
        assert_ne!(state(&field.path("outside")), before);
    }
}

/// Proves: S9, S29.
#[test]
fn no_attack_reaches_anything() {
    for user in users() {
        nothing_is_reached_beyond(user, Sandbox::Full, &sorted(&[&ALLOWED_BY_NETWORK]));
    }
}

/// Proves: S29.
#[test]
fn no_attack_reaches_anything_when_commands_are_forked() {
    for user in users() {
        nothing_is_reached_beyond(user, Sandbox::FullByFork, &sorted(&[&ALLOWED_BY_NETWORK]));
    }
}

/// Proves: S39.
#[test]
fn no_attack_reaches_anything_from_a_warm_shell() {
    for user in users() {
        let sandbox = Sandbox::FullFromAWarmShell;
        nothing_is_reached_beyond(user, sandbox, &sorted(&[&ALLOWED_BY_NETWORK]));
    }
}

/// Proves: S49.
#[test]
fn no_attack_reaches_anything_from_a_host_that_waited_for_its_policy() {
    for user in users() {
        let sandbox = Sandbox::FullInAStandbyHost;
        nothing_is_reached_beyond(user, sandbox, &sorted(&[&ALLOWED_BY_NETWORK]));
    }
}

/// Proves: S24.
#[test]
fn without_network_no_attack_reaches_the_network_either() {
    for user in users() {
        nothing_is_reached_beyond(user, Sandbox::FullWithoutNetwork, &[]);
    }
}

/// Proves: S23.
#[test]
fn without_user_namespaces_attacks_reach_what_the_report_names() {
    for user in users() {
        let of_root = gaps_of_root(user);
        let expected = sorted(&[&ALLOWED_BY_NETWORK, &GAPS_WITHOUT_NAMESPACES, of_root]);
        nothing_is_reached_beyond(user, Sandbox::NoUserNamespaces, &expected);
    }
}

/// Proves: S29.
#[test]
fn without_the_filter_the_other_layers_hold() {
    for user in users() {
        let expected = sorted(&[&ALLOWED_BY_NETWORK, &GAPS_WITHOUT_FILTER]);
        nothing_is_reached_beyond(user, Sandbox::NoSeccomp, &expected);
    }
}

/// Proves: S29.
#[test]
fn with_the_first_landlock_attacks_reach_what_the_report_names() {
    for user in users() {
        let expected = sorted(&[&ALLOWED_BY_NETWORK, &[GAP_OF_OLD_LANDLOCK]]);
        nothing_is_reached_beyond(user, Sandbox::FirstLandlock, &expected);
    }
}

/// Proves: S29.
#[test]
fn with_the_first_landlock_and_no_user_namespaces_attacks_reach_what_the_report_names() {
    for user in users() {
        let expected = sorted(&[
            &ALLOWED_BY_NETWORK,
            &GAPS_WITHOUT_NAMESPACES,
            &GAPS_OF_OLD_LANDLOCK_WITHOUT_NAMESPACES,
            gaps_of_root(user),
        ]);
        let sandbox = Sandbox::FirstLandlockNoUserNamespaces;
        nothing_is_reached_beyond(user, sandbox, &expected);
    }
}
