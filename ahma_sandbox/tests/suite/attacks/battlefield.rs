//! The place of an attack: a scope, files outside it, a victim, and the attacker.

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

use super::{Sandbox, User};
use crate::planted_etc;
use crate::support::{children, host_program, threads};

/// A user who owns nothing on the machine.
const NOBODY: u32 = 65534;
const PYTHON: &str = "/usr/bin/python3";
/// Inside its process namespace, an attacker and its processes have numbers below this.
const NUMBERS_INSIDE: u32 = 1000;

/// What became of all attacks of one battlefield.
pub(super) struct Outcome {
    /// By the name of the attack: `REACHED`, or why not.
    pub(super) results: BTreeMap<String, String>,
    /// Whether anything about the files outside is different from before.
    pub(super) changed_outside: bool,
}

impl Outcome {
    pub(super) fn reached(&self) -> Vec<&str> {
        let reached = self.results.iter().filter(|(_, it)| *it == "REACHED");
        reached.map(|(name, _)| name.as_str()).collect()
    }
}

/// Attacks without a sandbox: what can be reached at all.
pub(super) fn unconfined(user: User) -> Outcome {
    let field = Battlefield::new(user);
    let before = state(&field.path("outside"));
    let results = field.attack_unconfined();
    Outcome {
        results,
        changed_outside: state(&field.path("outside")) != before,
    }
}

/// Attacks from inside.
pub(super) fn confined(user: User, sandbox: Sandbox) -> Outcome {
    // Each round takes more than a hundred numbers, so few rounds lead out of the low ones.
    for _ in 0..20 {
        let field = Battlefield::new(user);
        let before = state(&field.path("outside"));
        if let Some(results) = field.attack_confined(sandbox) {
            return Outcome {
                results,
                changed_outside: state(&field.path("outside")) != before,
            };
        }
    }
    panic!("every target has a number that attackers have inside");
}

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
            include_str!("../../attacks/attack.py"),
        )
        .unwrap();
        fs::write(path("victim.py"), include_str!("../../attacks/victim.py")).unwrap();
        // The build directory may be closed to other users.
        let programs = host_program();
        ahma_tests::copy_program(&programs, path("confined"));
        ahma_tests::copy_program(programs.with_file_name("weakened_host"), path("weakened"));
        if user == User::Nobody {
            give_away(base.path());
        }
        if planted_etc::is_possible() {
            planted_etc::copy_into(&path("etc"));
            plant_secrets(&path("etc"), &path("outside/secret"), user);
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
        let (program, scope) = (program.to_str().unwrap(), self.path("scope"));
        let mut command = match planted_etc::is_possible() {
            true => {
                let mut command = planted_etc::command(&self.path("etc"));
                command.current_dir(&scope);
                if self.user == User::Nobody {
                    let id = NOBODY.to_string();
                    let switch = ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"];
                    command.args(switch);
                }
                command.arg(program);
                command
            }
            false => as_user(self.user, program, &scope),
        };
        command.env("TMPDIR", self.path("tmp"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn attack_unconfined(&self) -> BTreeMap<String, String> {
        let mut command = self.command(Path::new(PYTHON));
        let attacker = command.args(["attack.py", "context"]).spawn().unwrap();
        self.tell_the_attacker(&[], true);
        results(attacker)
    }

    /// Nothing where a target has a number that a process of the attacker may have inside: it would
    /// be hit in the place of the target.
    fn attack_confined(&self, sandbox: Sandbox) -> Option<BTreeMap<String, String>> {
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
        let family = family_of_the_server(attacker.id());
        let targets = [&family[..], &[self.victim.id()]].concat();
        let ambiguous = targets
            .iter()
            .flat_map(|pid| threads(*pid))
            .any(|number| number < NUMBERS_INSIDE);
        self.tell_the_attacker(&family, false);
        let results = results(attacker);
        (!ambiguous).then_some(results)
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
        context["planted"] = json!(planted_etc::is_possible());
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

/// Secrets of every kind, all of them the user's, most of them for everybody to read; and what commands may read.
fn plant_secrets(etc: &Path, secret: &Path, user: User) {
    let script = include_str!("../../attacks/attack.py");
    let read = script.split("return tells(\"").skip(1);
    let paths = read.filter_map(|rest| rest.split_once('"').map(|(path, _)| path));
    for path in paths {
        let (mode, content) = match path {
            "planted-link" => {
                symlink(secret, etc.join(path)).unwrap();
                continue;
            }
            "planted-app/closed.conf" => (0o600, "the secret\n"),
            "plantedrc" => (0o644, "//registry/:_authToken = the secret\n"),
            "planted.conf" => (0o644, "# the secret\nproxy = http://me:word@proxy\n"),
            _ => (0o644, "the secret\n"),
        };
        planted_etc::plant(etc, path, mode, content);
    }
    planted_etc::plant(etc, "planted-app/settings", 0o644, "for everybody\n");
    let closed = fs::Permissions::from_mode(0o700);
    fs::set_permissions(etc.join("planted-closed"), closed).unwrap();
    if user == User::Nobody {
        // Otherwise the mode of what is the system's would be what refuses.
        for name in fs::read_dir(etc).unwrap() {
            give_away(&name.unwrap().path());
        }
    }
}

fn give_away(path: &Path) {
    if path.is_dir() && !path.is_symlink() {
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
