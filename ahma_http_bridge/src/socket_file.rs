//! The file of a Unix socket: only its user can open it, nobody can put another in its place, and it goes with the
//! server.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _,
};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// Of the bits of a mode: others may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Of the bits of a mode: only owners may rename and remove what is in the directory.
const ONLY_OWNERS_RENAME: u32 = 0o1000;

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Whoever can write the directory could put a socket of their own there, and be shown tokens.
    #[error("others than you can write {0}, and could put a socket of their own there")]
    Directory(PathBuf),
    /// A server listens at it.
    #[error("another server listens there")]
    Taken,
    /// What is there is not a socket, so it is left alone.
    #[error("there is something else at that path")]
    Occupied,
    /// The system said no.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// The file of a socket that listens. It is removed with this.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

/// Listens at a path. The directory is made if it is not there; a socket that nobody listens at is replaced.
pub(crate) fn listen(path: &Path) -> Result<(UnixListener, SocketFile), SocketError> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let mut making = DirBuilder::new();
    making.recursive(true).mode(0o700).create(directory)?;
    let directory = directory.canonicalize()?;
    // Whoever owns the machine, under whatever number that is seen in a user namespace.
    let machine = fs::metadata("/")?.uid();
    for (depth, directory) in directory.ancestors().enumerate() {
        let about = fs::metadata(directory)?;
        // Above it, as in /tmp, others may make what they like as long as they cannot rename what is ours.
        let is_closed = about.mode() & WRITABLE_BY_OTHERS == 0
            || depth > 0 && about.mode() & ONLY_OWNERS_RENAME != 0;
        if !is_closed || ![machine, geteuid().as_raw()].contains(&about.uid()) {
            return Err(SocketError::Directory(directory.to_owned()));
        }
    }
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            remove_if_dead(path)?;
            UnixListener::bind(path)?
        }
        bound => bound?,
    };
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    let identity = identity(&fs::symlink_metadata(path)?);
    let path = path.to_owned();
    Ok((listener, SocketFile { path, identity }))
}

fn remove_if_dead(path: &Path) -> Result<(), SocketError> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(SocketError::Occupied);
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Ok(fs::remove_file(path)?)
        }
        Err(error) => Err(error.into()),
        Ok(_) => Err(SocketError::Taken),
    }
}

fn identity(about: &Metadata) -> (u64, u64) {
    (about.dev(), about.ino())
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let there = fs::symlink_metadata(&self.path);
        if there.is_ok_and(|there| identity(&there) == self.identity) {
            // Nobody is left to tell; the next server finds that nobody listens there.
            let _ = fs::remove_file(&self.path);
        }
    }
}
