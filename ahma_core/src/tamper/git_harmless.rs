//! Settings of Git that run nothing and lead nowhere. All others are worth telling.
//!
//! Knows names and values. Must not know what was there before.

use super::git_syntax::Setting;

/// Settings that run nothing and lead nowhere, whatever their value: section and key, in lower case. `*` stands for every
/// key.
const HARMLESS: [(&str, &str); 98] = [
    ("advice", "*"),
    ("blame", "*"),
    ("branch", "*"),
    ("color", "*"),
    ("column", "*"),
    ("commit", "gpgsign"),
    ("commit", "verbose"),
    ("core", "abbrev"),
    ("core", "autocrlf"),
    ("core", "bare"),
    ("core", "bigfilethreshold"),
    ("core", "checkstat"),
    ("core", "commitgraph"),
    ("core", "compression"),
    ("core", "eol"),
    ("core", "filemode"),
    ("core", "hidedotfiles"),
    ("core", "ignorecase"),
    ("core", "logallrefupdates"),
    ("core", "longpaths"),
    ("core", "multipackindex"),
    ("core", "precomposeunicode"),
    ("core", "preloadindex"),
    ("core", "protecthfs"),
    ("core", "protectntfs"),
    ("core", "quotepath"),
    ("core", "repositoryformatversion"),
    ("core", "safecrlf"),
    ("core", "sharedrepository"),
    ("core", "sparsecheckout"),
    ("core", "sparsecheckoutcone"),
    ("core", "splitindex"),
    ("core", "symlinks"),
    ("core", "trustctime"),
    ("core", "untrackedcache"),
    ("core", "whitespace"),
    ("diff", "algorithm"),
    ("diff", "colormoved"),
    ("diff", "context"),
    ("diff", "indentheuristic"),
    ("diff", "mnemonicprefix"),
    ("diff", "noprefix"),
    ("diff", "renamelimit"),
    ("diff", "renames"),
    ("diff", "submodule"),
    ("extensions", "objectformat"),
    ("extensions", "partialclone"),
    ("extensions", "preciousobjects"),
    ("extensions", "refstorage"),
    ("extensions", "relativeworktrees"),
    ("extensions", "worktreeconfig"),
    ("feature", "*"),
    ("fetch", "*"),
    ("gc", "auto"),
    ("gc", "autodetach"),
    ("gc", "autopacklimit"),
    ("gc", "packrefs"),
    ("gc", "pruneexpire"),
    ("gc", "reflogexpire"),
    ("gc", "reflogexpireunreachable"),
    ("gc", "worktreepruneexpire"),
    ("gpg", "format"),
    ("gui", "*"),
    ("index", "*"),
    ("init", "defaultbranch"),
    ("lfs", "repositoryformatversion"),
    ("log", "*"),
    ("maintenance", "auto"),
    ("maintenance", "strategy"),
    ("merge", "conflictstyle"),
    ("merge", "ff"),
    ("merge", "log"),
    ("merge", "renamelimit"),
    ("merge", "renames"),
    ("merge", "stat"),
    ("pack", "*"),
    ("pull", "*"),
    ("push", "*"),
    ("rebase", "autosquash"),
    ("rebase", "autostash"),
    ("rebase", "updaterefs"),
    ("receive", "denycurrentbranch"),
    ("receive", "denynonfastforwards"),
    ("remote", "fetch"),
    ("remote", "mirror"),
    ("remote", "partialclonefilter"),
    ("remote", "promisor"),
    ("remote", "prune"),
    ("remote", "push"),
    ("remote", "tagopt"),
    ("rerere", "*"),
    ("status", "*"),
    ("submodule", "active"),
    ("submodule", "branch"),
    ("submodule", "ignore"),
    ("submodule", "path"),
    ("tag", "gpgsign"),
    ("user", "*"),
];

/// Options that run nothing, whichever command of Git's they are for.
const HARMLESS_OPTIONS: [&str; 24] = [
    "--abbrev-commit",
    "--all",
    "--amend",
    "--cached",
    "--decorate",
    "--graph",
    "--name-only",
    "--name-status",
    "--no-edit",
    "--no-verify",
    "--oneline",
    "--patch",
    "--short",
    "--staged",
    "--stat",
    "-a",
    "-am",
    "-b",
    "-d",
    "-m",
    "-p",
    "-s",
    "-sb",
    "-v",
];

/// Whether an alias is a command of Git's with options that run nothing: many others do, such as `-c` and `rebase -x`.
fn is_harmless_alias(value: &str) -> bool {
    let is_plain = |word: &str| {
        let fits = |it: char| it.is_ascii_alphanumeric() || "-_./~^@{}".contains(it);
        !word.starts_with('-') && word.chars().all(fits)
    };
    let mut words = value.split_whitespace();
    words.next().is_some_and(is_plain)
        && words.all(|word| is_plain(word) || HARMLESS_OPTIONS.contains(&word))
}

/// Whether a setting runs nothing and leads nowhere.
pub(super) fn is_harmless(setting: &Setting) -> bool {
    let value = setting.value.as_str();
    match (setting.section.as_str(), setting.key.as_str()) {
        ("alias", _) => is_harmless_alias(value),
        ("submodule", "update") => !value.starts_with('!'),
        // A place instead of a name leads elsewhere.
        ("branch", "remote" | "pushremote") => !value.contains(['/', ':', '\\']),
        // Git's own pager and file-system monitor are not programs of anyone else.
        ("core", "fsmonitor") | ("pager", _) => ["true", "false"].contains(&value),
        // With `::` in it, or a dash before it, a place is the name of a program or an option.
        ("remote" | "submodule", "url") => !value.contains("::") && !value.starts_with('-'),
        // A driver of one's own has a subsection.
        ("diff" | "merge", _) if setting.subsection.is_some() => false,
        (section, key) => HARMLESS
            .iter()
            .any(|(of, name)| *of == section && (*name == "*" || *name == key)),
    }
}
