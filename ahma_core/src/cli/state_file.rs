//! The file by which other programs find the server of a project.
//!
//! It is in the scope, where commands may have put anything in its place; no step follows a link. A server that
//! lives holds a lock on its file, so that another one for the same project leaves it alone, and a file whose
//! server is gone is known by nobody holding it, whatever its process id means by now.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ahma_contract::ServerState;
use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, RawMode, flock, fstat, mkdirat, openat, renameat,
    statat, unlinkat,
};
use rustix::io::Errno;

const DIRECTORY: &str = ".ahma";
const NAME: &str = ".mcp_server_state.json";
const DRAFT: &str = ".mcp_server_state.json.new";
const IGNORED: &str = "# Made by ahma_mcp: what a running server writes here.\n/.gitignore\n/.mcp_server_state.json*\n";
/// What is read of a file that somebody else may have written.
const MAX_FILE_LEN: u64 = 64 * 1024;

/// How long another server may look and write.
const TIMEOUT: Duration = Duration::from_secs(2);
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// Where the file goes. It is made before the sandbox starts, so that commands find the directory protected.
#[derive(Clone)]
pub(super) struct StatePlace {
    directory: Arc<OwnedFd>,
    scope: PathBuf,
}

/// The file of this server. It is removed with this.
#[derive(Debug)]
pub(super) struct StateFile {
    directory: Arc<OwnedFd>,
    /// Locked.
    file: File,
}

