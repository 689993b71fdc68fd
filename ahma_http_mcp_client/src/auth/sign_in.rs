//! One sign-in, from the question of how to do it to the record on disk. Nothing is stored before all of it has gone well, and
//! an earlier sign-in stays what it is until then.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{AuthorizationMetadata, OAuthClientConfig, StateStore as _};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use super::callback::{CallbackListener, Page};
use super::challenge::Challenge;
use super::checked_http::CheckedHttp;
use super::discovery::{self, Found};
use super::error::{AuthError, place, shown};
use super::options::AuthOptions;
use super::record::{ClientIdentity, Place, Registration, SignInStatus, TokenRecord, now};
use super::redirect::Redirect;
use super::registration;
use super::token_request::TokenEndpoint;
use crate::secret::Secret;

/// A sign-in that waits for somebody to open its URL.
pub struct SignIn {
    options: AuthOptions,
    url: Url,
    state: Secret,
    listener: Option<CallbackListener>,
    /// Taken by the first answer.
    pending: Mutex<Option<Pending>>,
}

/// What the answer needs to be of use.
struct Pending {
    http: Arc<CheckedHttp>,
    metadata: AuthorizationMetadata,
    issuer: String,
    resource: String,
    client: ClientIdentity,
    redirect_uri: String,
    verifier: Secret,
    /// What the answer may say of its sender, and whether it must.
    expected_issuer: Option<String>,
    must_name_issuer: bool,
    scopes: Vec<String>,
}

impl SignIn {
    /// Finds out how to sign in to a server. `challenge` is what it said when it refused a request. Where it asked for
    /// further scopes, those that are granted already are asked for again with them.
    pub async fn begin(options: AuthOptions, challenge: Option<&str>) -> Result<Self, AuthError> {
        let http = CheckedHttp::new(&options.server, Arc::clone(&options.resolver)).await?;
        let http = Arc::new(http);
        http.check(&options.server).await?;
        // A keyring that cannot be used does not keep anybody from signing in anew.
        let earlier = options.store.find(&options.server).await.ok().flatten();
        let step_up = step_up(earlier.as_ref(), challenge)?;
        let mut found = discovery::find(&http, &options.server, challenge).await?;
        let scopes = match step_up {
            Some(scopes) => with_offline_access(scopes, &found.metadata),
            None => found.manager.select_initial_scopes(&[]).await,
        };
        let names: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let redirect_uri = options.redirect_uri.as_ref();
        let (listener, redirect_uri) = match (options.listens, redirect_uri) {
            (false, Some(uri)) => (None, uri.to_string()),
            _ => CallbackListener::bind(redirect_uri).await?,
        };
        let client = registration::register(
            &options,
            &mut found,
            &http,
            &redirect_uri,
            &names,
            earlier.as_ref(),
        )
        .await?;
        let (url, state) = authorization_url(&mut found, &client, &redirect_uri, &names).await?;
        http.check(&url).await?;
        let unknown = |what: &str| AuthError::Discovery {
            server: place(&options.server),
            what: what.to_owned(),
        };
        let stored = found.states.load(state.reveal()).await.ok().flatten();
        let stored = stored.ok_or_else(|| unknown("its authorization URL has lost its state"))?;
        let resource = last(&url, "resource").unwrap_or_else(|| options.server.to_string());
        let pending = Pending {
            http,
            metadata: found.metadata,
            issuer: found.issuer,
            resource,
            client,
            redirect_uri,
            verifier: Secret::new(stored.pkce_verifier),
            expected_issuer: stored.expected_issuer,
            must_name_issuer: stored.require_issuer,
            scopes,
        };
        Ok(SignIn {
            options,
            url,
            state,
            listener,
            pending: Mutex::new(Some(pending)),
        })
    }

    /// The URL that somebody has to open. It is http or https, and has been checked.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Whether the browser is waited for; otherwise the answer has to be pasted.
    pub fn is_listening(&self) -> bool {
        self.listener.is_some()
    }

    /// Waits for the browser to come back, and stores the tokens. The browser is shown what came of it.
    pub async fn wait(&self, limit: Duration) -> Result<SignInStatus, AuthError> {
        let Some(listener) = &self.listener else {
            sleep(limit).await;
            return Err(AuthError::Timeout(limit));
        };
        let arrival = timeout(limit, listener.arrival(&self.state)).await;
        let mut arrival = arrival.map_err(|_| AuthError::Timeout(limit))??;
        let outcome = self.finish(&mut arrival.redirect).await;
        let server = place(&self.options.server);
        let page = match &outcome {
            Ok(_) => Page::signed_in(&self.options.client_name, &server),
            Err(error) => Page::failed(&server, &error.to_string(), error.hint()),
        };
        arrival.show(page).await;
        outcome
    }

