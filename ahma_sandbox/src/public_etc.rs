//! What commands may read of `/etc`: what every user of the machine may, unless it is a secret by its name.
//!
//! The server looks, once, and again when a directory, or a file that is shown by itself, has changed; hosts are told.
//! Whatever was not looked at, because it is too deep or too much, is not shown. Must not decide what a secret is: that is [`secrets`]'s.

pub(crate) mod secrets;

use std::fs::{self, DirEntry};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2};
use serde::{Deserialize, Serialize};

use crate::system_paths::READABLE;

/// Entries that are looked at, in all directories together.
const MAX_ENTRIES: usize = 20_000;
/// Directories below each other.
const MAX_DEPTH: usize = 8;
/// Paths that hosts are told of.
const MAX_PATHS: usize = 400;
/// Files up to this size are read, for secrets in them.
const MAX_READ: u64 = 16 * 1024;

const OTHERS_READ: u32 = 0o004;
const OTHERS_ENTER: u32 = 0o001;

/// One path below `/etc` that commands may read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum PublicPath {
    /// A link. Where it leads, commands find what they may read there.
    Link(PathBuf),
    /// A file, or a directory with everything in it.
    Tree(PathBuf),
}

/// What was found, and how the directories were then.
#[derive(Debug)]
pub(crate) struct PublicEtc {
    root: PathBuf,
    pub(crate) paths: Arc<[PublicPath]>,
    /// Directories that were read, and what is shown by itself.
    looked_at: Vec<(PathBuf, Option<Stamp>)>,
}

/// Which file or directory it is, and when it, its mode or its entries changed. By the kernel's clock, which nobody can
/// set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    identity: (u64, u64),
    changed: (i64, i64),
}

impl PublicEtc {
    /// Looks at the machine's. Blocks.
    pub(crate) fn look() -> Self {
        Self::look_at(Path::new("/etc"))
    }

    fn look_at(root: &Path) -> Self {
        let mut search = Search {
            root,
            entries: 0,
            looked_at: Vec::new(),
        };
        let found = search.directory(root, 0);
        let mut paths = match found {
            Found::Nothing => Vec::new(),
            Found::Whole(path) => vec![path],
            Found::Parts(paths) => paths,
        };
        paths.sort();
        paths.truncate(MAX_PATHS);
        let mut looked_at = search.looked_at;
        for path in &paths {
            let (PublicPath::Link(path) | PublicPath::Tree(path)) = path;
            looked_at.push((path.clone(), Stamp::of(path)));
        }
        PublicEtc {
            root: root.to_owned(),
            paths: paths.into(),
            looked_at,
        }
    }

    /// What is so now. The same list as before as long as nothing has changed that was looked at. Blocks.
    pub(crate) fn current(&mut self) -> Arc<[PublicPath]> {
        if !self
            .looked_at
            .iter()
            .all(|(path, then)| Stamp::of(path) == *then)
        {
            *self = Self::look_at(&self.root);
        }
        Arc::clone(&self.paths)
    }
}

impl Stamp {
    fn of(directory: &Path) -> Option<Self> {
        let about = fs::symlink_metadata(directory).ok()?;
        Some(Stamp {
            identity: (about.dev(), about.ino()),
            changed: (about.ctime(), about.ctime_nsec()),
        })
    }
}

struct Search<'r> {
    root: &'r Path,
    entries: usize,
    looked_at: Vec<(PathBuf, Option<Stamp>)>,
}

/// What commands may see of an entry.
enum Found {
    Nothing,
    /// Everything in it.
    Whole(PublicPath),
    Parts(Vec<PublicPath>),
}

impl Search<'_> {
    fn directory(&mut self, path: &Path, depth: usize) -> Found {
        // Before it is read: what changes meanwhile is seen the next time.
        self.looked_at.push((path.to_owned(), Stamp::of(path)));
        let Ok(entries) = entries(path) else {
            return Found::Nothing;
        };
        self.entries += entries.len();
        if depth > MAX_DEPTH || self.entries > MAX_ENTRIES {
            return Found::Nothing;
        }
        // The root itself never is: what comes later would be seen whatever it is.
        let mut is_whole = depth > 0;
        let mut parts = Vec::new();
        for entry in entries {
            match self.entry(&entry, depth) {
                Found::Nothing => is_whole = false,
                Found::Parts(of_entry) => {
                    is_whole = false;
                    parts.extend(of_entry);
                }
                Found::Whole(path) => parts.push(path),
            }
        }
        match is_whole {
            true => Found::Whole(PublicPath::Tree(path.to_owned())),
            false if parts.is_empty() => Found::Nothing,
            false => Found::Parts(parts),
        }
    }

    fn entry(&mut self, entry: &DirEntry, depth: usize) -> Found {
        let path = entry.path();
        let relative = path.strip_prefix(self.root).unwrap_or(&path);
        let is_fixed = READABLE
            .iter()
            .any(|fixed| Path::new("/etc").join(relative) == Path::new(fixed));
        if is_fixed || path.to_str().is_none() || secrets::is_secret(relative) {
            return Found::Nothing;
        }
        let Ok(about) = entry.metadata() else {
            return Found::Nothing;
        };
        match () {
            () if about.is_symlink() => Found::Whole(PublicPath::Link(path)),
            () if !is_public(about.mode()) => Found::Nothing,
            () if about.is_dir() => self.directory(&path, depth + 1),
            () if about.len() <= MAX_READ && tells_a_secret(&path) => Found::Nothing,
            () => Found::Whole(PublicPath::Tree(path)),
        }
    }
}

