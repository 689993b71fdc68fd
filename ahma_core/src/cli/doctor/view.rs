//! What commands do not see of what their user has: directories of the search path, and settings of programs in `/etc`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::finding::Finding;

const AREA: &str = "view";

/// Programs, and where their settings are below `/etc`: a directory whose name is this, or begins with it.
const SETTINGS: [(&str, &str); 7] = [
    ("chromium", "chromium"),
    ("fc-match", "fonts"),
    ("java", "java"),
    ("mvn", "maven"),
    ("node", "node"),
    ("openssl", "ssl"),
    ("python3", "python3"),
];

/// A directory that commands may not see, and whose it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Of the search path, with as many programs.
    Path(PathBuf, usize),
    /// The settings of a program.
    Settings(PathBuf, &'static str),
}

impl Wanted {
    pub(super) fn directory(&self) -> &Path {
        match self {
            Wanted::Path(directory, _) | Wanted::Settings(directory, _) => directory,
        }
    }
}

/// What commands should see.
#[expect(clippy::disallowed_methods, reason = "no runtime runs")]
pub(super) fn wanted(environment: &BTreeMap<OsString, OsString>, etc: &Path) -> Vec<Wanted> {
    let path = environment
        .get(OsStr::new("PATH"))
        .cloned()
        .unwrap_or_default();
    let places: Vec<PathBuf> = std::env::split_paths(&path)
        .filter(|it| it.is_absolute())
        .collect();
    let mut wanted: Vec<Wanted> = Vec::new();
    for place in &places {
        let programs = std::fs::read_dir(place).into_iter().flatten().count();
        let is_new = !wanted.iter().any(|it| it.directory() == place);
        if programs > 0 && is_new {
            wanted.push(Wanted::Path(place.clone(), programs));
        }
    }
    let is_there = |program: &str| places.iter().any(|it| it.join(program).exists());
    let names = std::fs::read_dir(etc).into_iter().flatten().flatten();
    let directories: Vec<PathBuf> = names.map(|it| it.path()).filter(|it| it.is_dir()).collect();
    for (program, prefix) in SETTINGS
        .into_iter()
        .filter(|(program, _)| is_there(program))
    {
        let of_it = |it: &&PathBuf| {
            let name = it.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let rest = name.strip_prefix(prefix);
            rest.is_some_and(|it| it.is_empty() || it.starts_with(['-', '.']))
        };
        let found = directories.iter().filter(of_it).cloned();
        wanted.extend(found.map(|it| Wanted::Settings(it, program)));
    }
    wanted
}

/// What is said of those that commands do not see.
pub(super) fn findings(hidden: &[Wanted], all: usize) -> Vec<Finding> {
    let mut findings: Vec<Finding> = hidden.iter().map(finding).collect();
    let seen = all - hidden.len();
    findings.push(Finding::ok(
        AREA,
        format!("commands see {seen} directories with programs and their settings"),
    ));
    findings
}

fn finding(hidden: &Wanted) -> Finding {
    let directory = hidden.directory().display();
    match hidden {
        Wanted::Path(_, programs) => Finding::note(
            AREA,
            format!("commands do not see {directory} of your PATH, which has {programs} programs"),
            format!("--sandbox-read {directory}, or sandbox-read = [\"{directory}\"] in ahma.toml"),
        ),
        Wanted::Settings(_, program) => Finding::fix(
            AREA,
            format!("commands do not see {directory}, where {program} has its settings"),
            format!(
                "let everybody read it (chmod -R o+rX {directory}) where it holds no secret, or --sandbox-read {directory}"
            ),
        ),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::fs;

    use super::*;

    /// Proves: P79.
    #[test]
    fn directories_of_programs_and_of_their_settings_are_wanted_once() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for directory in [
            "bin",
            "empty",
            "etc/java-17-openjdk",
            "etc/javascript",
            "etc/maven",
            "etc/fonts.d",
        ] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        fs::write(at("bin/java"), "").unwrap();
        fs::write(at("bin/other"), "").unwrap();
        let path = std::env::join_paths([at("bin"), at("empty"), at("bin"), "relative".into()]);
        let environment = BTreeMap::from([(OsString::from("PATH"), path.unwrap())]);
        let java = at("etc/java-17-openjdk");
        assert_eq!(
            wanted(&environment, &at("etc")),
            [
                Wanted::Path(at("bin"), 2),
                Wanted::Settings(java.clone(), "java")
            ]
        );
        let told = findings(&[Wanted::Settings(java.clone(), "java")], 2);
        assert_eq!(
            told[0].message,
            format!(
                "commands do not see {}, where java has its settings",
                java.display()
            )
        );
        assert!(
            told[0].fix.as_ref().unwrap().contains("chmod -R o+rX"),
            "{told:?}"
        );
    }
}
