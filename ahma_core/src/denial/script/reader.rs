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
const SHOWING: [&str; 43] = [
    "awk",
    "read",
    "sleep",
    "date",
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
            SHOWING.contains(&name)
                || is_history
                || is_shell
                || matches!(name, "cd" | "set" | "export" | "")
                || name.starts_with('#')
        };
        !self.commands.is_empty() && self.commands.iter().all(shows)
    }
}
