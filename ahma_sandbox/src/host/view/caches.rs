//! Private caches that begin with what the user's hold.
//!
//! Package managers write to their caches, and commands must not write to the user's. An overlay shows
//! the user's files and keeps every change in a private directory of this host. Where there are no
//! overlays the cache begins empty.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;
use rustix::mount::MountAttrFlags;

use super::mounts::{Kind, Tree, new_overlay, open_real, place_below};
use super::named;
use crate::policy::{SandboxPolicy, Seed};

/// More hosts than one server ever has at the same time or after each other.
const MOST_HOSTS: u32 = 100_000;

/// What goes into the view for each seed, opened; a seed that cannot be used is left out.
pub(super) fn open(policy: &SandboxPolicy) -> Vec<(PathBuf, Tree)> {
    if policy.seeds.is_empty() {
        return Vec::new();
    }
    let Ok(changes) = place_for_changes(&policy.session) else {
        return Vec::new();
    };
    let Ok(home) = open_real(&policy.home()) else {
        return Vec::new();
    };
    let seeds = policy.seeds.iter().enumerate();
    let opened = seeds.map(|(number, seed)| {
        // Here, because the home may be read-only in the view.
        let inside = seed
            .to
            .strip_prefix(policy.home())
            .map_err(io::Error::other)?;
        place_below(&home, inside, Kind::Directory)?;
        let tree = if policy.read_only {
            Tree::of(&seed.from)
        } else {
            overlay(seed, &changes.join(number.to_string()))
        };
        Ok((seed.to.clone(), tree?))
    });
    opened.filter_map(io::Result::ok).collect()
}

/// A directory for the changes of this host alone: two overlays must not share one.
fn place_for_changes(session: &Path) -> io::Result<PathBuf> {
    let caches = Path::new("caches");
    let place = place_below(&open_real(session)?, caches, Kind::Directory)?;
    for number in 0..MOST_HOSTS {
        let name = number.to_string();
        match mkdirat(&place, name.as_str(), Mode::RWXU) {
            Ok(()) => return Ok(session.join(caches).join(name)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("there were too many hosts"))
}

fn overlay(seed: &Seed, changes: &Path) -> io::Result<Tree> {
    // It must be a directory without a link on the way, whoever made it.
    let from = open_real(&seed.from)?;
    let kind = Tree::of_open(&from)?.kind();
    if kind != Kind::Directory {
        return Err(named(Errno::NOTDIR, seed.from.display()));
    }
    let [upper, work] = ["upper", "work"].map(|name| changes.join(name));
    for directory in [changes, &upper, &work] {
        rustix::fs::mkdir(directory, Mode::RWXU)?;
    }
    let quiet = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    new_overlay(&seed.from, &upper, &work, quiet)
}