    /// Takes the URL that the browser was sent to, as somebody has pasted it, and stores the tokens. One that does not belong
    /// to this sign-in changes nothing: it can be tried again.
    pub async fn redirected(&self, pasted: &str) -> Result<SignInStatus, AuthError> {
        let mut redirect = Redirect::parse(pasted, &self.state)?;
        self.finish(&mut redirect).await
    }

    async fn finish(&self, redirect: &mut Redirect) -> Result<SignInStatus, AuthError> {
        let pending = self.pending.lock().await.take().ok_or(AuthError::Over)?;
        pending.check_issuer(redirect.issuer.as_deref())?;
        let code = match &redirect.outcome {
            Ok(code) => code,
            Err(denied) => return Err(AuthError::Denied(denied.clone())),
        };
        let endpoint = TokenEndpoint {
            http: &pending.http,
            metadata: &pending.metadata,
            client: &pending.client,
            resource: &pending.resource,
        };
        let verifier = pending.verifier.reveal().to_owned();
        let given = endpoint
            .exchange(code, verifier, &pending.redirect_uri)
            .await?;
        let is_by_hand = pending.client.registration == Registration::ByHand;
        let client = ClientIdentity {
            // What is in somebody's configuration does not belong into our files.
            secret: pending.client.secret.filter(|_| !is_by_hand),
            ..pending.client
        };
        let mut record = TokenRecord {
            issuer: pending.issuer,
            resource: pending.resource,
            client,
            metadata: pending.metadata,
            // Where nothing is said of it, what was asked for is granted.
            scopes: given.scopes.unwrap_or(pending.scopes),
            signed_in_at: now(),
            tokens: Some(given.tokens),
            place: Place::default(),
        };
        self.options.store.write_new(&mut record).await?;
        Ok(self.options.store.status_of(&record))
    }
}

impl Pending {
    /// Whether the answer comes from the authorization server that was asked (RFC 9207).
    fn check_issuer(&self, received: Option<&str>) -> Result<(), AuthError> {
        let is_right = match (received, &self.expected_issuer) {
            (None, _) => !self.must_name_issuer,
            (Some(received), Some(expected)) => received == expected,
            (Some(_), None) => false,
        };
        match is_right {
            true => Ok(()),
            false => Err(AuthError::Issuer {
                expected: shown(&self.issuer),
                received: received.map_or("somebody without a name".to_owned(), shown),
            }),
        }
    }
}

/// The scopes to ask for when a server wants more than it has been given.
fn step_up(
    earlier: Option<&TokenRecord>,
    challenge: Option<&str>,
) -> Result<Option<Vec<String>>, AuthError> {
    let challenge = challenge.map(Challenge::parse).unwrap_or_default();
    let is_meant = challenge.is_insufficient_scope && !challenge.scopes.is_empty();
    let Some(earlier) = earlier.filter(|_| is_meant) else {
        return Ok(None);
    };
    let mut scopes = earlier.scopes.clone();
    let granted = scopes.len();
    for scope in challenge.scopes {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    match scopes.len() == granted {
        true => Err(AuthError::Granted(shown(&scopes.join(" ")))),
        false => Ok(Some(scopes)),
    }
}

/// Adds what some servers want to be asked for before they give a refresh token, as the SDK does.
fn with_offline_access(mut scopes: Vec<String>, metadata: &AuthorizationMetadata) -> Vec<String> {
    let name = "offline_access";
    let offered = metadata.scopes_supported.as_deref().unwrap_or_default();
    if offered.iter().any(|it| it == name) && !scopes.iter().any(|it| it == name) {
        scopes.push(name.to_owned());
    }
    scopes
}

async fn authorization_url(
    found: &mut Found,
    client: &ClientIdentity,
    redirect_uri: &str,
    scopes: &[&str],
) -> Result<(Url, Secret), AuthError> {
    let unknown = |what: String| AuthError::Discovery {
        server: shown(&found.issuer),
        what: shown(&what),
    };
    let config = OAuthClientConfig::new(client.id.clone(), redirect_uri);
    let configured = found.manager.configure_client(config);
    configured.map_err(|error| unknown(error.to_string()))?;
    let url = found.manager.get_authorization_url(scopes).await;
    let url = url.map_err(|error| unknown(error.to_string()))?;
    let url: Url = url
        .parse()
        .map_err(|_| unknown("its authorization URL is none".to_owned()))?;
    let state = last(&url, "state");
    let state = state.ok_or_else(|| unknown("its authorization URL has no state".to_owned()))?;
    Ok((url, Secret::new(state)))
}

/// A parameter of a URL. What a server has put there comes before what was added here.
fn last(url: &Url, name: &str) -> Option<String> {
    let values = url.query_pairs().filter(|(key, _)| key == name);
    values.last().map(|(_, value)| value.into_owned())
}