impl StatePlace {
    /// Makes the directory, if it is not there.
    pub(super) fn prepare(scope: &Path) -> io::Result<Self> {
        let open = |directory, name: &Path, more| {
            let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | more;
            openat(directory, name, flags, Mode::empty())
        };
        let above = open(CWD, scope, OFlags::empty())?;
        let is_new = match mkdirat(&above, DIRECTORY, Mode::from_raw_mode(0o755)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error.into()),
        };
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let directory = openat(&above, DIRECTORY, flags, Mode::empty())?;
        if is_new {
            File::from(new_file(&directory, ".gitignore", 0o644)?).write_all(IGNORED.as_bytes())?;
        }
        Ok(StatePlace {
            directory: Arc::new(directory),
            scope: scope.to_owned(),
        })
    }

    /// Where the file is.
    pub(super) fn path(&self) -> PathBuf {
        self.scope.join(DIRECTORY).join(NAME)
    }

    /// Writes the file, whole or not at all; none when that of another server that lives is there.
    pub(super) fn write(self, state: &ServerState) -> io::Result<Option<StateFile>> {
        // One server at a time looks and writes.
        if !self.lock()? {
            return Ok(None);
        }
        if self.is_another_alive()? {
            flock(&self.directory, FlockOperation::Unlock)?;
            return Ok(None);
        }
        match unlinkat(&self.directory, DRAFT, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let mut file = File::from(new_file(&self.directory, DRAFT, 0o600)?);
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let text = serde_json::to_string_pretty(state)?;
        file.write_all(format!("{text}\n").as_bytes())?;
        renameat(&self.directory, DRAFT, &self.directory, NAME)?;
        flock(&self.directory, FlockOperation::Unlock)?;
        Ok(Some(StateFile {
            directory: self.directory,
            file,
        }))
    }

    /// Takes the lock of the directory. A command can take it too, since it may read the directory, and keep it; that must
    /// not keep the server from starting.
    fn lock(&self) -> io::Result<bool> {
        let end = Instant::now() + TIMEOUT;
        loop {
            match flock(&self.directory, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(true),
                Err(Errno::WOULDBLOCK) if Instant::now() < end => thread::sleep(BETWEEN_TRIES),
                Err(Errno::WOULDBLOCK) => {
                    tracing::warn!("the directory of the state file is locked by another program");
                    return Ok(false);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn is_another_alive(&self) -> io::Result<bool> {
        // Not to wait for a pipe that nobody writes.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match openat(&self.directory, NAME, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::LOOP) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        if !file.metadata()?.is_file() {
            return Ok(false);
        }
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => {
                let mut text = String::new();
                let _ = file.take(MAX_FILE_LEN).read_to_string(&mut text);
                tracing::info!("another server of this project is alive: {text}");
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// Whether a state file is of a server that lives: that keeps a lock on it.
pub(super) fn is_alive(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Mode::empty());
    file.is_ok_and(|it| flock(&it, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK))
}

fn new_file(directory: &OwnedFd, name: &str, mode: RawMode) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::from_raw_mode(mode))
}

impl Drop for StateFile {
    fn drop(&mut self) {
        let ours = fstat(&self.file);
        let there = statat(&self.directory, NAME, AtFlags::SYMLINK_NOFOLLOW);
        if let (Ok(ours), Ok(there)) = (ours, there)
            && (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)
        {
            // Nobody is left to tell; a reader finds that the process is gone.
            let _ = unlinkat(&self.directory, NAME, AtFlags::empty());
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::fs;
    use std::net::SocketAddr;
    use std::os::unix::fs::{MetadataExt as _, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};

    use serde_json::Value;

    use super::*;

    fn state(port: u16) -> ServerState {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut state = ServerState::new("http", &address.into(), "project", Path::new("/p"));
        state.token_file = Some("/token".into());
        state
    }

    fn read(scope: &Path) -> Value {
        let text = fs::read_to_string(scope.join(DIRECTORY).join(NAME)).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_file_tells_where_the_server_is_and_goes_with_it() {
        let scope = tempfile::tempdir().unwrap();
        let place = StatePlace::prepare(scope.path()).unwrap();
        let path = place.path();
        let file = place.write(&state(4242)).unwrap().unwrap();
        let told = read(scope.path());
        assert_eq!(told["url"], "http://127.0.0.1:4242/mcp");
        assert_eq!(told["pid"], std::process::id());
        assert_eq!(told["version"], "1.0.0");
        assert_eq!(told["token_file"], "/token");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let names: Vec<_> = fs::read_dir(scope.path().join(DIRECTORY))
            .unwrap()
            .collect();
        assert_eq!(names.len(), 2, "{names:?}");
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn a_second_server_leaves_the_file_of_one_that_lives() {
        let scope = tempfile::tempdir().unwrap();
        let first = StatePlace::prepare(scope.path()).unwrap();
        let first = first.write(&state(1)).unwrap().unwrap();
        let second = StatePlace::prepare(scope.path()).unwrap();
        assert!(second.write(&state(2)).unwrap().is_none());
        assert_eq!(read(scope.path())["port"], 1);
        drop(first);
        let third = StatePlace::prepare(scope.path()).unwrap();
        let _third = third.write(&state(3)).unwrap().unwrap();
        assert_eq!(read(scope.path())["port"], 3);
    }

    #[test]
    fn a_lock_that_is_kept_keeps_nobody_from_starting() {
        let scope = tempfile::tempdir().unwrap();
        let place = StatePlace::prepare(scope.path()).unwrap();
        let kept = File::open(scope.path().join(DIRECTORY)).unwrap();
        flock(&kept, FlockOperation::LockExclusive).unwrap();
        assert!(place.write(&state(1)).unwrap().is_none());
    }

    #[test]
    fn a_file_whose_server_is_gone_is_replaced() {
        let scope = tempfile::tempdir().unwrap();
        let place = StatePlace::prepare(scope.path()).unwrap();
        // A process that lives, but does not hold the file: the number was given to another.
        let stale = format!("{{\"pid\": {}}}", std::process::id());
        fs::write(place.path(), stale).unwrap();
        let _file = place.write(&state(5)).unwrap().unwrap();
        assert_eq!(read(scope.path())["port"], 5);
    }

    /// Proves: D3.
    #[test]
    fn whoever_reads_the_file_reads_all_of_it_and_nobody_else_can() {
        let scope = tempfile::tempdir().unwrap();
        let path = StatePlace::prepare(scope.path()).unwrap().path();
        let is_read = AtomicBool::new(false);
        thread::scope(|threads| {
            let writer = threads.spawn(|| {
                let end = Instant::now() + Duration::from_secs(60);
                // A reader that gets little of the machine meets the file late.
                let mut written = 0_u16;
                while written < 1000 || !is_read.load(Ordering::Relaxed) {
                    assert!(Instant::now() < end, "the file was never there");
                    let place = StatePlace::prepare(scope.path()).unwrap();
                    drop(place.write(&state(written)).unwrap().unwrap());
                    written = written.wrapping_add(1);
                }
            });
            while !writer.is_finished() {
                let Ok(mut file) = File::open(&path) else {
                    continue;
                };
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                assert!(text.ends_with("}\n"), "a part: {text:?}");
                assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
                is_read.store(true, Ordering::Relaxed);
            }
        });
    }

    /// Proves: D3.
    #[test]
    fn no_link_is_followed() {
        let (scope, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(elsewhere.path(), scope.path().join(DIRECTORY)).unwrap();
        assert!(StatePlace::prepare(scope.path()).is_err());
        fs::remove_file(scope.path().join(DIRECTORY)).unwrap();
        let place = StatePlace::prepare(scope.path()).unwrap();
        let target = elsewhere.path().join("target");
        fs::write(&target, "precious").unwrap();
        for name in [NAME, DRAFT] {
            symlink(&target, scope.path().join(DIRECTORY).join(name)).unwrap();
        }
        let _file = place.write(&state(6)).unwrap().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
        assert_eq!(read(scope.path())["port"], 6);
    }

    /// Proves: D3.
    #[test]
    fn what_git_should_not_see_is_ignored_only_where_the_directory_is_ours() {
        let scope = tempfile::tempdir().unwrap();
        StatePlace::prepare(scope.path()).unwrap();
        let ignored = scope.path().join(DIRECTORY).join(".gitignore");
        assert!(fs::read_to_string(&ignored).unwrap().contains(NAME));
        fs::remove_file(&ignored).unwrap();
        StatePlace::prepare(scope.path()).unwrap();
        assert!(!ignored.exists());
    }
}
