//! The current token for the requests to one server. Renews it at four fifths of its life, and once when it is refused; of
//! all processes that share a store, one does so at a time. Must not ask anybody to sign in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, OnceCell};
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::checked_http::CheckedHttp;
use super::error::AuthError;
use super::options::AuthOptions;
use super::record::{ClientIdentity, Registration, TokenRecord, Tokens, now};
use super::token_request::TokenEndpoint;
use crate::authorization::{Authorization, Refusal};
use crate::request_error::RequestError;
use crate::secret::Secret;

/// How long a renewal that failed is left alone while the old token is still good.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Gives a connection its tokens.
pub struct TokenSource {
    shared: Arc<Shared>,
    /// Renews the token of a connection on which nothing is asked.
    renewing: AbortHandle,
}

struct Shared {
    options: AuthOptions,
    http: OnceCell<CheckedHttp>,
    known: Mutex<Known>,
    /// One renewal at a time, in this process.
    flight: tokio::sync::Mutex<()>,
    changed: Notify,
}

#[derive(Default)]
struct Known {
    record: Option<TokenRecord>,
    /// A token that came because another one was refused, and has not been let through yet.
    unproven: Option<Secret>,
    retry_at: Option<Instant>,
}

/// Why a token is asked for.
#[derive(Clone, Copy)]
enum Need<'n> {
    Current,
    /// This one was refused.
    Other(&'n Secret),
}

impl TokenSource {
    /// For the server of the options. Has to be called on a runtime.
    pub fn new(options: AuthOptions) -> Self {
        let shared = Arc::new(Shared {
            options,
            http: OnceCell::new(),
            known: Mutex::default(),
            flight: tokio::sync::Mutex::default(),
            changed: Notify::new(),
        });
        let renewing = tokio::spawn(Arc::clone(&shared).keep_current()).abort_handle();
        TokenSource { shared, renewing }
    }

    /// The current token, renewed where it is due. None where somebody has to sign in.
    pub async fn current(&self) -> Result<Option<Secret>, AuthError> {
        self.shared.current().await
    }
}

impl Drop for TokenSource {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

impl Authorization for TokenSource {
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, RequestError>> {
        Box::pin(async move {
            self.shared
                .current()
                .await
                .map_err(|error| not_sent(&error))
        })
    }

    fn refused(
        &self,
        token: Option<Secret>,
        refusal: Refusal,
    ) -> BoxFuture<'_, Result<Option<Secret>, RequestError>> {
        Box::pin(async move {
            let Some(token) = token else {
                return Ok(None);
            };
            let other = match refusal {
                Refusal::Token => self.shared.another(&token).await,
                // Only somebody who signs in gets more; it may have happened already.
                Refusal::Scope => self.shared.stored().await.map(|()| self.shared.held()),
            };
            let other = other.map_err(|error| not_sent(&error))?;
            Ok(other.filter(|other| *other != token))
        })
    }

    fn accepted(&self, token: &Secret) {
        let mut known = self.shared.known();
        if known.unproven.as_ref() == Some(token) {
            known.unproven = None;
        }
    }
}

fn not_sent(error: &AuthError) -> RequestError {
    RequestError::not_sent(format!("the token cannot be renewed: {error}"))
}

impl Shared {
    fn known(&self) -> MutexGuard<'_, Known> {
        // Nothing of it is left half changed by a panic.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The token that is held, whatever its age.
    fn held(&self) -> Option<Secret> {
        let known = self.known();
        let tokens = known.record.as_ref().and_then(|it| it.tokens.as_ref());
        tokens.map(|it| it.access.clone())
    }

    /// The token that is held, if it will do.
    fn good(&self, need: Need<'_>) -> Option<Secret> {
        let known = self.known();
        let tokens = known.record.as_ref()?.tokens.as_ref()?;
        let is_good = match need {
            Need::Other(refused) => tokens.access != *refused && !tokens.is_due(now()),
            Need::Current => {
                let is_resting = known.retry_at.is_some_and(|it| Instant::now() < it);
                !tokens.is_due(now()) || (is_resting && !tokens.is_expired(now()))
            }
        };
        is_good.then(|| tokens.access.clone())
    }

    fn hold(&self, record: Option<TokenRecord>) {
        let mut known = self.known();
        known.record = record;
        known.retry_at = None;
        drop(known);
        self.changed.notify_one();
    }

    async fn current(&self) -> Result<Option<Secret>, AuthError> {
        match self.good(Need::Current) {
            Some(token) => Ok(Some(token)),
            None => self.renewed(Need::Current).await,
        }
    }

    /// Another token than one that was refused.
    async fn another(&self, refused: &Secret) -> Result<Option<Secret>, AuthError> {
        if self.known().unproven.as_ref() == Some(refused) {
            // It came for one that was refused, and is refused itself: newer ones would be, too.
            self.stored().await?;
            return Ok(self.held());
        }
        let other = self.renewed(Need::Other(refused)).await?;
        self.known().unproven = other.clone();
        Ok(other)
    }

