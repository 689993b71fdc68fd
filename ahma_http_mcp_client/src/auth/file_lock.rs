//! A lock that one process at a time holds. The kernel lets go of it when its process ends, however that happens, so a file
//! that was left behind is no lock.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::error::AuthError;

/// How long is waited for others. Longer than anybody's token request takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Held until dropped.
#[derive(Debug)]
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Waits for the lock of that name.
    pub(super) async fn acquire(path: PathBuf) -> Result<Self, AuthError> {
        let (sender, locked) = oneshot::channel();
        let of_thread = path.clone();
        // A thread of its own: one that waits must hold up neither the runtime nor its end.
        std::thread::Builder::new()
            .name("auth-lock".to_owned())
            .spawn(move || {
                let file = lock(&of_thread);
                // Nobody may wait any more; the lock is let go then.
                let _ = sender.send(file);
            })
            .map_err(|error| AuthError::store(&path, &error))?;
        match timeout(PATIENCE, locked).await {
            Ok(Ok(Ok(file))) => Ok(FileLock { _file: file }),
            Ok(Ok(Err(error))) => Err(AuthError::store(&path, &error)),
            Ok(Err(_)) | Err(_) => Err(AuthError::Transient(format!(
                "another process holds {}",
                path.display()
            ))),
        }
    }
}

fn lock(path: &PathBuf) -> io::Result<File> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)?;
    file.lock()?;
    Ok(file)
}
