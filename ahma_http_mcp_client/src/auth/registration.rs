//! How this program becomes known to an authorization server: by a registration that somebody made, else by a document that
//! describes it, else by asking to be registered.

use reqwest::Url;
use serde_json::Value;

use super::checked_http::CheckedHttp;
use super::discovery::Found;
use super::error::{AuthError, shown};
use super::options::AuthOptions;
use super::record::{ClientIdentity, Registration, TokenRecord};
use crate::secret::Secret;

/// Who we are to an authorization server. `earlier` is an earlier sign-in to the same server.
pub(super) async fn register(
    options: &AuthOptions,
    found: &mut Found,
    http: &CheckedHttp,
    redirect_uri: &str,
    scopes: &[&str],
    earlier: Option<&TokenRecord>,
) -> Result<ClientIdentity, AuthError> {
    if let Some(client) = &options.client {
        // Where nothing is said of it, the first one that it was used with counts: a server that is taken over must not
        // have the secret sent to somebody else.
        let earlier = earlier.filter(|it| it.client.id == client.id);
        let earlier = earlier.map(|it| &it.issuer);
        return match client.issuer.as_ref().or(earlier) {
            Some(expected) if *expected != found.issuer => Err(AuthError::OtherIssuer {
                expected: shown(expected),
                issuer: shown(&found.issuer),
            }),
            _ => Ok(ClientIdentity {
                id: client.id.clone(),
                secret: client.secret.clone(),
                registration: Registration::ByHand,
            }),
        };
    }
    let fields = &found.metadata.additional_fields;
    let reads_documents =
        fields.get("client_id_metadata_document_supported") == Some(&Value::Bool(true));
    if let Some(url) = options
        .client_metadata_url
        .as_ref()
        .filter(|_| reads_documents)
    {
        if url.scheme() != "https" || url.path() == "/" {
            let what = "a document that describes a client has an https URL with a path";
            return Err(AuthError::url(url, what));
        }
        return Ok(ClientIdentity {
            id: url.to_string(),
            secret: None,
            registration: Registration::MetadataDocument,
        });
    }
    if let Some(endpoint) = &found.metadata.registration_endpoint {
        let url: Url = endpoint.parse().map_err(|_| AuthError::Registration {
            issuer: shown(&found.issuer),
            what: "its registration endpoint is not a URL".to_owned(),
        })?;
        http.check(&url).await?;
    }
    let registering = found
        .manager
        .register_client(&options.client_name, redirect_uri, scopes);
    let registered = registering
        .await
        .map_err(|error| match http.take_refusal() {
            Some(refusal) => refusal,
            None => AuthError::Registration {
                issuer: shown(&found.issuer),
                what: shown(&error.to_string()),
            },
        })?;
    Ok(ClientIdentity {
        id: registered.client_id,
        secret: registered.client_secret.map(Secret::new),
        registration: Registration::Dynamic,
    })
}
