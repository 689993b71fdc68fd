//! The authorization server of an MCP server: found by the SDK, then looked at before anything is opened or told.

use std::sync::Arc;

use reqwest::Url;
use rmcp::transport::auth::{
    AuthError as SdkError, AuthorizationManager, AuthorizationMetadata, InMemoryStateStore,
};

use super::checked_http::CheckedHttp;
use super::error::{AuthError, place, shown};

/// An authorization server.
pub(super) struct Found {
    pub(super) manager: AuthorizationManager,
    /// What the manager remembers of the URLs it makes.
    pub(super) states: InMemoryStateStore,
    pub(super) metadata: AuthorizationMetadata,
    /// Its name; the origin of the server where it has none.
    pub(super) issuer: String,
}

/// Finds the authorization server of a server, by the challenge that it gave if there is one.
pub(super) async fn find(
    http: &Arc<CheckedHttp>,
    server: &Url,
    challenge: Option<&str>,
) -> Result<Found, AuthError> {
    let unknown = |what: String| AuthError::Discovery {
        server: place(server),
        what: shown(&what),
    };
    let by_sdk = |error: SdkError| match http.take_refusal() {
        Some(refusal) => refusal,
        None => unknown(error.to_string()),
    };
    let client = Arc::clone(http);
    let manager = AuthorizationManager::new_with_oauth_http_client(server.clone(), client).await;
    let mut manager = manager.map_err(by_sdk)?;
    let states = InMemoryStateStore::new();
    manager.set_state_store(states.clone());
    let resolution = manager.resolve_metadata_from_challenge(challenge).await;
    let resolution = resolution.map_err(by_sdk)?;
    let metadata = resolution.metadata;
    let methods = metadata.code_challenge_methods_supported.as_deref();
    let knows_s256 = methods.is_some_and(|it| it.iter().any(|method| method == "S256"));
    // Endpoints that were guessed come from a time when nothing was said of it.
    if !knows_s256 && resolution.source.is_discovered() {
        let what = "the authorization server does not say that it supports PKCE with S256";
        return Err(unknown(what.to_owned()));
    }
    // They may be at other origins than the issuer: its metadata is its own word, and codes are bound by PKCE.
    for endpoint in [&metadata.authorization_endpoint, &metadata.token_endpoint] {
        let url: Url = endpoint
            .parse()
            .map_err(|_| unknown(format!("an endpoint of it is not a URL: {endpoint}")))?;
        http.check(&url).await?;
    }
    let origin = server.origin().ascii_serialization();
    let issuer = metadata.issuer.clone().unwrap_or(origin);
    manager.set_metadata(metadata.clone());
    Ok(Found {
        manager,
        states,
        metadata,
        issuer,
    })
}
