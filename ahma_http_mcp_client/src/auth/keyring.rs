//! Secrets in the keyring of the operating system: the Secret Service of a Linux desktop, Keychain on macOS. There is none
//! where nobody is logged in at a desktop. Every function may block for as long as its owner is asked to unlock it.

/// A keyring cannot be used, and why.
#[derive(Debug)]
pub(super) struct KeyringFault(pub(super) String);

/// Under which name programs that show keyrings list what is kept.
#[cfg(feature = "keyring")]
const SERVICE: &str = "ahma_mcp";

#[cfg(feature = "keyring")]
fn entry(name: &str) -> Result<keyring::Entry, KeyringFault> {
    keyring::Entry::new(SERVICE, name).map_err(|error| fault(&error))
}

#[cfg(feature = "keyring")]
fn fault(error: &keyring::Error) -> KeyringFault {
    // Some name what they were given.
    KeyringFault(match error {
        keyring::Error::NoDefaultStore => "there is none".to_owned(),
        keyring::Error::NoStorageAccess(_) => "it is locked".to_owned(),
        keyring::Error::NoEntry => "it does not have the entry any more".to_owned(),
        _ => "it does not answer as it should".to_owned(),
    })
}

/// Keeps a secret under a name, in the place of another one.
#[cfg(feature = "keyring")]
pub(super) fn set(name: &str, secret: &str) -> Result<(), KeyringFault> {
    entry(name)?
        .set_password(secret)
        .map_err(|error| fault(&error))
}

/// What is kept under a name.
#[cfg(feature = "keyring")]
pub(super) fn get(name: &str) -> Result<String, KeyringFault> {
    entry(name)?.get_password().map_err(|error| fault(&error))
}

/// Forgets what is kept under a name.
#[cfg(feature = "keyring")]
pub(super) fn delete(name: &str) -> Result<(), KeyringFault> {
    match entry(name)?.delete_credential() {
        Ok(()) | Err(keyring::Error::NoEntry) => Ok(()),
        Err(error) => Err(fault(&error)),
    }
}

#[cfg(not(feature = "keyring"))]
mod absent {
    use super::KeyringFault;

    fn none<T>() -> Result<T, KeyringFault> {
        Err(KeyringFault("this program was built without it".to_owned()))
    }

    pub(in super::super) fn set(_: &str, _: &str) -> Result<(), KeyringFault> {
        none()
    }

    pub(in super::super) fn get(_: &str) -> Result<String, KeyringFault> {
        none()
    }

    pub(in super::super) fn delete(_: &str) -> Result<(), KeyringFault> {
        none()
    }
}

#[cfg(not(feature = "keyring"))]
pub(super) use absent::{delete, get, set};
