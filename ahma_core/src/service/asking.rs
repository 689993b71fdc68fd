//! Questions of servers behind this one, put to the client whose call they work on. Must not answer one itself.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, ClientResult, CustomRequest, RequestId, ServerRequest};
use rmcp::service::{
    OriginatingRequestId, Peer, PeerRequestOptions, RequestContext, RequestHandle, ServiceError,
};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::revision::is_stateless;
use crate::registry::{AskClient, AskError, Asking};

/// A person may think for so long.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
const NOT_DECLARED: &str = "the client of this call does not declare the capability `elicitation`";

/// How the client of a request can be asked.
pub(super) fn of(
    context: &RequestContext<RoleServer>,
    key: &str,
    request: &CallToolRequestParams,
) -> Asking {
    let capability = context.client_capabilities().and_then(|it| it.elicitation);
    if is_stateless(context) {
        let mut answers = Map::new();
        if let Some(responses) = &request.input_responses {
            answers.insert("inputResponses".to_owned(), json!(responses));
        }
        if let Some(state) = &request.request_state {
            answers.insert("requestState".to_owned(), json!(state));
        }
        let capability = capability.map_or(Value::Null, |it| json!(it));
        return Asking::ByResult {
            capability,
            answers,
        };
    }
    let Some(capability) = capability else {
        return Asking::Never(NOT_DECLARED);
    };
    Asking::ByRequest(Arc::new(ClientWithSession {
        peer: context.peer.clone(),
        call: context.id.clone(),
        key: key.to_owned(),
        takes_urls: capability.url.is_some(),
    }))
}

/// A client of 2025-11-25 or earlier.
#[derive(Debug)]
struct ClientWithSession {
    peer: Peer<RoleServer>,
    /// The request that it waits for.
    call: RequestId,
    key: String,
    takes_urls: bool,
}

impl AskClient for ClientWithSession {
    fn key(&self) -> &str {
        &self.key
    }

    fn takes_urls(&self) -> bool {
        self.takes_urls
    }

    fn ask(&self, params: Value) -> BoxFuture<'static, Result<Value, AskError>> {
        let (peer, call, takes_urls) = (self.peer.clone(), self.call.clone(), self.takes_urls);
        Box::pin(async move {
            if params["mode"] == "url" && !takes_urls {
                return Err(error(
                    -32602,
                    "the client of this call opens no URLs for questions",
                ));
            }
            let mut request = CustomRequest::new("elicitation/create", Some(params));
            // The SDK would note it by itself only in the task of the request. Over HTTP the question travels with its answer:
            // not every client listens to what belongs to no request.
            request.extensions.insert(OriginatingRequestId(call));
            put(&peer, request).await
        })
    }
}

/// Sends a request to a client of 2025-11-25 or earlier, and waits for its answer. Dropping the future takes the request back.
pub(super) async fn request(
    peer: &Peer<RoleServer>,
    method: &str,
    params: Option<Value>,
) -> Result<Value, AskError> {
    put(peer, CustomRequest::new(method, params)).await
}

async fn put(peer: &Peer<RoleServer>, request: CustomRequest) -> Result<Value, AskError> {
    let request = ServerRequest::CustomRequest(request);
    let options = PeerRequestOptions::no_options();
    let asked = peer.send_request_with_option(request, options).await;
    let asked = asked.map_err(|it| not_answered(&it))?;
    match answered(asked).await {
        Ok(ClientResult::CustomResult(result)) => Ok(result.0),
        Ok(result) => serde_json::to_value(result).map_err(|it| error(-32603, it.to_string())),
        Err(why) => Err(not_answered(&why)),
    }
}

/// Waits for the answer; takes the question back when nobody waits for it any more.
async fn answered(mut asked: RequestHandle<RoleServer>) -> Result<ClientResult, ServiceError> {
    // Dropped with whoever waits.
    let (_waits, gone) = oneshot::channel::<()>();
    let waiting = tokio::spawn(async move {
        let why = tokio::select! {
            answer = &mut asked.rx => return answer.unwrap_or(Err(ServiceError::TransportClosed)),
            _ = gone => "the call has ended",
            () = sleep(PATIENCE) => "nobody has answered",
        };
        let reason = Some(why.to_owned());
        let _ = asked.cancel(reason.clone()).await;
        Err(ServiceError::Cancelled { reason })
    });
    waiting.await.unwrap_or(Err(ServiceError::TransportClosed))
}

fn not_answered(why: &ServiceError) -> AskError {
    match why {
        ServiceError::McpError(refused) => error(refused.code.0, refused.message.to_string()),
        why => error(-32603, format!("the client did not answer: {why}")),
    }
}

fn error(code: i32, message: impl Into<String>) -> AskError {
    AskError {
        code,
        message: message.into(),
    }
}
