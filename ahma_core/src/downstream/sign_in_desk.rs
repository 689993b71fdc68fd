//! The sign-in to a server that waits for somebody to open its URL: one at a time, whoever calls meanwhile. It ends by
//! itself. Must not open anything: who called does, or the owner.

use std::sync::Arc;
use std::time::Duration;

use ahma_http_mcp_client::auth::{AuthOptions, SignIn};
use tokio::sync::{Mutex, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// How long a URL is good for.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);
/// How long it may take to find out how to sign in.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(20);

/// Where somebody signs in to one server.
#[derive(Default)]
pub(super) struct SignInDesk(Mutex<Option<Arc<OpenSignIn>>>);

/// A sign-in that waits.
pub(super) struct OpenSignIn {
    /// What has to be opened.
    pub(super) url: String,
    /// What came of it, once something has.
    outcome: watch::Receiver<Option<Result<(), String>>>,
    waiting: AbortHandle,
}

impl SignInDesk {
    /// The sign-in that waits, or a new one.
    pub(super) async fn open(
        &self,
        options: AuthOptions,
        challenge: Option<&str>,
    ) -> Result<Arc<OpenSignIn>, String> {
        // Held while it is begun: nobody begins another one.
        let mut open = self.0.lock().await;
        if let Some(waiting) = open.as_ref().filter(|it| it.outcome.borrow().is_none()) {
            return Ok(Arc::clone(waiting));
        }
        let beginning = timeout(BEGIN_TIMEOUT, SignIn::begin(options, challenge)).await;
        let late = |_| {
            format!(
                "finding out how takes longer than {} s",
                BEGIN_TIMEOUT.as_secs()
            )
        };
        let sign_in = beginning
            .map_err(late)?
            .map_err(|error| error.to_string())?;
        if !sign_in.is_listening() {
            return Err("its redirect URI does not lead to this machine".to_owned());
        }
        let url = sign_in.url().to_string();
        let (done, outcome) = watch::channel(None);
        let waiting = tokio::spawn(async move {
            let outcome = sign_in.wait(PATIENCE).await;
            let outcome = outcome.map(|_| ()).map_err(|error| error.to_string());
            done.send_replace(Some(outcome));
        });
        let waiting = waiting.abort_handle();
        let now = Arc::new(OpenSignIn {
            url,
            outcome,
            waiting,
        });
        *open = Some(Arc::clone(&now));
        Ok(now)
    }
}

impl OpenSignIn {
    /// Waits until somebody has signed in.
    pub(super) async fn done(&self) -> Result<(), String> {
        let mut outcome = self.outcome.clone();
        let done = outcome.wait_for(Option::is_some).await;
        let done = done.map_err(|_| "it was given up".to_owned())?;
        done.clone()
            .unwrap_or_else(|| Err("it was given up".to_owned()))
    }
}

impl Drop for OpenSignIn {
    fn drop(&mut self) {
        self.waiting.abort();
    }
}
