//! The Git identity of commands: the user's name and address, without the rest of the user's settings.
//!
//! Those can hold credentials and programs to run, so commands have a home without them. What a commit needs is written
//! into that home; a project's own settings still come first. May block.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::kept_home;
use crate::tamper::git_config;

/// What is taken over, by section and key.
const TAKEN: [(&str, &str); 3] = [
    ("user", "name"),
    ("user", "email"),
    ("init", "defaultbranch"),
];
/// What is read of a file of settings.
const MAX_FILE_LEN: u64 = 1024 * 1024;

/// Writes the private settings of Git. Nothing is written when the user has told Git nothing.
pub(super) fn write(server: &BTreeMap<OsString, OsString>, private_home: &Path) -> io::Result<()> {
    let mut found = BTreeMap::new();
    for file in files(server) {
        let text = read(&file).unwrap_or_default();
        for setting in git_config::settings(&text) {
            let name = (setting.section.as_str(), setting.key.as_str());
            if setting.subsection.is_none() && TAKEN.contains(&name) {
                found.insert((setting.section, setting.key), setting.value);
            }
        }
    }
    let entries = found
        .into_iter()
        .map(|((section, key), value)| format!("[{section}]\n\t{key} = {}\n", quoted(&value)));
    let text: String = entries.collect();
    if text.is_empty() {
        return Ok(());
    }
    kept_home::write(private_home, ".gitconfig", text.as_bytes())
}

/// Where Git looks for the user's settings; later ones count.
fn files(server: &BTreeMap<OsString, OsString>) -> Vec<PathBuf> {
    // An empty one is none: it would lead to the working directory.
    let variable = |name: &str| {
        let value = server.get(OsStr::new(name))?;
        (!value.is_empty()).then(|| PathBuf::from(value))
    };
    if let Some(file) = variable("GIT_CONFIG_GLOBAL") {
        return vec![file];
    }
    let home = variable("HOME");
    let configuration =
        variable("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
    let files = [
        configuration.map(|directory| directory.join("git/config")),
        home.map(|home| home.join(".gitconfig")),
    ];
    files.into_iter().flatten().collect()
}

#[expect(clippy::disallowed_methods, reason = "called from the blocking pool")]
fn read(file: &Path) -> io::Result<String> {
    // Neither a device nor a pipe that nobody writes to.
    if !fs::metadata(file)?.is_file() {
        return Ok(String::new());
    }
    let mut bytes = Vec::new();
    fs::File::open(file)?
        .take(MAX_FILE_LEN)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn quoted(value: &str) -> String {
    let mut text = String::from("\"");
    for character in value.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            other => text.push(other),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block and start git")]
mod tests {
    use super::*;

    fn written(files: &[(&str, &str)], variables: &[(&str, &str)]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = home.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut server = BTreeMap::from([("HOME".into(), home.path().into())]);
        for (name, value) in variables {
            server.insert(name.into(), home.path().join(value).into());
        }
        fs::create_dir(home.path().join("private")).unwrap();
        write(&server, &home.path().join("private")).unwrap();
        home
    }

    /// What Git itself finds in the private settings.
    fn git_says(home: &Path) -> String {
        let asked = std::process::Command::new("git")
            .args(["config", "--list", "--file"])
            .arg(home.join("private/.gitconfig"))
            .output()
            .unwrap();
        String::from_utf8(asked.stdout).unwrap()
    }

    /// Proves: S44.
    #[test]
    fn name_and_address_are_taken_over_and_nothing_else() {
        let home = written(
            &[
                (
                    ".config/git/config",
                    "[user]\n\tname = Earlier\n\temail = a@b.c\n",
                ),
                (
                    ".gitconfig",
                    "[user]\n\tname = \"Ada \\\"L\\\" \\\\ Lovelace\"\n\tsigningkey = secret\n\
                     [credential]\n\thelper = store\n[url \"https://token@host\"]\n\tinsteadOf = x\n\
                     [init]\n\tdefaultBranch = trunk\n[core]\n\tpager = evil\n[user \"x\"]\n\tname = y\n",
                ),
            ],
            &[],
        );
        assert_eq!(
            git_says(home.path()),
            "init.defaultbranch=trunk\nuser.email=a@b.c\nuser.name=Ada \"L\" \\ Lovelace\n"
        );
    }

    #[test]
    fn a_value_cannot_add_settings() {
        let home = written(
            &[(
                ".gitconfig",
                "[user]\n\tname = \"a\\n[core]\\n\\tpager = evil\"\n",
            )],
            &[],
        );
        let said = git_says(home.path());
        assert!(said.starts_with("user.name=a\n[core]"), "{said}");
        assert!(!said.contains("\ncore.pager"), "{said}");
    }

    #[test]
    fn the_variable_that_names_the_settings_counts() {
        let home = written(
            &[
                ("mine", "[user]\n\tname = Mine\n"),
                (".gitconfig", "[user]\n\tname = Other\n"),
            ],
            &[("GIT_CONFIG_GLOBAL", "mine")],
        );
        assert_eq!(git_says(home.path()), "user.name=Mine\n");
    }

    #[test]
    fn without_settings_nothing_is_written() {
        let home = written(&[], &[]);
        assert!(!home.path().join("private/.gitconfig").exists());
    }
}
