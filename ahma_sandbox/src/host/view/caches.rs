//! Private caches that begin with what the user's hold.
//!
//! Package managers write to their caches, and commands must not write to the user's. An overlay shows
//! the user's files, above them what earlier hosts of this server changed, and keeps every change of this
//! host in a private directory of its own. Where there are no overlays the cache begins empty.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;
use rustix::mount::MountAttrFlags;

use super::mounts::{Kind, Tree, new_overlay, open_real, place_below};
use super::named;
use crate::policy::{SandboxPolicy, Seed};

/// More hosts than one server ever has at the same time or after each other.
const MAX_HOSTS: u32 = 100_000;
/// Changes of so many earlier hosts are still seen.
const MAX_LAYERS: usize = 16;

/// What goes into the view for each seed, opened; a seed that cannot be used is left out.
pub(super) fn open(policy: &SandboxPolicy) -> Vec<(PathBuf, Tree)> {
    if policy.seeds.is_empty() {
        return Vec::new();
    }
    let Ok(host) = place_for_changes(&policy.private_dir) else {
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
        Ok((seed.to.clone(), overlay(policy, seed, host, number)?))
    });
    opened.filter_map(io::Result::ok).collect()
}

/// Makes a directory for the changes of this host alone, and returns its number: two overlays must not
/// share one.
fn place_for_changes(private_dir: &Path) -> io::Result<u32> {
    let place = place_below(&open_real(private_dir)?, Path::new(CACHES), Kind::Directory)?;
    for number in 0..MAX_HOSTS {
        match mkdirat(&place, number.to_string(), Mode::RWXU) {
            Ok(()) => return Ok(number),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("there were too many hosts"))
}

/// In the private directory of the server, where commands do not come.
const CACHES: &str = "caches";

/// The changes that a host made to a cache.
fn changes(policy: &SandboxPolicy, host: u32, number: usize) -> PathBuf {
    let caches = policy.private_dir.join(CACHES);
    caches.join(host.to_string()).join(number.to_string())
}

fn overlay(policy: &SandboxPolicy, seed: &Seed, host: u32, number: usize) -> io::Result<Tree> {
    // It must be a directory without a link on the way, whoever made it.
    let from = open_real(&seed.from)?;
    let kind = Tree::of_open(&from)?.kind();
    if kind != Kind::Directory {
        return Err(named(Errno::NOTDIR, seed.from.display()));
    }
    let own = changes(policy, host, number);
    let [upper, work] = ["upper", "work"].map(|name| own.join(name));
    for directory in [&own, &upper, &work] {
        rustix::fs::mkdir(directory, Mode::RWXU)?;
    }
    let earlier = (0..host).rev().map(|host| changes(policy, host, number));
    let earlier = earlier.map(|changes| changes.join("upper"));
    let earlier = earlier.filter(|upper| upper.is_dir()).take(MAX_LAYERS);
    let lower: Vec<PathBuf> = earlier.chain([seed.from.clone()]).collect();
    let quiet = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    new_overlay(&lower, &upper, &work, quiet)
}
