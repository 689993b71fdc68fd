//! Profiles: bundles of grants by their names, those of the program and those of an `ahma.toml`. Must not grant what is not there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::args::Args;
use super::home_paths::filled;
use crate::config::files::SourceFile;
use crate::config::settings::{Given, SettingsFile, read};

/// The profiles that come with the program, as text to be read and copied.
pub(super) const TEXT: &str = include_str!("profiles.toml");

/// Profiles by their names.
pub(super) type Profiles = BTreeMap<String, Vec<Given>>;

/// Those of the program, and those of the user's file, which come first.
pub(super) fn all(file: Option<&SettingsFile>) -> Profiles {
    let shipped = read(
        SourceFile {
            path: PathBuf::from("profiles.toml"),
            content: Ok(TEXT.as_bytes().to_vec()),
        },
        false,
    );
    let own = file.into_iter().flat_map(|it| it.profiles.clone());
    shipped.profiles.into_iter().chain(own).collect()
}

/// Adds the grants of a profile to what is granted anyway.
pub(super) fn grant(
    profile: &[Given],
    args: &mut Args,
    environment: &BTreeMap<OsString, OsString>,
) {
    for given in profile {
        let there = |path: &String| filled(path, environment).filter(|it| it.exists());
        match given.key.name {
            "sandbox-read" => args
                .sandbox_read
                .extend(given.values.iter().filter_map(there)),
            "sandbox-write" => args
                .sandbox_write
                .extend(given.values.iter().filter_map(there)),
            _ => args
                .pass_env
                .extend(given.values.iter().map(OsString::from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: P74.
    #[test]
    fn the_profiles_of_the_program_are_right_and_described() {
        let source = SourceFile {
            path: PathBuf::from("profiles.toml"),
            content: Ok(TEXT.as_bytes().to_vec()),
        };
        let read = read(source, false);
        assert_eq!(read.faults, []);
        let described = TEXT.lines().filter(|it| it.starts_with("description"));
        assert_eq!(read.profiles.len(), described.count());
    }
}
