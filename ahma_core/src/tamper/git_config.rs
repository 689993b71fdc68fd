//! What a configuration of Git makes Git do: every setting that is not known to be harmless is worth telling.
//!
//! Included files are not read here; where they are is said.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::git_harmless::is_harmless;
use super::git_syntax::{Setting, read};
use super::identity::hash;

/// More settings than are of interest to anyone.
const MAX_SETTINGS: usize = 10_000;
/// More settings than can be told about.
const MAX_FOUND: usize = 100;
const MORE: &str = "more settings";
/// Bytes of a value that are told.
const MAX_SHOWN: usize = 300;
/// The kernel takes no longer ones.
const MAX_PATH_LEN: usize = 4096;

/// The settings of a configuration file, in order; not more than are of interest.
pub(crate) fn settings(text: &str) -> Vec<Setting> {
    let mut settings = Vec::new();
    read(text, |setting| {
        if settings.len() < MAX_SETTINGS {
            settings.push(setting);
        }
    });
    settings
}

/// What a configuration makes Git do besides what Git does anyway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Judged {
    /// Settings that are not known to be harmless: what tells one from another, and what is said of it.
    pub(super) settings: BTreeMap<String, String>,
    /// What stands for the place of each remote: a new one is harmless, another place of a known one is not.
    pub(super) remotes: BTreeMap<String, String>,
    /// Directories and files that Git is pointed to, as they are written there.
    pub(super) points_to: BTreeSet<String>,
}

impl Judged {
    /// Settings that were not there before.
    pub(super) fn since<'j>(&'j self, before: &'j Judged) -> impl Iterator<Item = String> + 'j {
        let settings = self.settings.iter();
        let settings = settings.filter(|(it, _)| !before.settings.contains_key(*it));
        let settings = settings.map(|(_, said)| said.clone());
        let moved = self.remotes.iter().filter(|(name, url)| {
            let known = before.remotes.get(*name);
            known.is_some_and(|known| known != *url)
        });
        let moved = moved.map(|(name, _)| format!("another {}.url", without_secret(name)));
        settings.chain(moved)
    }
}

/// Judges a configuration. However many settings there are, none is passed over.
pub(super) fn judge(text: &str) -> Judged {
    let mut judged = Judged::default();
    read(text, |setting| {
        if is_pointer(&setting) && judged.points_to.len() < MAX_FOUND {
            judged
                .points_to
                .insert(cut(&setting.value, MAX_PATH_LEN).to_owned());
        }
        if is_remote(&setting) {
            let name = setting.subsection.as_deref().unwrap_or_default();
            let mut name = format!("{}.{name}", setting.section);
            if judged.remotes.len() >= MAX_FOUND && !judged.remotes.contains_key(&name) {
                name = MORE.to_owned();
            }
            // All places of one, in their order: Git fetches from the first and pushes to each.
            let places = judged.remotes.entry(name).or_default();
            *places = hash(format!("{places} {}", setting.value).as_bytes());
        }
        if is_harmless(&setting) {
            return;
        }
        if judged.settings.len() >= MAX_FOUND {
            judged.settings.insert(MORE.to_owned(), MORE.to_owned());
            return;
        }
        let middle = setting.subsection.as_ref().map(|name| format!(".{name}"));
        let middle = middle.unwrap_or_default();
        let whole = format!(
            "{}{middle}.{} = {}",
            setting.section, setting.key, setting.value
        );
        judged
            .settings
            .insert(hash(whole.as_bytes()), said(&setting));
    });
    judged
}

/// Sections whose values are programs and paths. Those of others may be passwords and tokens.
const SHOWN: [&str; 20] = [
    "alias",
    "browser",
    "core",
    "diff",
    "difftool",
    "extensions",
    "filter",
    "gc",
    "hook",
    "include",
    "includeif",
    "interactive",
    "man",
    "merge",
    "mergetool",
    "pager",
    "sequence",
    "submodule",
    "tar",
    "trailer",
];
/// The same in other sections.
const SHOWN_KEYS: [(&str, &str); 3] = [
    ("gpg", "program"),
    ("imap", "tunnel"),
    ("sendemail", "sendmailcmd"),
];

