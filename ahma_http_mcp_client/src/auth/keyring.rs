//! Secrets in the keyring of the operating system: the Secret Service of a Linux desktop, Keychain on macOS. There is none
//! where nobody is logged in at a desktop.
//!
//! One thread speaks with it, because it may wait for its owner to unlock it for as long as that takes. Whoever asks meanwhile
//! is told so instead of waiting too.

/// A keyring cannot be used, and why.
#[derive(Debug, Clone)]
pub(super) struct KeyringFault(pub(super) String);

#[cfg(feature = "keyring")]
mod present {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use super::KeyringFault;

    /// Under which name programs that show keyrings list what is kept.
    const SERVICE: &str = "ahma_mcp";
    /// How long it may take to begin, and to be done: its owner may have to unlock it.
    const TIMEOUT: Duration = Duration::from_secs(12);

    type Work = Box<dyn FnOnce() + Send>;

    /// Somebody has waited in vain, and nothing has been done since.
    static IS_STUCK: AtomicBool = AtomicBool::new(false);

    /// To the thread that speaks with it.
    static THREAD: LazyLock<Sender<Work>> = LazyLock::new(|| {
        let (sender, work): (Sender<Work>, Receiver<Work>) = channel();
        // Where there can be no thread, nobody takes the work, which is said then.
        let _ = std::thread::Builder::new()
            .name("keyring".to_owned())
            .spawn(move || {
                for work in work {
                    work();
                    IS_STUCK.store(false, Ordering::Release);
                }
            });
        sender
    });

    fn ask<T: Send + 'static>(
        work: impl FnOnce() -> Result<T, KeyringFault> + Send + 'static,
    ) -> Result<T, KeyringFault> {
        let silent =
            || KeyringFault("it does not answer; is it waiting to be unlocked?".to_owned());
        // Or threads that wait would pile up.
        if IS_STUCK.load(Ordering::Acquire) {
            return Err(silent());
        }
        let (reply, answer) = channel();
        let work = move || {
            // Nobody waits any more: it must not be done later than whoever asked believes.
            if reply.send(None).is_ok() {
                let _ = reply.send(Some(work()));
            }
        };
        THREAD.send(Box::new(work)).map_err(|_| silent())?;
        let begun = answer.recv_timeout(TIMEOUT);
        let done = begun.and_then(|_| answer.recv_timeout(TIMEOUT));
        match done {
            Ok(Some(done)) => done,
            Ok(None) | Err(_) => {
                IS_STUCK.store(true, Ordering::Release);
                // Whatever it has done in between: when it is free again, it says so.
                let _ = THREAD.send(Box::new(|| {}));
                Err(silent())
            }
        }
    }

    fn entry(name: &str) -> Result<keyring::Entry, KeyringFault> {
        keyring::Entry::new(SERVICE, name).map_err(|error| fault(&error))
    }

    fn fault(error: &keyring::Error) -> KeyringFault {
        // Some name what they were given.
        KeyringFault(match error {
            keyring::Error::NoDefaultStore => "there is none".to_owned(),
            keyring::Error::NoStorageAccess(_) => "it is locked".to_owned(),
            _ => "it does not answer as it should".to_owned(),
        })
    }

    /// Keeps a secret under a name, in the place of another one.
    pub(in super::super) fn set(name: &str, secret: &str) -> Result<(), KeyringFault> {
        let (name, secret) = (name.to_owned(), secret.to_owned());
        ask(move || {
            let entry = entry(&name)?;
            entry.set_password(&secret).map_err(|error| fault(&error))
        })
    }

    /// What is kept under a name.
    pub(in super::super) fn get(name: &str) -> Result<Option<String>, KeyringFault> {
        let name = name.to_owned();
        ask(move || match entry(&name)?.get_password() {
            Ok(secret) => Ok(Some(secret)),
            Err(keyring::Error::NoEntry) => Ok(None),
            Err(error) => Err(fault(&error)),
        })
    }

    /// Forgets what is kept under a name.
    pub(in super::super) fn delete(name: &str) -> Result<(), KeyringFault> {
        let name = name.to_owned();
        ask(move || match entry(&name)?.delete_credential() {
            Ok(()) | Err(keyring::Error::NoEntry) => Ok(()),
            Err(error) => Err(fault(&error)),
        })
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

    pub(in super::super) fn get(_: &str) -> Result<Option<String>, KeyringFault> {
        none()
    }

    pub(in super::super) fn delete(_: &str) -> Result<(), KeyringFault> {
        none()
    }
}

#[cfg(not(feature = "keyring"))]
pub(super) use absent::{delete, get, set};
#[cfg(feature = "keyring")]
pub(super) use present::{delete, get, set};
