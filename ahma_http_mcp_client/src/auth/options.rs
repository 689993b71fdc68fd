//! What a sign-in, and the renewal of its tokens, have to know of a server.

use std::sync::Arc;

use reqwest::Url;

use super::error::AuthError;
use super::resolver::{Resolver, SystemResolver};
use super::store::TokenStore;
use crate::secret::Secret;

/// A client that somebody has registered by hand.
#[derive(Debug, Clone)]
pub struct RegisteredClient {
    /// Its id.
    pub id: String,
    /// Its secret, if it has one. It is never stored.
    pub secret: Option<Secret>,
    /// The authorization server that it is registered with; a server that sends elsewhere is not told of it.
    pub issuer: Option<String>,
}

/// What has to be known of a server.
#[derive(Clone)]
pub struct AuthOptions {
    /// Its URL, as far as it names a resource.
    pub(super) server: Url,
    pub(super) store: TokenStore,
    pub(super) client: Option<RegisteredClient>,
    pub(super) client_metadata_url: Option<Url>,
    pub(super) client_name: String,
    pub(super) redirect_uri: Option<Url>,
    pub(super) resolver: Arc<dyn Resolver>,
    pub(super) listens: bool,
}

impl AuthOptions {
    /// For the server at a URL, whose tokens are kept in a store.
    pub fn new(server: &str, store: TokenStore) -> Result<Self, AuthError> {
        let wrong = |_| AuthError::Discovery {
            server: super::error::shown(server.split(['?', '#']).next().unwrap_or_default()),
            what: "it is not a URL".to_owned(),
        };
        let mut server: Url = server.parse().map_err(wrong)?;
        // A key in it is for the server only.
        server.set_query(None);
        server.set_fragment(None);
        Ok(AuthOptions {
            server,
            store,
            client: None,
            client_metadata_url: None,
            client_name: "ahma_mcp".to_owned(),
            redirect_uri: None,
            resolver: Arc::new(SystemResolver),
            listens: true,
        })
    }

    /// With a client that was registered by hand.
    pub fn with_client(self, client: RegisteredClient) -> Self {
        let client = Some(client);
        AuthOptions { client, ..self }
    }

    /// With the https URL of a document that describes this client, for authorization servers that read such documents.
    pub fn with_client_metadata_url(self, url: Url) -> Self {
        let client_metadata_url = Some(url);
        AuthOptions {
            client_metadata_url,
            ..self
        }
    }

    /// With another name than `ahma_mcp`, as people read it when they sign in.
    pub fn with_client_name(self, name: impl Into<String>) -> Self {
        let client_name = name.into();
        AuthOptions {
            client_name,
            ..self
        }
    }

    /// With a redirect URI that was registered by hand, such as `http://localhost:8080/callback`. One that does not lead to
    /// this machine is not listened on: the answer has to be pasted.
    pub fn with_redirect_uri(self, redirect_uri: Url) -> Self {
        let redirect_uri = Some(redirect_uri);
        AuthOptions {
            redirect_uri,
            ..self
        }
    }

    /// Without a port that waits for the browser: the answer has to be pasted.
    pub fn without_listener(self) -> Self {
        AuthOptions {
            listens: false,
            ..self
        }
    }

    /// With another way to find the addresses of names.
    pub fn with_resolver(self, resolver: Arc<dyn Resolver>) -> Self {
        AuthOptions { resolver, ..self }
    }
}
