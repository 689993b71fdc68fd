//! Files of this user: whether there are places for tokens, logs and homes, how much they take, and whether settings can be read.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ahma_contract::UserDirectories;

use super::finding::Finding;

const AREA: &str = "files";
/// Entries that are counted at most; more take long to look at.
const MAX_ENTRIES: usize = 200_000;
/// Disk use from which on it is worth a word.
const MUCH: u64 = 1 << 30;

/// Looks at the directories that a server writes.
pub(super) fn check(user: &UserDirectories, home: Option<&Path>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if home.is_none_or(|it| !it.is_dir()) {
        let message = match home {
            None => "HOME is not set".to_owned(),
            Some(home) => format!("the home directory {} is not there", home.display()),
        };
        findings.push(Finding::fix(
            AREA,
            message,
            "set HOME to a directory of yours",
        ));
    }
    let places = [
        ("tokens and records", &user.state, "XDG_STATE_HOME"),
        ("logs and homes of commands", &user.cache, "XDG_CACHE_HOME"),
    ];
    for (what, place, variable) in places {
        findings.push(match place {
            None => Finding::fix(
                AREA,
                format!("there is no place for {what}"),
                format!("set HOME, or {variable} to an absolute path"),
            ),
            Some(place) => match writable(place) {
                Ok(()) => Finding::ok(AREA, format!("{what} are in {}", place.display())),
                Err(error) => Finding::fix(
                    AREA,
                    format!(
                        "{what} cannot be kept: {} cannot be written: {error}",
                        place.display()
                    ),
                    format!("make it writable for you, or set {variable} to a directory that is"),
                ),
            },
        });
    }
    let used = [&user.state, &user.cache].into_iter().flatten();
    let (bytes, is_all) = used.fold((0, true), |(bytes, is_all), place| {
        let (more, all) = disk_use(place);
        (bytes + more, is_all && all)
    });
    let about = match is_all {
        true => "take",
        false => "take more than",
    };
    let message = format!("files of servers {about} {} MB", bytes >> 20);
    findings.push(match bytes > MUCH {
        true => Finding::note(
            AREA,
            message,
            "ahma_mcp clean removes what nobody uses".to_owned(),
        ),
        false => Finding::ok(AREA, message),
    });
    findings
}

/// Whether files can be made in a directory, or in the one that it would be made in. Leaves nothing.
fn writable(place: &Path) -> std::io::Result<()> {
    let is_there = |it: &&Path| it.symlink_metadata().is_ok();
    let there = place.ancestors().find(is_there).unwrap_or(Path::new("/"));
    tempfile::Builder::new()
        .prefix(".ahma-doctor-")
        .tempfile_in(there)
        .map(drop)
}

/// Bytes on disk below a directory, and whether all of it was looked at.
#[expect(clippy::disallowed_methods, reason = "no runtime runs")]
fn disk_use(place: &Path) -> (u64, bool) {
    let (mut bytes, mut entries) = (0, 0);
    let mut waiting: Vec<PathBuf> = vec![place.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MAX_ENTRIES {
                return (bytes, false);
            }
            let Ok(about) = entry.metadata() else {
                continue;
            };
            bytes += about.blocks() * 512;
            if about.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    (bytes, true)
}
