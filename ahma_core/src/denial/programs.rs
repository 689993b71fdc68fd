//! Programs of the user that commands do not see: "command not found", for what the owner has.
//!
//! Asks for the owner's own search path. Must not look for programs anywhere else.

use std::path::Path;

use super::case::{Case, Named};
use super::complaints::Complaint;
use super::denied::{Denial, DenialKind};
use super::phrases::Class;
use super::places::{Place, shown};
use super::script::Mention;

/// Who says "no such file" of a program that it was to run.
const RUNNERS: [&str; 17] = [
    "xargs", "env", "timeout", "nice", "make", "gmake", "sudo", "nohup", "setsid", "stdbuf",
    "time", "find", "watch", "parallel", "ninja", "strace", "sh",
];
/// Words that say the same.
const RUNNING: [&str; 11] = [
    "`system'",
    "`popen'",
    "in system",
    "spawn",
    "exec",
    "failed to run",
    "running",
    "could not run",
    "cannot run",
    "subprocess",
    "could not execute",
];

/// A program that was not found and that the owner has.
pub(super) fn judge(case: &Case<'_>, complaint: &Complaint) -> Option<Denial> {
    let is_about_program = complaint.says(Class::NoCommand)
        || (complaint.says(Class::NotFound) && runs_others(case, complaint));
    if !is_about_program {
        return None;
    }
    let names = complaint
        .names
        .iter()
        .map(String::as_str)
        .filter(|name| is_program_name(name));
    let plain = [
        "not installed",
        "not found in",
        "not on path",
        "no such command",
        "no ",
    ];
    let line = complaint.line.to_lowercase();
    let is_plain = plain.iter().any(|it| line.contains(it)) && complaint.line.len() < 300;
    let others = complaint
        .line
        .split(|letter: char| letter.is_whitespace() || "'`\"():,‘’".contains(letter));
    let others = others
        .filter(|word| is_plain && word.len() > 1 && is_program_name(word))
        .take(20);
    let names = names.chain(others);
    let mut words = names.flat_map(|name| {
        [
            name.to_owned(),
            format!("cargo-{name}"),
            format!("git-{name}"),
        ]
    });
    words.find_map(|name| hidden(case, &name))
}

/// A program that the command looked for itself, in vain.
pub(super) fn probed(case: &Case<'_>) -> Option<Denial> {
    if !case.failed() {
        return None;
    }
    let commands = case.script.commands.iter();
    let asked = commands.filter_map(|command| match command.name() {
        // Of `command -v` the first word is passed over when a script is read.
        "which" | "type" | "hash" | "whereis" | "-v" | "-V" => Some(command.arguments()),
        _ => None,
    });
    let mut names = asked
        .flatten()
        .filter(|word| !word.starts_with('-'))
        .map(String::as_str);
    names.find_map(|name| hidden(case, name)).or_else(|| {
        let after = case.script.text.split("which(").skip(1);
        let mut names = after.filter_map(|rest| rest.split(['\'', '"']).nth(1));
        names.find_map(|name| hidden(case, name))
    })
}

/// A program that could not be started, in a command that says nothing more.
pub(super) fn unsaid(case: &Case<'_>) -> Option<Denial> {
    let is_not_found = case.failure.exit_code == Some(127)
        || case
            .output
            .complaints
            .iter()
            .any(|it| it.says(Class::NotFound) && it.names.is_empty());
    let mut commands = case.script.commands.iter().filter(|_| is_not_found);
    commands.find_map(|command| hidden(case, command.words.first()?))
}

fn runs_others(case: &Case<'_>, complaint: &Complaint) -> bool {
    let line = complaint.line.to_lowercase();
    let says = |text: &str| case.output.holds(text);
    RUNNERS.contains(&complaint.speaker())
        || RUNNING.iter().any(|word| line.contains(word))
        || says("subprocess.py")
        || says("child_process")
        || says("_execute_child")
        || case.failure.exit_code == Some(127)
}

fn is_program_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "._+-".contains(letter);
    !name.is_empty()
        && name.len() <= 64
        && name.chars().all(is_letter)
        && !name.starts_with(['-', '.'])
}

/// A program that the owner has where commands do not see it.
fn hidden(case: &Case<'_>, name: &str) -> Option<Denial> {
    if !is_program_name(name) {
        return None;
    }
    let path = case.lookup.program_on_operator_path(name)?;
    let directory = path.parent()?;
    let is_hidden = matches!(case.place(&path), Place::Outside | Place::Way);
    is_hidden.then(|| program_hidden(name, directory))
}

/// Whether a path that was not found was to be run.
pub(super) fn is_program(case: &Case<'_>, path: &Path, mention: Option<&Mention>) -> bool {
    let directory = path
        .parent()
        .and_then(Path::file_name)
        .map(|it| it.to_string_lossy().into_owned());
    let is_of_programs =
        directory.is_some_and(|it| matches!(it.as_str(), "bin" | "sbin" | "shims" | "scripts"));
    let is_run = mention.is_some_and(|it| it.runs);
    is_run || (is_of_programs && matches!(case.failure.exit_code, Some(126 | 127)))
}

/// A program that was called by its path.
pub(super) fn hidden_path(named: &Named) -> Denial {
    let directory = named.path.parent().unwrap_or(&named.path);
    Denial {
        text: format!(
            "{} is outside of what commands may use, and the sandbox hides what is outside, there or not: trying \
             again will not help. The owner can let commands run the programs of that directory with \
             `--sandbox-read {}`.",
            named.name,
            shown(directory)
        ),
        ..program_hidden(&named.name, directory)
    }
}

fn program_hidden(name: &str, directory: &Path) -> Denial {
    Denial {
        kind: DenialKind::ProgramHidden,
        subject: name.to_owned(),
        owner_can: format!("--sandbox-read {}", directory.display()),
        text: format!(
            "{name} is installed for the user, in {0}, which commands do not see: trying again or installing it \
             again will not help. The owner can let commands run the programs of that directory with \
             `--sandbox-read {1}`.",
            directory.display(),
            shown(directory)
        ),
    }
}
