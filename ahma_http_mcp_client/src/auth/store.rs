//! Records on disk, a file for each issuer and resource, which their owner alone can read. A file is replaced as a whole, so
//! that nobody ever reads half of one.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use reqwest::Url;
use sha2::{Digest as _, Sha256};

use super::error::AuthError;
use super::file_lock::FileLock;
use super::record::{SignInStatus, TokenRecord};

/// The longest record that is read.
const MAX_RECORD: u64 = 512 * 1024;

/// The records of one directory.
#[derive(Debug, Clone)]
pub struct TokenStore {
    directory: PathBuf,
}

impl TokenStore {
    /// The records of a directory, which is made when the first one is written.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        TokenStore {
            directory: directory.into(),
        }
    }

    /// What is known of the sign-in to a server.
    pub async fn status(&self, server: &str) -> Result<Option<SignInStatus>, AuthError> {
        let server = resource_url(server)?;
        let record = self.find(&server).await?;
        Ok(record.as_ref().map(SignInStatus::from))
    }

    /// Forgets the sign-in to a server. Says whether there was one.
    pub async fn forget(&self, server: &str) -> Result<bool, AuthError> {
        let server = resource_url(server)?;
        let mut was_there = false;
        for record in self.all(&server).await? {
            let _lock = self.lock(&record).await?;
            self.remove(&record).await?;
            was_there = true;
        }
        Ok(was_there)
    }

    /// The newest sign-in to a server.
    pub(super) async fn find(&self, server: &Url) -> Result<Option<TokenRecord>, AuthError> {
        Ok(self.all(server).await?.pop())
    }

    /// All sign-ins to a server, the newest last.
    async fn all(&self, server: &Url) -> Result<Vec<TokenRecord>, AuthError> {
        let server = server.clone();
        self.beside_runtime(move |directory| {
            let mut found = Vec::new();
            for path in paths(directory)? {
                let record = read(&path)?;
                found.extend(record.filter(|it| it.is_for(&server)));
            }
            found.sort_by_key(|it| (it.signed_in_at, it.resource.len()));
            Ok(found)
        })
        .await
    }

    /// The record as it is now.
    pub(super) async fn read_again(
        &self,
        record: &TokenRecord,
    ) -> Result<Option<TokenRecord>, AuthError> {
        let path = self.path(record, "json");
        self.beside_runtime(move |_| read(&path)).await
    }

    /// Waits until nobody else changes a record.
    pub(super) async fn lock(&self, record: &TokenRecord) -> Result<FileLock, AuthError> {
        self.beside_runtime(prepare).await?;
        FileLock::acquire(self.path(record, "lock")).await
    }

    /// Writes a record. Whoever does so holds its lock.
    pub(super) async fn write(&self, record: &TokenRecord) -> Result<(), AuthError> {
        let path = self.path(record, "json");
        let text = serde_json::to_vec(record).map_err(|error| AuthError::store(&path, &error))?;
        self.beside_runtime(move |directory| {
            prepare(directory)?;
            replace(&path, &text).map_err(|error| AuthError::store(&path, &error))
        })
        .await
    }

    /// Writes the record of a new sign-in, after which earlier ones to the same resource are of no use.
    pub(super) async fn write_new(&self, record: &TokenRecord) -> Result<(), AuthError> {
        {
            let _lock = self.lock(record).await?;
            self.write(record).await?;
        }
        let Ok(resource) = record.resource.parse() else {
            return Ok(());
        };
        for old in self.all(&resource).await? {
            if old.resource == record.resource && old.issuer != record.issuer {
                let _lock = self.lock(&old).await?;
                self.remove(&old).await?;
            }
        }
        Ok(())
    }

    async fn remove(&self, record: &TokenRecord) -> Result<(), AuthError> {
        let path = self.path(record, "json");
        self.beside_runtime(move |_| match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(AuthError::store(&path, &error))
            }
            _ => Ok(()),
        })
        .await
    }

    fn path(&self, record: &TokenRecord, extension: &str) -> PathBuf {
        let mut digest = Sha256::new();
        digest.update(record.issuer.as_bytes());
        digest.update([0]);
        digest.update(record.resource.as_bytes());
        let name = HEXLOWER.encode(&digest.finalize()[..16]);
        self.directory.join(format!("{name}.{extension}"))
    }

    async fn beside_runtime<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, AuthError> + Send + 'static,
    ) -> Result<T, AuthError> {
        let directory = self.directory.clone();
        let working = tokio::task::spawn_blocking(move || work(&directory));
        let ended = |error| AuthError::store(&self.directory, &error);
        working.await.map_err(ended)?
    }
}

/// A server's URL, as far as it names a resource.
fn resource_url(server: &str) -> Result<Url, AuthError> {
    let place = server.split(['?', '#']).next().unwrap_or_default();
    place.parse().map_err(|_| AuthError::Discovery {
        server: super::error::shown(place),
        what: "it is not a URL".to_owned(),
    })
}

/// Makes a directory that nobody else can look into.
fn prepare(directory: &Path) -> Result<(), AuthError> {
    let prepared = || -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        let mode = std::fs::metadata(directory)?.permissions().mode();
        match mode & 0o077 {
            0 => Ok(()),
            _ => std::fs::set_permissions(directory, Permissions::from_mode(0o700)),
        }
    };
    prepared().map_err(|error| AuthError::store(directory, &error))
}

#[expect(clippy::disallowed_methods, reason = "runs beside the runtime")]
fn paths(directory: &Path) -> Result<Vec<PathBuf>, AuthError> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(AuthError::store(directory, &error)),
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect())
}

/// A record, if there is one. One that cannot be understood is as good as none: somebody has to sign in again.
fn read(path: &Path) -> Result<Option<TokenRecord>, AuthError> {
    let mut text = Vec::new();
    let reading = || -> io::Result<()> {
        let file = OpenOptions::new().read(true).open(path)?;
        file.take(MAX_RECORD).read_to_end(&mut text)?;
        Ok(())
    };
    match { reading }() {
        Ok(()) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(AuthError::store(path, &error)),
    }
}

/// Replaces a file as a whole. Whoever is killed meanwhile leaves another one, which the next one takes over.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)?;
    file.write_all(text)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)
}
