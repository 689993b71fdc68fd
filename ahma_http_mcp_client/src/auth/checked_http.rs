//! The HTTP client of a sign-in: sends nothing before it knows which address it goes to and that this may be, follows no
//! redirect, and reads no more than it must. Every request to an authorization server goes through it.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use oauth2::AsyncHttpClient;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use tokio::time::timeout;

use super::address::{self, Reach};
use super::error::{AuthError, place};
use super::resolver::Resolver;

/// The longest answer that is read.
const MAX_BODY: usize = 256 * 1024;
/// How long a request may take, with everything.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Sends requests on behalf of one server.
pub(super) struct CheckedHttp {
    client: Client,
    server: Url,
    reach: Reach,
    resolver: Arc<dyn Resolver>,
    admitted: Arc<Admitted>,
    /// The last request that was not sent; the SDK turns errors into texts.
    refused: Mutex<Option<AuthError>>,
}

/// The addresses that were checked. Connections are made to nothing else.
#[derive(Default)]
struct Admitted(Mutex<HashMap<String, Vec<IpAddr>>>);

impl Resolve for Admitted {
    fn resolve(&self, name: Name) -> Resolving {
        let admitted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let addresses = admitted.get(name.as_str()).cloned().unwrap_or_default();
        Box::pin(async move {
            // The port is that of the URL.
            let addresses = addresses.into_iter().map(|it| SocketAddr::new(it, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

impl CheckedHttp {
    /// On behalf of the server at a URL.
    pub(super) async fn new(server: &Url, resolver: Arc<dyn Resolver>) -> Result<Self, AuthError> {
        checked_form(server)?;
        let addresses = addresses(server, &*resolver).await?;
        let admitted = Arc::new(Admitted::default());
        let client = Client::builder()
            .redirect(Policy::none())
            .pool_max_idle_per_host(0)
            .no_proxy()
            .dns_resolver(Arc::clone(&admitted))
            .build()
            .map_err(|error| AuthError::Transient(error.to_string()))?;
        Ok(CheckedHttp {
            client,
            server: server.clone(),
            reach: Reach::of(server, &addresses),
            resolver,
            admitted,
            refused: Mutex::default(),
        })
    }

    /// Whether a URL may be asked, or opened. Connects to nothing.
    pub(super) async fn check(&self, url: &Url) -> Result<(), AuthError> {
        checked_form(url)?;
        let addresses = addresses(url, &*self.resolver).await?;
        let admission = self.reach.admits(url, &addresses);
        admission.map_err(|what| AuthError::url(url, what))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut admitted = self
            .admitted
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        admitted.insert(host, addresses);
        Ok(())
    }

    /// Why the last request was not sent, if it was not.
    pub(super) fn take_refusal(&self) -> Option<AuthError> {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.take()
    }

    /// Sends a request, and reads its answer.
    async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, AuthError> {
        let request = reqwest::Request::try_from(request)
            .map_err(|_| AuthError::Transient("a request cannot be made".to_owned()))?;
        let url = request.url().clone();
        let late = |_| {
            let seconds = TIMEOUT.as_secs();
            AuthError::Transient(format!("{} took longer than {seconds} s", place(&url)))
        };
        timeout(TIMEOUT, self.send_at_leisure(request, &url))
            .await
            .map_err(late)?
    }

    async fn send_at_leisure(
        &self,
        request: reqwest::Request,
        url: &Url,
    ) -> Result<Response<Vec<u8>>, AuthError> {
        if let Err(error) = self.check(url).await {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            refused.get_or_insert_with(|| error.clone());
            return Err(error);
        }
        let lost = |_| AuthError::Transient(format!("{} cannot be reached", place(url)));
        let mut response = self.client.execute(request).await.map_err(lost)?;
        let mut answer = Response::builder().status(response.status());
        for (name, value) in response.headers() {
            answer = answer.header(name, value);
        }
        let mut body = Vec::new();
        // The server itself is only asked for its challenge; what it says beside that may never end.
        if *url != self.server {
            while let Some(piece) = response.chunk().await.map_err(lost)? {
                if body.len() + piece.len() > MAX_BODY {
                    let what = format!("its answer is longer than {} KiB", MAX_BODY >> 10);
                    return Err(AuthError::url(url, what));
                }
                body.extend_from_slice(&piece);
            }
        }
        answer
            .body(body)
            .map_err(|_| AuthError::url(url, "its answer cannot be read"))
    }
}

/// What a URL must be, whatever it leads to.
fn checked_form(url: &Url) -> Result<(), AuthError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(AuthError::url(url, "it is neither http nor https"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(AuthError::url(url, "it has no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AuthError::url(url, "it has a user name or a password"));
    }
    if url.fragment().is_some() {
        return Err(AuthError::url(url, "it has a fragment"));
    }
    Ok(())
}

async fn addresses(url: &Url, resolver: &dyn Resolver) -> Result<Vec<IpAddr>, AuthError> {
    if let Some(address) = address::literal(url) {
        return Ok(vec![address]);
    }
    let host = url.host_str().unwrap_or_default();
    let unknown =
        |error| AuthError::Transient(format!("the name {host} cannot be resolved: {error}"));
    match timeout(TIMEOUT, resolver.resolve(host)).await {
        Ok(addresses) => addresses.map_err(unknown),
        Err(_) => Err(AuthError::Transient(format!(
            "the name {host} cannot be resolved in time"
        ))),
    }
}

impl OAuthHttpClient for CheckedHttp {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move { Ok(self.send(request.request).await?) })
    }
}

/// For token requests.
impl<'c> AsyncHttpClient<'c> for CheckedHttp {
    type Error = AuthError;
    type Future =
        std::pin::Pin<Box<dyn Future<Output = Result<Response<Vec<u8>>, AuthError>> + Send + 'c>>;

    fn call(&'c self, request: Request<Vec<u8>>) -> Self::Future {
        Box::pin(async move {
            let response = self.send(request).await?;
            let status = response.status();
            // Whatever the body says: it is not the refusal of a token.
            let is_trouble = status.is_server_error()
                || status == StatusCode::TOO_MANY_REQUESTS
                || status == StatusCode::REQUEST_TIMEOUT;
            match is_trouble {
                true => Err(AuthError::Transient(format!(
                    "the token endpoint answered with status {status}"
                ))),
                false => Ok(response),
            }
        })
    }
}
