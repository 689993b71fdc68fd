//! Which programs Git's configuration makes Git run.
//!
//! Included files are not read; an include is itself something to be told about.

use std::collections::BTreeSet;

use super::git_syntax::{Setting, read};

/// More settings than are of interest to anyone.
const MAX_SETTINGS: usize = 10_000;
/// More settings that run programs than can be told about.
const MAX_FOUND: usize = 100;
const MORE: &str = "more settings that run programs";

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

/// Settings that make Git run a program, or read a file that could.
const RUNNING: [(&str, &str); 42] = [
    ("core", "hookspath"),
    ("core", "fsmonitor"),
    ("core", "sshcommand"),
    ("core", "pager"),
    ("core", "editor"),
    ("core", "askpass"),
    ("core", "gitproxy"),
    ("core", "alternaterefscommand"),
    ("sequence", "editor"),
    ("diff", "external"),
    ("diff", "command"),
    ("diff", "textconv"),
    ("merge", "driver"),
    ("filter", "clean"),
    ("filter", "smudge"),
    ("filter", "process"),
    ("include", "path"),
    ("includeif", "path"),
    ("credential", "helper"),
    ("gpg", "program"),
    ("gpg", "defaultkeycommand"),
    ("uploadpack", "packobjectshook"),
    ("remote", "uploadpack"),
    ("remote", "receivepack"),
    ("remote", "vcs"),
    ("interactive", "difffilter"),
    ("difftool", "cmd"),
    ("mergetool", "cmd"),
    ("browser", "cmd"),
    ("hook", "command"),
    ("protocol", "allow"),
    ("url", "insteadof"),
    ("url", "pushinsteadof"),
    ("difftool", "path"),
    ("mergetool", "path"),
    ("browser", "path"),
    ("man", "cmd"),
    ("man", "path"),
    ("guitool", "cmd"),
    ("tar", "command"),
    ("trailer", "command"),
    ("trailer", "cmd"),
];

/// The names of settings that run programs, with their values. However many others there are, none is
/// passed over.
pub(super) fn programs_run(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    read(text, |setting| {
        if !runs_a_program(&setting) {
            return;
        }
        if found.len() >= MAX_FOUND {
            found.insert(MORE.to_owned());
            return;
        }
        let middle = setting.subsection.map(|name| format!(".{name}"));
        let middle = middle.unwrap_or_default();
        let (section, key, value) = (setting.section, setting.key, setting.value);
        found.insert(format!("{section}{middle}.{key} = {value}"));
    });
    found
}

fn runs_a_program(setting: &Setting) -> bool {
    let name = (setting.section.as_str(), setting.key.as_str());
    match name {
        ("alias", _) | ("submodule", "update") => setting.value.starts_with('!'),
        // Git's own pager and file-system monitor are no programs of anyone else.
        ("pager", _) | ("core", "fsmonitor") => {
            !["true", "false"].contains(&setting.value.as_str())
        }
        _ => RUNNING.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        programs_run(text).into_iter().collect()
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
                "credential.https://h.helper = x",
            ),
        ] {
            assert_eq!(found(text), [name], "{text}");
        }
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
        let junk = "k = v\n".repeat(50_000);
        let text = format!("[a]\n{junk}[core]\nfsmonitor = ./x\n");
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
