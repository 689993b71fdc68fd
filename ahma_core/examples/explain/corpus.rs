//! Recorded failures: from a line of the corpus to an explanation, with the corpus's placeholders kept.
//!
//! Uses only what a server knows of a command; what a case says about its cause is for the score alone.

use std::path::{Path, PathBuf};

use ahma_core::denial::{
    Command, Denial, Ended, Failure, Limits, Lookup, Network, Presence, View, explain,
};
use serde::Deserialize;

/// What placeholders stand for while an explanation is made.
const PLACES: [(&str, &str); 4] = [
    ("{SCOPE}", "/home/me/src/app"),
    ("{USER_HOME}", "/home/me"),
    ("{HOME}", "/tmp/ahma-1/home"),
    ("{TMP}", "/tmp/ahma-1/tmp"),
];

/// What every command could read of the machine on which the corpus was recorded, besides what a case lists.
const READABLE: [&str; 43] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/opt",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
    "/etc/pki/tls",
    "/etc/alternatives",
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/gitconfig",
    "/etc/profile",
    "/etc/bash.bashrc",
    "/etc/inputrc",
    "/etc/terminfo",
    "/etc/locale.alias",
    "/etc/default/locale",
    "/etc/os-release",
    "/etc/debian_version",
    "/etc/lsb-release",
    "/etc/magic",
    "/etc/mime.types",
    "/sys/devices/system/cpu",
    "/sys/kernel/mm/transparent_hugepage",
    "/sys/fs/cgroup/cgroup.controllers",
    "/nix/store",
];

/// The limits of every command there.
const FILE_BYTES: u64 = 8 << 30;
const OPEN_FILES: u64 = 4096;

/// What is known of a case before its cause.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    argv_or_script: Words,
    scope: String,
    cwd: String,
    private_home: String,
    network: String,
    exit_code: Option<i32>,
    signal: Option<i32>,
    output: String,
    user: String,
    state: String,
    truncated: bool,
    program_on_operator_path: Option<String>,
    policy: Policy,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Words {
    Script(String),
    Argv(Vec<String>),
}

#[derive(Debug, Deserialize)]
struct Policy {
    grants_read: Vec<String>,
    grants_write: Vec<String>,
    protected: Vec<String>,
    private_tmp: String,
}

/// Links that commands saw and that lead out: not part of the corpus, and a server would look. Empty: nobody looked.
pub(crate) type Links = Vec<(PathBuf, PathBuf)>;

/// A link written as `NAME=TARGET`, with placeholders.
pub(crate) fn link(text: &str) -> Option<(PathBuf, PathBuf)> {
    let (name, target) = text.split_once('=')?;
    Some((filled(name).into(), filled(target).into()))
}

struct Known<'a> {
    program: Option<PathBuf>,
    links: &'a Links,
}

impl Lookup for Known<'_> {
    fn program_on_operator_path(&self, name: &str) -> Option<PathBuf> {
        let program = self.program.as_ref()?;
        program.ends_with(name).then(|| program.clone())
    }

    fn inside(&self, path: &Path) -> Presence {
        let mut links = self.links.iter();
        let leads =
            links.find_map(|(link, target)| Some(target.join(path.strip_prefix(link).ok()?)));
        // Joining nothing would add a slash.
        leads.map_or(Presence::Unknown, |it| {
            Presence::LeadsTo(it.components().collect())
        })
    }
}

fn filled(text: &str) -> String {
    PLACES.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(name, value)
    })
}

/// With the placeholders again. Those of longer paths come first.
pub(crate) fn emptied(text: &str) -> String {
    let order = [0, 2, 3, 1];
    order.iter().fold(text.to_owned(), |text, place| {
        let (name, value) = PLACES[*place];
        replaced(&text, value, name)
    })
}

/// Replaces a path where it stands for itself: `/home/me/src/app-git` is not in `/home/me/src/app`.
fn replaced(text: &str, path: &str, name: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, after) = rest.split_at(at);
        let after = &after[path.len()..];
        let goes_on =
            after.starts_with(|letter: char| letter.is_alphanumeric() || "-_".contains(letter));
        result.push_str(before);
        result.push_str(if goes_on { path } else { name });
        rest = after;
    }
    result + rest
}

impl Case {
    /// The explanation, with placeholders.
    pub(crate) fn explained(&self, links: &Links) -> Option<Denial> {
        let paths = |all: &[String]| {
            all.iter()
                .map(|it| PathBuf::from(filled(it)))
                .collect::<Vec<_>>()
        };
        let (read, write, protected) = (
            paths(&self.policy.grants_read),
            paths(&self.policy.grants_write),
            paths(&self.policy.protected),
        );
        let readable: Vec<PathBuf> = READABLE.iter().map(PathBuf::from).collect();
        let (scope, home, tmp) = (
            filled(&self.scope),
            filled(&self.private_home),
            filled(&self.policy.private_tmp),
        );
        let user_home = filled("{USER_HOME}");
        let view = View {
            scope: Path::new(&scope),
            private_home: Path::new(&home),
            private_tmp: Path::new(&tmp),
            user_home: Some(Path::new(&user_home)),
            is_root: self.user == "root",
            network: if self.network == "off" {
                Network::OffByOwner
            } else {
                Network::On
            },
            read_only: false,
            restrictions_known: false,
            grants_read: &read,
            grants_write: &write,
            protected: &protected,
            readable: &readable,
            limits: Limits {
                file_bytes: Some(FILE_BYTES),
                open_files: Some(OPEN_FILES),
                ..Limits::default()
            },
            deadline: None,
        };
        let (directory, output) = (filled(&self.cwd), filled(&self.output));
        let (script, argv) = match &self.argv_or_script {
            Words::Script(script) => (filled(script), Vec::new()),
            Words::Argv(argv) => (
                String::new(),
                argv.iter().map(|word| filled(word)).collect(),
            ),
        };
        let failure = Failure {
            command: if argv.is_empty() {
                Command::Script(&script)
            } else {
                Command::Argv(&argv)
            },
            output: &output,
            exit_code: self.exit_code,
            signal: self.signal,
            ended: match self.state.as_str() {
                "completed" => Ended::Completed,
                "failed" => Ended::Failed,
                "timed_out" => Ended::TimedOut,
                _ => Ended::Stopped,
            },
            directory: Path::new(&directory),
            truncated: self.truncated,
            limit_reached: None,
        };
        let program = self
            .program_on_operator_path
            .as_ref()
            .map(|it| filled(it).into());
        let denial = explain(&failure, &view, &Known { program, links })?;
        Some(Denial {
            kind: denial.kind,
            subject: emptied(&denial.subject),
            owner_can: emptied(&denial.owner_can),
            text: emptied(&denial.text),
        })
    }
}
