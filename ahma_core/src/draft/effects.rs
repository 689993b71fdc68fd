//! What a command does to things, as far as its name says so. Always a guess.

/// What may be promised of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    ReadOnly,
    Destructive,
}

const READERS: [&str; 20] = [
    "list", "ls", "show", "status", "info", "view", "search", "find", "get", "describe", "diff",
    "log", "logs", "cat", "version", "whoami", "tree", "outdated", "why", "wc",
];
const DESTROYERS: [&str; 20] = [
    "delete",
    "del",
    "remove",
    "rm",
    "rmi",
    "rmdir",
    "push",
    "destroy",
    "drop",
    "purge",
    "prune",
    "clean",
    "reset",
    "uninstall",
    "unlink",
    "shred",
    "kill",
    "wipe",
    "erase",
    "truncate",
];

/// By the last word of a command.
pub(super) fn by_name(word: &str) -> Option<Effect> {
    let first = word.split('-').next().unwrap_or_default();
    let is_in = |list: &[&str]| list.contains(&word) || list.contains(&first);
    if is_in(&DESTROYERS) {
        Some(Effect::Destructive)
    } else if READERS.contains(&word) {
        Some(Effect::ReadOnly)
    } else {
        None
    }
}
