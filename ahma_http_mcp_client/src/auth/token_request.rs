//! What is asked of a token endpoint: tokens for a code, and newer ones for a refresh token.

use oauth2::basic::{
    BasicClient, BasicErrorResponseType, BasicRequestTokenError, BasicTokenResponse, BasicTokenType,
};
use oauth2::{
    AuthType, AuthorizationCode, ClientId, ClientSecret, EndpointNotSet, EndpointSet,
    PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError, TokenResponse as _, TokenUrl,
};
use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::Value;

use super::checked_http::CheckedHttp;
use super::error::{AuthError, shown};
use super::record::{ClientIdentity, Tokens, now};
use crate::secret::Secret;

type Requester =
    BasicClient<EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// A client at a token endpoint.
pub(super) struct TokenEndpoint<'t> {
    pub(super) http: &'t CheckedHttp,
    pub(super) metadata: &'t AuthorizationMetadata,
    pub(super) client: &'t ClientIdentity,
    /// What tokens are for.
    pub(super) resource: &'t str,
}

/// What a token endpoint gave.
pub(super) struct Given {
    pub(super) tokens: Tokens,
    /// What is granted, where it says so.
    pub(super) scopes: Option<Vec<String>>,
}

impl TokenEndpoint<'_> {
    /// Tokens for a code.
    pub(super) async fn exchange(
        &self,
        code: &Secret,
        verifier: String,
        redirect_uri: &str,
    ) -> Result<Given, AuthError> {
        let redirect_uri = RedirectUrl::new(redirect_uri.to_owned())
            .map_err(|_| AuthError::Redirect("its URL cannot be read".to_owned()))?;
        let requester = self.requester()?.set_redirect_uri(redirect_uri);
        let request = requester
            .exchange_code(AuthorizationCode::new(code.reveal().to_owned()))
            .set_pkce_verifier(PkceCodeVerifier::new(verifier))
            .add_extra_param("resource", self.resource);
        given(request.request_async(self.http).await)
    }

    /// Newer tokens. The scopes stay what they are.
    pub(super) async fn refresh(&self, refresh: &Secret) -> Result<Given, AuthError> {
        let old = RefreshToken::new(refresh.reveal().to_owned());
        let requester = self.requester()?;
        let request = requester
            .exchange_refresh_token(&old)
            .add_extra_param("resource", self.resource);
        let mut given = given(request.request_async(self.http).await)?;
        // Whoever gives no new one means the old one.
        given.tokens.refresh.get_or_insert_with(|| refresh.clone());
        Ok(given)
    }

    fn requester(&self) -> Result<Requester, AuthError> {
        let endpoint = TokenUrl::new(self.metadata.token_endpoint.clone())
            .map_err(|_| AuthError::Token("no token endpoint".to_owned()))?;
        let mut requester = BasicClient::new(ClientId::new(self.client.id.clone()))
            .set_token_uri(endpoint)
            .set_auth_type(self.auth_type());
        if let Some(secret) = &self.client.secret {
            requester = requester.set_client_secret(ClientSecret::new(secret.reveal().to_owned()));
        }
        Ok(requester)
    }

    /// Where a secret is put: into a header, unless the server takes it in the body only.
    fn auth_type(&self) -> AuthType {
        let fields = &self.metadata.additional_fields;
        let methods = fields.get("token_endpoint_auth_methods_supported");
        let methods = methods.and_then(Value::as_array);
        let has = |name: &str| methods.is_some_and(|it| it.iter().any(|method| method == name));
        match has("client_secret_post") && !has("client_secret_basic") {
            true => AuthType::RequestBody,
            false => AuthType::BasicAuth,
        }
    }
}

fn given(
    answer: Result<BasicTokenResponse, BasicRequestTokenError<AuthError>>,
) -> Result<Given, AuthError> {
    let answer = answer.map_err(|error| match error {
        RequestTokenError::Request(error) => error,
        RequestTokenError::ServerResponse(error) => match error.error() {
            BasicErrorResponseType::InvalidGrant => AuthError::InvalidGrant,
            // What it says beside its code may repeat what it was told.
            code => AuthError::Token(shown(code.as_ref())),
        },
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
            AuthError::Transient("the token endpoint's answer cannot be read".to_owned())
        }
    })?;
    if !matches!(answer.token_type(), BasicTokenType::Bearer) {
        return Err(AuthError::Token("not a bearer token".to_owned()));
    }
    let issued_at = now();
    let life = answer.expires_in().map(|it| it.as_secs());
    let tokens = Tokens {
        access: Secret::new(answer.access_token().secret()),
        refresh: answer.refresh_token().map(|it| Secret::new(it.secret())),
        issued_at,
        expires_at: life.map(|life| issued_at.saturating_add(life)),
    };
    let tokens = tokens.bounded();
    let scopes = answer.scopes();
    let scopes = scopes.map(|it| it.iter().map(|scope| scope.to_string()).collect());
    Ok(Given { tokens, scopes })
}
