//! A value that one changes and others wait on.
//!
//! As `tokio::sync::watch`, in a tenth of its memory: operations are remembered by the thousand.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

/// A value with those who wait for it.
#[derive(Debug, Default)]
pub(crate) struct LightWatch<T> {
    value: Mutex<T>,
    changed: Notify,
}

impl<T> LightWatch<T> {
    pub(crate) fn new(value: T) -> Self {
        LightWatch {
            value: Mutex::new(value),
            changed: Notify::new(),
        }
    }

    /// Looks at it. Must not wait for anything.
    pub(crate) fn read<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.value.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes it; `change` says whether it did, and whoever waits is told then.
    pub(crate) fn change(&self, change: impl FnOnce(&mut T) -> bool) -> bool {
        let has_changed = change(&mut self.value.lock().unwrap_or_else(PoisonError::into_inner));
        if has_changed {
            self.changed.notify_waiters();
        }
        has_changed
    }

    /// Waits until there is in it what is looked for.
    pub(crate) async fn wait<R>(&self, mut find: impl FnMut(&T) -> Option<R>) -> R {
        loop {
            // A change after this is not missed, whenever it is waited for.
            let changed = self.changed.notified();
            if let Some(found) = self.read(&mut find) {
                return found;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn no_change_is_missed() {
        for _ in 0..200 {
            let watched = Arc::new(LightWatch::new(0));
            let writer = Arc::clone(&watched);
            let writing = tokio::spawn(async move {
                for _ in 0..10 {
                    writer.change(|value| {
                        *value += 1;
                        true
                    });
                    tokio::task::yield_now().await;
                }
            });
            for expected in 1..=10 {
                watched
                    .wait(|value| (*value >= expected).then_some(()))
                    .await;
            }
            writing.await.unwrap();
        }
    }
}
