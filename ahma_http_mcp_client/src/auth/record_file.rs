//! One record on disk: a file that its owner alone can read, and is replaced as a whole, so that nobody ever reads half of one.
//! Where the record is kept in a keyring, the file has everything but what is secret. Blocks.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::AuthError;
use super::keyring::{self, KeyringFault};
use super::record::{Place, TokenRecord, Tokens};
use crate::secret::Secret;

/// The longest record that is read.
const MAX_RECORD: u64 = 512 * 1024;

/// The extension of a file that is being written.
const TEMPORARY: &str = "new";

/// What of a record is secret.
#[derive(Serialize, Deserialize)]
struct Secrets {
    tokens: Option<Tokens>,
    client_secret: Option<Secret>,
}

/// A record, if there is one. One that cannot be understood is as good as none: somebody has to sign in again.
pub(super) fn read(path: &Path) -> Result<Option<TokenRecord>, AuthError> {
    let Some(mut record) = read_open(path)? else {
        return Ok(None);
    };
    if record.place == Place::Keyring {
        let kept = keyring::get(&name(path)).map_err(|fault| unreachable(path, &fault))?;
        // Its owner may have removed it there.
        let secrets: Option<Secrets> = kept.and_then(|it| serde_json::from_str(&it).ok());
        if let Some(secrets) = secrets {
            record.tokens = secrets.tokens;
            record.client.secret = secrets.client_secret;
        }
    }
    record.tokens = record.tokens.map(Tokens::bounded);
    Ok(Some(record))
}

/// The same, without what is in the keyring.
pub(super) fn read_open(path: &Path) -> Result<Option<TokenRecord>, AuthError> {
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

/// Removes what a keyring keeps of a record.
pub(super) fn forget_in_keyring(path: &Path) -> Result<(), AuthError> {
    keyring::delete(&name(path)).map_err(|fault| unreachable(path, &fault))
}

/// Writes a record where it is kept.
pub(super) fn write(path: &Path, record: &TokenRecord) -> Result<(), AuthError> {
    let as_text = |record: &TokenRecord| {
        serde_json::to_vec(record).map_err(|error| AuthError::store(path, &error))
    };
    let text = match record.place {
        Place::File => as_text(record)?,
        Place::Keyring => {
            let secrets = Secrets {
                tokens: record.tokens.clone(),
                client_secret: record.client.secret.clone(),
            };
            let secrets = serde_json::to_string(&secrets);
            let secrets = secrets.map_err(|error| AuthError::store(path, &error))?;
            keyring::set(&name(path), &secrets).map_err(|fault| unreachable(path, &fault))?;
            let mut open = record.clone();
            open.tokens = None;
            open.client.secret = None;
            as_text(&open)?
        }
    };
    replace(path, &text).map_err(|error| AuthError::store(path, &error))
}

/// Removes a record, wherever it is kept. The file goes in any case.
pub(super) fn remove(path: &Path, place: Place) -> Result<(), AuthError> {
    let in_keyring = match place {
        Place::Keyring => forget_in_keyring(path),
        Place::File => Ok(()),
    };
    // The second one is left where a process was killed while it wrote.
    for path in [path.to_owned(), path.with_extension(TEMPORARY)] {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(AuthError::store(&path, &error));
            }
            _ => {}
        }
    }
    in_keyring
}

/// The name of a record among those of a keyring.
fn name(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn unreachable(path: &Path, KeyringFault(why): &KeyringFault) -> AuthError {
    let why = format!("its tokens are in the keyring, which cannot be used: {why}");
    AuthError::store(path, &why)
}

/// Replaces a file as a whole. Whoever is killed meanwhile leaves another one, which the next one takes over.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension(TEMPORARY);
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
