//! The end of a server whose entry is gone, or is another one now: nobody connects to it any more, and calls that it has are
//! given up and told why.

use tokio::sync::MutexGuard;

use super::Upstream;

/// Why a server is there no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::downstream) enum Retired {
    /// Its entry is gone.
    Removed,
    /// Its entry is another one now.
    Changed,
}

impl Upstream {
    /// Ends it for good.
    pub(in crate::downstream) async fn retire(&self, why: Retired) {
        self.retired.send_replace(Some(why));
        for session in self.sessions.all() {
            session.retired.send_replace(Some(why));
        }
        // Whoever is connecting gives up now, and nobody begins to.
        let _connecting = self.connecting.lock().await;
        self.shut_down("its entry is gone, or another one now")
            .await;
        tracing::info!(server = self.name(), "ended: {}", why_not(self.name(), why));
    }

    /// Keeps it from being connected to while this is held.
    pub(in crate::downstream) async fn hold(&self) -> MutexGuard<'_, ()> {
        self.connecting.lock().await
    }

    /// Whether there is a connection to it.
    pub(in crate::downstream) fn is_running(&self) -> bool {
        self.state().connection.is_some()
    }

    /// Waits until it is there no more, and says why.
    pub(super) async fn retired(&self) -> String {
        let mut retired = self.retired.subscribe();
        let why = retired.wait_for(Option::is_some).await;
        let why = why.ok().and_then(|it| *it);
        match why {
            Some(why) => why_not(self.name(), why),
            // It is asked for by whoever holds it, so that this does not come.
            None => std::future::pending().await,
        }
    }
}

fn why_not(server: &str, why: Retired) -> String {
    match why {
        Retired::Removed => {
            format!("the server `{server}` was removed from the file that names servers")
        }
        Retired::Changed => {
            format!("the entry of the server `{server}` has changed, and its process was ended")
        }
    }
}