/// Whether everybody may read a file, or read and enter a directory. Nothing else is public.
pub(crate) fn is_public(mode: u32) -> bool {
    let needed = match FileType::from_raw_mode(mode) {
        FileType::Directory => OTHERS_READ | OTHERS_ENTER,
        FileType::RegularFile => OTHERS_READ,
        _ => return false,
    };
    mode & needed == needed
}

/// Holds on to a path for a host, without following links; nothing when it is not public any more.
pub(crate) fn open(path: &Path) -> Option<(OwnedFd, Stat)> {
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let open = openat2(CWD, path, flags, Mode::empty(), no_links).ok()?;
    let about = fstat(&open).ok()?;
    is_public(about.st_mode).then_some((open, about))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the thread that starts hosts may wait"
)]
fn entries(directory: &Path) -> io::Result<Vec<DirEntry>> {
    fs::read_dir(directory)?.collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the thread that starts hosts may wait"
)]
fn tells_a_secret(path: &Path) -> bool {
    // One that cannot be read is no secret here; whoever shows it looks again.
    fs::read(path).is_ok_and(|content| secrets::tells_a_secret(&content))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A directory with files of a mode, and what is found in it.
    struct Etc(tempfile::TempDir);

    impl Etc {
        fn with(files: &[(&str, u32)]) -> Self {
            let etc = Etc(tempfile::tempdir().unwrap());
            for (name, mode) in files {
                etc.add(name, *mode, "x");
            }
            etc
        }

        fn add(&self, name: &str, mode: u32, content: &str) {
            let path = self.0.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }

        fn found(&self) -> Vec<String> {
            let found = PublicEtc::look_at(self.0.path()).paths;
            let name = |path: &PathBuf| {
                let inside = path.strip_prefix(self.0.path()).unwrap();
                inside.to_str().unwrap().to_owned()
            };
            let told = found.iter().map(|path| match path {
                PublicPath::Link(path) => format!("link {}", name(path)),
                PublicPath::Tree(path) => format!("tree {}", name(path)),
            });
            told.collect()
        }
    }

    /// Proves: S71.
    #[test]
    fn a_directory_that_everybody_may_read_is_shown_as_one() {
        let etc = Etc::with(&[
            ("java-17/security/java.security", 0o644),
            ("java-17/net.properties", 0o644),
            ("hostname", 0o644),
        ]);
        symlink("/usr/lib/os-release", etc.0.path().join("os-release")).unwrap();
        etc.add("big", 0o644, &"x".repeat(20_000));
        let all = [
            "link os-release",
            "tree big",
            "tree hostname",
            "tree java-17",
        ];
        assert_eq!(etc.found(), all);
    }

    /// Proves: S71.
    #[test]
    fn of_a_directory_with_a_secret_the_rest_is_shown() {
        let etc = Etc::with(&[
            ("ssl/openssl.cnf", 0o644),
            ("ssl/private/server.pem", 0o644),
            ("app/settings", 0o644),
            ("app/closed", 0o640),
            ("app/deep/token", 0o644),
            ("app/deep/other", 0o644),
            ("app/whole/x", 0o644),
        ]);
        fs::create_dir(etc.0.path().join("entered")).unwrap();
        let closed = Permissions::from_mode(0o711);
        fs::set_permissions(etc.0.path().join("entered"), closed).unwrap();
        let all = [
            "tree app/deep/other",
            "tree app/settings",
            "tree app/whole",
            "tree ssl/openssl.cnf",
        ];
        assert_eq!(etc.found(), all);
    }

    /// Proves: S71.
    #[test]
    fn what_tells_a_secret_or_is_no_file_is_left_out() {
        let etc = Etc::with(&[("plain.conf", 0o644)]);
        etc.add("npmrc", 0o644, "//registry/:_authToken=npm_x\n");
        let pipe = etc.0.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(pipe).status();
        assert!(made.unwrap().success());
        assert_eq!(etc.found(), ["tree plain.conf"]);
    }

    /// Proves: S71.
    #[test]
    fn what_is_too_deep_or_too_much_is_left_out() {
        let etc = Etc::with(&[("a/b/c/d/e/f/g/h/i/j/k", 0o644), ("top", 0o644)]);
        assert_eq!(etc.found(), ["tree top"]);
        let many = Etc::with(&[]);
        for number in 0..MAX_PATHS + 10 {
            many.add(&format!("f{number}"), 0o644, "");
        }
        assert_eq!(many.found().len(), MAX_PATHS);
    }

    /// Proves: S71.
    #[test]
    fn it_is_looked_at_again_when_a_directory_has_changed() {
        let etc = Etc::with(&[("app/settings", 0o644), ("app/deep/x", 0o644)]);
        let mut known = PublicEtc::look_at(etc.0.path());
        let first = known.current();
        assert!(Arc::ptr_eq(&first, &known.current()));
        let app = etc.0.path().join("app");
        assert_eq!(first.to_vec(), [PublicPath::Tree(app.clone())]);
        etc.add("app/deep/token", 0o644, "x");
        let parts = [
            PublicPath::Tree(app.join("deep/x")),
            PublicPath::Tree(app.join("settings")),
        ];
        assert_eq!(known.current().to_vec(), parts);
        // In the same place, without a change of its directory.
        etc.add("app/settings", 0o644, "password=x");
        assert_eq!(known.current().to_vec(), parts[..1]);
        fs::set_permissions(app.join("deep/x"), Permissions::from_mode(0o640)).unwrap();
        assert_eq!(known.current().to_vec(), []);
    }
}
