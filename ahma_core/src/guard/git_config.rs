//! Reading Git's configuration, as far as it is needed to see which programs it makes Git run.
//!
//! Lenient: what Git would refuse to read cannot make it run anything. Included files are not read; an
//! include is itself something to be told about.

use std::collections::BTreeSet;

/// One setting: `section.subsection.key`, the middle part only where there is one, and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) section: String,
    pub(crate) subsection: Option<String>,
    pub(crate) key: String,
    pub(crate) value: String,
}

/// More settings than any real configuration has, and longer names and values: what goes beyond is
/// cut, so that a command cannot make the server hold more.
const MOST_SETTINGS: usize = 10_000;
const LONGEST: usize = 300;

/// All settings of a configuration file, in order.
pub(crate) fn settings(text: &str) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut section = String::new();
    let mut subsection = None;
    for line in logical_lines(text.strip_prefix('\u{feff}').unwrap_or(text)) {
        if settings.len() == MOST_SETTINGS {
            break;
        }
        let mut rest = line.trim();
        if let Some(header) = rest.strip_prefix('[')
            && let Some(end) = end_of_header(header)
        {
            let (name, sub) = section_of(&header[..end]);
            (section, subsection) = (cut(&name), sub.map(|sub| cut(&sub)));
            // A setting may follow on the same line.
            rest = header[end + 1..].trim();
        }
        if rest.is_empty() || rest.starts_with(['#', ';', '[']) {
            continue;
        }
        let (key, value) = rest.split_once('=').unwrap_or((rest, "true"));
        settings.push(Setting {
            section: section.clone(),
            subsection: subsection.clone(),
            key: cut(key.trim()).to_ascii_lowercase(),
            value: cut(&plain(value)),
        });
    }
    settings
}

/// A value without its quotes, escapes and comment.
fn plain(value: &str) -> String {
    let mut text = String::new();
    // White space at the end counts only inside quotes.
    let mut kept = 0;
    let mut is_quoted = false;
    let mut characters = value.trim_start().chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('b') => {
                    text.pop();
                }
                Some(other) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
        if is_quoted || !character.is_whitespace() {
            kept = text.len();
        }
    }
    text.truncate(kept);
    text
}

fn cut(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

/// Lines, those joined that end with a backslash. A comment goes to the end of its own line only.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut unfinished = String::new();
    for line in text.lines() {
        if unfinished.is_empty() && line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        match line.strip_suffix('\\') {
            Some(part) => unfinished.push_str(part),
            None => lines.push(std::mem::take(&mut unfinished) + line),
        }
    }
    lines.push(unfinished);
    lines
}

/// The closing bracket of a section header that is not inside quotes.
fn end_of_header(header: &str) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    for (place, letter) in header.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some(place),
            _ => {}
        }
    }
    None
}

fn section_of(header: &str) -> (String, Option<String>) {
    match header.split_once('"') {
        Some((section, quoted)) => {
            let subsection = quoted.strip_suffix('"').unwrap_or(quoted).replace('\\', "");
            (section.trim().to_ascii_lowercase(), Some(subsection))
        }
        // The old form: `[section.subsection]`.
        None => match header.trim().split_once('.') {
            Some((section, subsection)) => {
                (section.to_ascii_lowercase(), Some(subsection.to_owned()))
            }
            None => (header.trim().to_ascii_lowercase(), None),
        },
    }
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

/// The names of settings that run programs, with their values.
pub(super) fn programs_run(text: &str) -> BTreeSet<String> {
    settings(text)
        .into_iter()
        .filter(runs_a_program)
        .map(|setting| {
            let middle = setting.subsection.map(|name| format!(".{name}"));
            let middle = middle.unwrap_or_default();
            format!(
                "{}{middle}.{} = {}",
                setting.section, setting.key, setting.value
            )
        })
        .collect()
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
            ("[core]\nfsmoni\\\ntor = ./x", "core.fsmonitor = ./x"),
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
        let text = "# [core]\n;fsmonitor = x\n[core\nfsmonitor\n[\"\n]]]\n= =\n\u{0}\n";
        let _ = found(text);
        assert_eq!(
            found("[core]\n#fsmonitor = x\n ; pager = y"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn an_enormous_configuration_takes_little_memory() {
        let text = format!("[a \"{}\"]\n{}", "x".repeat(500_000), "k\n".repeat(100_000));
        let settings = settings(&text);
        assert_eq!(settings.len(), MOST_SETTINGS);
        assert!(
            settings
                .iter()
                .all(|it| it.subsection.as_ref().unwrap().len() == LONGEST)
        );
    }

    #[test]
    fn git_agrees_about_what_is_set() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        let text = "[Core] Pager = \"less -R\"\n[filter \"x y\"]\n\tClean = c ; comment-free\n\
                    [alias]\n\tgo = !run\n[section.sub]\n key = v\n";
        #[expect(clippy::disallowed_methods, reason = "tests may block")]
        std::fs::write(&file, text).unwrap();
        #[expect(clippy::disallowed_methods, reason = "tests may start programs")]
        let git = std::process::Command::new("git")
            .args(["config", "--list", "--name-only", "--file"])
            .arg(&file)
            .output()
            .unwrap();
        let names: Vec<String> = settings(text)
            .into_iter()
            .map(|it| {
                let middle = it
                    .subsection
                    .map(|name| format!(".{name}"))
                    .unwrap_or_default();
                format!("{}{middle}.{}", it.section, it.key)
            })
            .collect();
        assert_eq!(
            names.join("\n"),
            String::from_utf8_lossy(&git.stdout).trim()
        );
    }
}