/// A setting as it is told.
fn said(setting: &Setting) -> String {
    let (section, key) = (setting.section.as_str(), setting.key.as_str());
    let middle = setting
        .subsection
        .as_deref()
        .map(|it| format!(".{}", cut(without_secret(it), MAX_SHOWN)));
    let middle = middle.unwrap_or_default();
    match SHOWN.contains(&section) || SHOWN_KEYS.contains(&(section, key)) {
        true => format!(
            "{section}{middle}.{key} = {}",
            cut(&setting.value, MAX_SHOWN)
        ),
        false => format!("{section}{middle}.{key}"),
    }
}

/// The beginning of a text.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// A name may be a URL, and that may hold a password.
fn without_secret(name: &str) -> &str {
    name.rfind('@').map_or(name, |at| &name[at + 1..])
}

/// What names a directory of hooks, or a file with more settings.
fn is_pointer(setting: &Setting) -> bool {
    let name = (setting.section.as_str(), setting.key.as_str());
    matches!(
        name,
        ("core", "hookspath") | ("include" | "includeif", "path")
    )
}

fn is_remote(setting: &Setting) -> bool {
    let name = (setting.section.as_str(), setting.key.as_str());
    matches!(name, ("remote", "url" | "pushurl") | ("submodule", "url"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        judge(text).settings.into_values().collect()
    }

    /// Proves: S54.
    #[test]
    fn aliases_and_places_that_lead_to_programs_or_elsewhere_are_found() {
        for (text, name) in [
            (
                "[alias]\nst = -c core.fsmonitor=./x status",
                "alias.st = -c core.fsmonitor=./x status",
            ),
            ("[alias]\nr = rebase -x ./x", "alias.r = rebase -x ./x"),
            (
                "[branch \"main\"]\nremote = https://evil.invalid/x",
                "branch.main.remote",
            ),
            (
                "[branch \"main\"]\npushRemote = ../x",
                "branch.main.pushremote",
            ),
        ] {
            assert_eq!(found(text), [name], "{text}");
        }
        let ordinary = "[alias]\nst = status -sb\nlg = log --oneline --graph\nco = checkout\nun = reset HEAD~1\n";
        assert_eq!(found(ordinary), Vec::<String>::new());
        let moved = |before: &str, after: &str| {
            let (before, after) = (judge(before), judge(after));
            after.since(&before).collect::<Vec<_>>()
        };
        let origin = "[remote \"origin\"]\nurl = a\n";
        let first = "[remote \"origin\"]\nurl = evil\nurl = a\n";
        assert_eq!(moved(origin, first), ["another remote.origin.url"]);
        let junk: String = (0..100)
            .map(|it| format!("[remote \"j{it}\"]\nurl = x\n"))
            .collect();
        let elsewhere = "[remote \"origin\"]\nurl = evil\n";
        let told = moved(&format!("{junk}{origin}"), &format!("{junk}{elsewhere}"));
        assert_eq!(told.len(), 1, "{told:?}");
        let module = moved(
            "[submodule \"m\"]\nurl = a\n",
            "[submodule \"m\"]\nurl = b\n",
        );
        assert_eq!(module, ["another submodule.m.url"]);
        let long = |end: &str| format!("[alias]\nx = !{}{end}\n", "a".repeat(400));
        assert_eq!(moved(&long("1"), &long("2")).len(), 1, "its end counts too");
    }

    #[test]
    fn an_ordinary_configuration_runs_nothing() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tfsmonitor = true\n\
                    [remote \"origin\"]\n\turl = git@host:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                    [branch \"main\"]\n\tremote = origin\n[alias]\n\tst = status\n[user]\n\tname = A\n";
        assert_eq!(found(text), Vec::<String>::new());
    }

    #[test]
    fn settings_that_run_programs_are_found_however_they_are_written() {
        for (text, name) in [
            ("[core]\n\tfsmonitor = ./x\n", "core.fsmonitor = ./x"),
            ("[CORE]\nFSMonitor=./x", "core.fsmonitor = ./x"),
            ("[core] fsmonitor = \"./x\"", "core.fsmonitor = ./x"),
            ("[core]\n# x \\\nfsmonitor = ./x", "core.fsmonitor = ./x"),
            ("\u{feff}[core]\nfsmonitor = ./x", "core.fsmonitor = ./x"),
            ("[core]\n  hooksPath = h", "core.hookspath = h"),
            ("[filter \"a]b\"]\n\tclean = x", "filter.a]b.clean = x"),
            ("[filter.lfs]\nsmudge = x", "filter.lfs.smudge = x"),
            ("[alias]\n\tst = !evil", "alias.st = !evil"),
            (
                "[includeIf \"gitdir:~/\"]\npath = x",
                "includeif.gitdir:~/.path = x",
            ),
            ("[include]\npath = ../x", "include.path = ../x"),
            ("[pager]\nlog = evil", "pager.log = evil"),
            (
                "[submodule \"s\"]\nupdate = !evil",
                "submodule.s.update = !evil",
            ),
            ("[diff \"d\"]\ncommand = x", "diff.d.command = x"),
            (
                "[credential \"https://h\"]\nhelper = x",
                "credential.https://h.helper",
            ),
        ] {
            assert_eq!(found(text), [name], "{text}");
        }
    }

    /// Proves: S37.
    #[test]
    fn what_is_not_known_to_be_harmless_is_told() {
        for name in [
            "core.worktree = /home/me",
            "core.attributesfile = x",
            "sendemail.sendmailcmd = x",
            "imap.tunnel = x",
            "gc.recentobjectshook = x",
            "http.proxy",
            "http.sslverify",
            "lfs.customtransfer.a.path",
            "made.up",
            "remote.origin.url",
            "merge.tool = x",
        ] {
            let (key, value) = name.split_once(" = ").unwrap_or((name, "ext::secret"));
            let parts: Vec<&str> = key.split('.').collect();
            let text = match parts.as_slice() {
                [section, key] => format!("[{section}]\n{key} = {value}\n"),
                [section, middle @ .., key] => {
                    format!("[{section} \"{}\"]\n{key} = {value}\n", middle.join("."))
                }
                _ => unreachable!("every name has two parts"),
            };
            assert_eq!(found(&text), [name]);
        }
    }

    #[test]
    fn a_known_remote_that_moves_is_told_and_a_new_one_is_not() {
        let of = |url: &str| judge(&format!("[remote \"origin\"]\n\turl = {url}\n"));
        let moved: Vec<String> = of("https://b").since(&of("https://a")).collect();
        assert_eq!(moved, ["another remote.origin.url"]);
        assert_eq!(of("https://a").since(&Judged::default()).count(), 0);
    }

    /// Proves: S54.
    #[test]
    fn no_password_of_a_setting_is_told() {
        let text = "[http \"https://me:secret@host\"]\n\textraHeader = secret\n\
                    [url \"https://secret@host/\"]\n\tinsteadOf = secret\n\
                    [sendemail]\n\tsmtpPass = secret\n[credential]\n\thelper = secret\n";
        let told = found(text);
        assert_eq!(told.len(), 4, "{told:?}");
        let stored = format!("{:?} {told:?}", judge(text));
        assert!(!stored.contains("secret"), "{stored}");
        let other = judge(&text.replace("helper = secret", "helper = other"));
        assert_eq!(
            other.since(&judge(text)).collect::<Vec<_>>(),
            ["credential.helper"]
        );
    }

    #[test]
    fn where_git_is_pointed_to_is_known() {
        let text = "[core]\nhooksPath = .husky\n[include]\npath = ../x\n";
        let expected = [".husky", "../x"].map(str::to_owned);
        assert_eq!(judge(text).points_to, BTreeSet::from(expected));
    }

    #[test]
    fn comments_and_rubbish_are_passed_over() {
        assert_eq!(
            found("[core]\n#fsmonitor = x\n ; pager = y"),
            Vec::<String>::new()
        );
    }

    /// Proves: S37.
    #[test]
    fn nothing_is_passed_over_in_an_enormous_configuration() {
        let junk = "name = v\n".repeat(50_000);
        let text = format!("[user]\n{junk}[core]\nfsmonitor = ./x\n");
        assert_eq!(found(&text), ["core.fsmonitor = ./x"]);
        assert_eq!(settings(&text).len(), MAX_SETTINGS);
        let many: String = (0..500)
            .map(|n| format!("[filter \"{n}\"]\nclean = x\n"))
            .collect();
        let many = found(&many);
        assert_eq!(many.len(), MAX_FOUND + 1);
        assert!(many.contains(&MORE.to_owned()));
    }

    #[test]
    fn what_looks_like_a_harmless_value_to_us_is_what_git_sees() {
        let text = "[core]\n\tfsmonitor = ./evil\\b\\b\\b\\b\\b\\btrue\n";
        assert_eq!(found(text).len(), 1);
    }
}