    /// Holds the record that is stored now.
    async fn stored(&self) -> Result<(), AuthError> {
        let record = self.options.store.find(&self.options.server).await?;
        let record = record.filter(|it| self.is_of_our_client(it));
        let held = self.known().record.clone();
        self.hold(match (record, held) {
            (Some(record), Some(held)) => Some(newer(record, held)),
            (record, _) => record,
        });
        Ok(())
    }

    /// Whether it was signed in with the client that is configured.
    fn is_of_our_client(&self, record: &TokenRecord) -> bool {
        match &self.options.client {
            Some(client) => client.id == record.client.id,
            None => record.client.registration != Registration::ByHand,
        }
    }

    async fn renewed(&self, need: Need<'_>) -> Result<Option<Secret>, AuthError> {
        let _flight = self.flight.lock().await;
        if let Some(token) = self.good(need) {
            return Ok(Some(token));
        }
        // Somebody may have signed in since, even elsewhere, or out.
        self.stored().await?;
        if let Some(token) = self.good(need) {
            return Ok(Some(token));
        }
        let Some(record) = self.known().record.clone() else {
            return Ok(None);
        };
        let store = &self.options.store;
        let _lock = store.lock(&record).await?;
        // While the lock was waited for, another process may have done it.
        let current = store.read_again(&record).await?;
        self.hold(current.map(|current| newer(current, record)));
        if let Some(token) = self.good(need) {
            return Ok(Some(token));
        }
        let record = self.known().record.clone();
        let Some((mut record, tokens)) =
            record.and_then(|it| it.tokens.clone().map(|tokens| (it, tokens)))
        else {
            return Ok(None);
        };
        match self.refresh(&record, &tokens).await {
            Ok(Some((tokens, scopes))) => {
                let token = tokens.access.clone();
                record.tokens = Some(tokens);
                record.scopes = scopes.unwrap_or(record.scopes);
                // A disk that is full must not cost the connection; the next renewal writes again.
                let _ = store.write(&record).await;
                self.hold(Some(record));
                Ok(Some(token))
            }
            Err(AuthError::InvalidGrant) => {
                record.tokens = None;
                let written = store.write(&record).await;
                self.hold(Some(record));
                written.map(|()| None)
            }
            failed => {
                self.known().retry_at = Some(Instant::now() + RETRY_AFTER);
                let is_usable = matches!(need, Need::Current) && !tokens.is_expired(now());
                match failed {
                    _ if is_usable => Ok(Some(tokens.access)),
                    Err(error) if error.is_transient() => Err(error),
                    // Nothing but a new sign-in helps; the server will say so.
                    _ => Ok(None),
                }
            }
        }
    }

    /// Newer tokens, where there is a refresh token.
    async fn refresh(
        &self,
        record: &TokenRecord,
        tokens: &Tokens,
    ) -> Result<Option<(Tokens, Option<Vec<String>>)>, AuthError> {
        let Some(refresh) = &tokens.refresh else {
            return Ok(None);
        };
        let options = &self.options;
        let making = || CheckedHttp::new(&options.server, Arc::clone(&options.resolver));
        let http = self.http.get_or_try_init(making).await?;
        let by_hand = options.client.as_ref().and_then(|it| it.secret.clone());
        let client = ClientIdentity {
            secret: by_hand.or_else(|| record.client.secret.clone()),
            ..record.client.clone()
        };
        let endpoint = TokenEndpoint {
            http,
            metadata: &record.metadata,
            client: &client,
            resource: &record.resource,
        };
        let given = endpoint.refresh(refresh).await?;
        Ok(Some((given.tokens, given.scopes)))
    }

    /// Renews the token whenever it is due, also while nobody asks for it.
    async fn keep_current(self: Arc<Self>) {
        loop {
            let pause = self.until_due();
            tokio::select! {
                () = self.changed.notified() => continue,
                () = async {
                    match pause {
                        Some(pause) => sleep(pause).await,
                        None => std::future::pending().await,
                    }
                } => {}
            }
            // Whoever asks next hears of a failure.
            let _ = self.current().await;
        }
    }

    /// How long until the token has to be renewed. None where there is nothing to be renewed.
    fn until_due(&self) -> Option<Duration> {
        let known = self.known();
        let tokens = known.record.as_ref()?.tokens.as_ref()?;
        tokens.refresh.as_ref()?;
        let due = Duration::from_secs(tokens.due_at()?.saturating_sub(now()));
        let rest = known
            .retry_at
            .map(|it| it.saturating_duration_since(Instant::now()));
        // A token without any life must not become a storm.
        Some(
            due.max(rest.unwrap_or_default())
                .max(Duration::from_secs(1)),
        )
    }
}

/// A record on disk, unless the same one in memory has newer tokens: the disk may have been full.
fn newer(stored: TokenRecord, held: TokenRecord) -> TokenRecord {
    let is_same = (&stored.issuer, &stored.resource) == (&held.issuer, &held.resource)
        && stored.signed_in_at == held.signed_in_at;
    let issued = |record: &TokenRecord| record.tokens.as_ref().map(|it| it.issued_at);
    match is_same && issued(&stored).is_some() && issued(&held) > issued(&stored) {
        true => held,
        false => stored,
    }
}
