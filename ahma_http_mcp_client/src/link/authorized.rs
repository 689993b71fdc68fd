//! Requests with the token of whoever is signed in, sent once more where another token may help.
//!
//! A request that was refused for its token has not run, so it can be sent again. A token is not sent where others can read it.

use std::sync::Arc;

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use reqwest::{RequestBuilder, Response, Url};

use super::http_failure::not_reached;
use crate::auth::Challenge;
use crate::authorization::{Authorization, Refusal};
use crate::http::is_here;
use crate::request_error::RequestError;
use crate::secret::Secret;

/// Sends requests, with tokens where there are any.
pub(crate) struct Authorized(Option<Arc<dyn Authorization>>);

impl Authorized {
    /// Sends to a URL, over a connection that others may be able to read.
    pub(crate) fn new(
        authorization: Option<Arc<dyn Authorization>>,
        url: &Url,
    ) -> Result<Self, RequestError> {
        let is_private = url.scheme() == "https" || is_here(url);
        match authorization.is_some() && !is_private {
            true => Err(RequestError::not_sent(
                "a token is sent over https only, or to this machine",
            )),
            false => Ok(Authorized(authorization)),
        }
    }

    /// Sends a request.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Response, RequestError> {
        let Some(authorization) = &self.0 else {
            return sent(request, None).await;
        };
        let again = request.try_clone();
        let token = authorization.token().await?;
        let response = sent(request, token.as_ref()).await?;
        let (Some(refusal), Some(again)) = (refusal(&response), again) else {
            if let Some(token) = &token {
                authorization.accepted(token);
            }
            return Ok(response);
        };
        match authorization.refused(token, refusal).await? {
            None => Ok(response),
            Some(other) => {
                let response = sent(again, Some(&other)).await?;
                if response.status() != StatusCode::UNAUTHORIZED {
                    authorization.accepted(&other);
                }
                Ok(response)
            }
        }
    }
}

async fn sent(request: RequestBuilder, token: Option<&Secret>) -> Result<Response, RequestError> {
    let (client, request) = request.build_split();
    let mut request = request.map_err(|error| not_reached(&error))?;
    if let Some(token) = token {
        let value = HeaderValue::try_from(format!("Bearer {}", token.reveal()));
        let mut value = value.map_err(|_| RequestError::not_sent("the token cannot be sent"))?;
        value.set_sensitive(true);
        // In place of one that was configured.
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    let response = client.execute(request).await;
    response.map_err(|error| not_reached(&error))
}

/// Whether a server wants to know who asks, or wants more of whoever does. A 403 that does not say so is about something else.
pub(super) fn refusal(response: &Response) -> Option<Refusal> {
    let wants_more =
        || challenge(response).is_some_and(|it| Challenge::parse(&it).is_insufficient_scope);
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(Refusal::Token),
        StatusCode::FORBIDDEN if wants_more() => Some(Refusal::Scope),
        _ => None,
    }
}

/// What a server says when it refuses a request.
pub(super) fn challenge(response: &Response) -> Option<String> {
    let headers = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let texts: Vec<&str> = headers.filter_map(|it| it.to_str().ok()).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}
