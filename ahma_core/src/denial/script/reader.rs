//! A command as it was given: its text, its simple commands, and the paths it names.

use std::collections::HashSet;
use std::path::Path;

use super::commands::{Simple, commands, commands_of};
use super::mentions::{Mention, mentions};
use crate::denial::failure::Command;
use crate::denial::view::View;

/// How much of a script is read, in bytes.
const MAX_SCRIPT: usize = 64 * 1024;

/// Programs that only show text which is there already.
const SHOWING: [&str; 42] = [
    "awk",
    "read",
    "sleep",
    "pwd",
    "ls",
    "tee",
    ":",
    "return",
    "cat",
    "tac",
    "head",
    "tail",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "zcat",
    "zgrep",
    "less",
    "more",
    "nl",
    "sort",
    "uniq",
    "cut",
    "tr",
    "wc",
    "column",
    "fold",
    "strings",
    "diff",
    "cmp",
    "comm",
    "jq",
    "echo",
    "printf",
    "true",
    "false",
    "exit",
    "test",
    "[",
    "sed",
    "journalctl",
];

/// A command, read.
#[derive(Debug)]
pub(crate) struct Script {
    /// As it was given.
    pub(crate) text: String,
    pub(crate) commands: Vec<Simple>,
    pub(crate) mentions: Vec<Mention>,
}

impl Script {
    /// Reads a command that was started in `directory`.
    pub(crate) fn read(command: Command<'_>, directory: &Path, view: &View<'_>) -> Self {
        let (text, commands) = match command {
            Command::Script(script) => {
                let script = &script[..script.floor_char_boundary(MAX_SCRIPT)];
                (
                    script.to_owned(),
                    commands(script, directory, view.private_home),
                )
            }
            Command::Argv(argv) => {
                let text = argv.join(" ");
                let text = text[..text.floor_char_boundary(MAX_SCRIPT)].to_owned();
                (text, commands_of(argv, directory, view.private_home))
            }
        };
        let mentions = mentions(&commands, view);
        Self {
            text,
            commands,
            mentions,
        }
    }

    /// Whether a program is among those that are run.
    pub(crate) fn runs(&self, name: &str) -> bool {
        self.commands.iter().any(|command| {
            let mut words = command.words.iter().take(6);
            command.name() == name
                || words.any(|word| word == name || word.ends_with(&format!("/{name}")))
        })
    }

    /// What code in it calls: names before a bracket, and constants, in lower case.
    pub(crate) fn calls(&self) -> HashSet<String> {
        let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
        let mut calls = HashSet::new();
        let mut rest = self.text.as_str();
        while let Some(start) = rest.find(is_letter) {
            rest = &rest[start..];
            let end = rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if after.starts_with('(') || name.contains('_') {
                calls.insert(name.to_lowercase());
            }
            rest = after;
        }
        calls
    }

    /// Whether nothing in it does more than show text: then what is complained about in that text did not happen now.
    pub(crate) fn only_shows_text(&self) -> bool {
        let shows = |command: &Simple| {
            let name = command.name();
            let is_history = name == "git"
                && matches!(command.action(), "log" | "show" | "diff" | "blame" | "grep");
            let is_shell = matches!(name, "bash" | "sh" | "dash")
                && command
                    .arguments()
                    .iter()
                    .any(|word| word.starts_with('-') && word.ends_with('c'));
            let is_in_place =
                name == "sed" && command.arguments().iter().any(|it| it.starts_with("-i"));
            (SHOWING.contains(&name) && !is_in_place)
                || is_history
                || is_shell
                || matches!(name, "cd" | "set" | "export" | "")
                || name.starts_with('#')
        };
        !self.commands.is_empty() && self.commands.iter().all(shows)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::denial::view::{Limits, Network};

    fn read(script: &str) -> Script {
        let view = View {
            scope: Path::new("/app"),
            private_home: Path::new("/tmp/home"),
            private_tmp: Path::new("/tmp/tmp"),
            user_home: None,
            is_root: false,
            network: Network::On,
            read_only: false,
            restrictions_known: true,
            grants_read: &[],
            grants_write: &[],
            protected: &[],
            readable: &[],
            limits: Limits::default(),
            deadline: None,
        };
        Script::read(Command::Script(script), Path::new("/app"), &view)
    }

    /// The paths that a script names, with a star behind those that it writes.
    fn paths(script: &str) -> Vec<String> {
        let mentions = read(script).mentions.into_iter();
        mentions
            .map(|it| format!("{}{}", it.path.display(), if it.writes { "*" } else { "" }))
            .collect()
    }

    #[test]
    fn paths_are_found_with_what_is_done_to_them() {
        for (script, expected) in [
            ("cat ../x", &["/x"][..]),
            ("cd sub && cat ../../x > ~/y", &["/tmp/home/y*", "/x"]),
            ("cp a /srv/b", &["/srv/b*"]),
            ("D=/srv; cat $D/x", &["/srv", "/srv/x"]),
            ("dd if=/dev/zero of=/srv/x", &["/dev/zero", "/srv/x*"]),
            ("sh -c 'echo > \"$0\"' /srv/x", &["/srv/x", "/srv/x*"]),
            ("python3 -c \"open('/srv/x','w')\"", &["/srv/x*"]),
            ("python3 -c \"open('/srv/a b.txt')\"", &["/srv/a b.txt"]),
            ("gcc -I../inc x.c", &["/inc"]),
            ("bash -c 'cd /srv && touch x/y'", &["/srv", "/srv/x/y*"]),
            ("tar cf /srv/x.tar .", &["/srv/x.tar*"]),
        ] {
            let mut found = paths(script);
            found.sort();
            assert_eq!(found, expected, "{script}");
        }
    }

    #[test]
    fn commands_know_their_directory() {
        let script = read("cd a/b; make & cd .. && ls");
        let directory = |name: &str| {
            script
                .commands
                .iter()
                .find(|it| it.name() == name)
                .map(|it| it.directory.clone())
        };
        assert_eq!(directory("make"), Some(PathBuf::from("/app/a/b")));
        assert_eq!(directory("ls"), Some(PathBuf::from("/app/a")));
    }

    #[test]
    fn scripts_that_only_show_text_are_known() {
        for (script, expected) in [
            ("cat x | grep y; exit 1", true),
            ("git log", true),
            ("cat x; make", false),
            ("git push", false),
        ] {
            assert_eq!(read(script).only_shows_text(), expected, "{script}");
        }
    }
}
