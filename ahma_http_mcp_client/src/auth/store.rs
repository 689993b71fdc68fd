//! The records of a directory, one for each issuer and resource. New ones are kept in the keyring of the operating system where
//! that is wanted and there is one; a record stays where it is kept.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use data_encoding::HEXLOWER;
use reqwest::Url;
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use super::error::AuthError;
use super::file_lock::FileLock;
use super::record::{KeptIn, Place, SignInStatus, TokenRecord};
use super::record_file;

/// How long a disk or a keyring may take. Whoever has to unlock it is waited for so long.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The records of one directory.
#[derive(Debug, Clone)]
pub struct TokenStore {
    directory: PathBuf,
    /// Where new records are kept.
    place: Place,
}

impl TokenStore {
    /// The records of a directory, which is made when the first one is written.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        TokenStore {
            directory: directory.into(),
            place: Place::File,
        }
    }

    /// The same, where the secrets of new records are in the keyring of the operating system, if that can be used.
    pub fn with_keyring(self) -> Self {
        let place = Place::Keyring;
        TokenStore { place, ..self }
    }

    /// The same, where new records are in files.
    pub fn without_keyring(self) -> Self {
        let place = Place::File;
        TokenStore { place, ..self }
    }

    /// Where records are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What is known of the sign-in to a server.
    pub async fn status(&self, server: &str) -> Result<Option<SignInStatus>, AuthError> {
        let server = resource_url(server)?;
        let record = self.find(&server).await?;
        Ok(record.as_ref().map(|record| self.status_of(record)))
    }

    /// What may be said of a record.
    pub(super) fn status_of(&self, record: &TokenRecord) -> SignInStatus {
        let kept_in = match record.place {
            Place::File => KeptIn::File(self.path(record, "json")),
            Place::Keyring => KeptIn::Keyring,
        };
        SignInStatus::new(record, kept_in)
    }

    /// Forgets the sign-in to a server. Says whether there was one.
    pub async fn forget(&self, server: &str) -> Result<bool, AuthError> {
        let server = resource_url(server)?;
        // What is beside it may be used by others.
        let Some(record) = self.all(&server).await?.pop() else {
            return Ok(false);
        };
        let _lock = self.lock(&record).await?;
        self.remove(&record).await?;
        Ok(true)
    }

    /// The sign-in to a server, or else to what that is part of; the newest of several.
    pub(super) async fn find(&self, server: &Url) -> Result<Option<TokenRecord>, AuthError> {
        match self.all(server).await?.pop() {
            Some(record) => self.read_again(&record).await,
            None => Ok(None),
        }
    }

    /// All sign-ins to a server without what a keyring keeps of them, the best last.
    async fn all(&self, server: &Url) -> Result<Vec<TokenRecord>, AuthError> {
        let server = server.clone();
        self.beside_runtime(move |directory| {
            let mut found = Vec::new();
            for path in paths(directory)? {
                let record = record_file::read_open(&path)?;
                found.extend(record.filter(|it| it.is_for(&server)));
            }
            found.sort_by_key(|it| (it.resource.len(), it.signed_in_at));
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
        self.beside_runtime(move |_| record_file::read(&path)).await
    }

    /// Waits until nobody else changes a record.
    pub(super) async fn lock(&self, record: &TokenRecord) -> Result<FileLock, AuthError> {
        self.beside_runtime(prepare).await?;
        FileLock::acquire(self.path(record, "lock")).await
    }

    /// Writes a record. Whoever does so holds its lock.
    pub(super) async fn write(&self, record: &TokenRecord) -> Result<(), AuthError> {
        let path = self.path(record, "json");
        let record = record.clone();
        self.beside_runtime(move |directory| {
            prepare(directory)?;
            let before = record_file::read_open(&path)?.map(|it| it.place);
            record_file::write(&path, &record)?;
            if (before, record.place) == (Some(Place::Keyring), Place::File) {
                // Nothing is left where nobody looks. Where the keyring cannot be used, it stays there.
                let _ = record_file::forget_in_keyring(&path);
            }
            Ok(())
        })
        .await
    }

    /// Writes the record of a new sign-in, after which earlier ones to the same resource are of no use.
    pub(super) async fn write_new(&self, record: &mut TokenRecord) -> Result<(), AuthError> {
        record.place = self.place;
        {
            let _lock = self.lock(record).await?;
            let written = self.write(record).await;
            if written.is_err() && record.place == Place::Keyring {
                // There is none, or it stays locked.
                record.place = Place::File;
                self.write(record).await?;
            } else {
                written?;
            }
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
        let (path, place) = (self.path(record, "json"), record.place);
        self.beside_runtime(move |_| record_file::remove(&path, place))
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
        let late = |_| {
            let seconds = TIMEOUT.as_secs();
            let what = format!("it did not answer within {seconds} s; is the keyring locked?");
            AuthError::store(&self.directory, &what)
        };
        timeout(TIMEOUT, working)
            .await
            .map_err(late)?
            .map_err(ended)?
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
