//! Calls of a server's tools: sent once, with progress, questions and an end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ahma_http_mcp_client::auth::Challenge;
use ahma_http_mcp_client::{PeerFacts, Request, RequestError};
use ahma_transport::QUESTION;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;

use super::signing_in::{SignedIn, without_our_answers};
use super::{NoConnection, Upstream};
use crate::registry::{Asking, ForeignCall, ForeignError, ForeignProgress, ForeignResult};

/// A longer result is read beside the runtime.
const LONG: usize = 256 * 1024;
/// No call takes longer, however often its client is asked.
const LONGEST: Duration = Duration::from_secs(6 * 3600);
const RESULT_TYPE: &str = "resultType";
const BY_RESULTS: &str = "servers of 2026-07-28 ask by results";

#[derive(Deserialize)]
struct Progress {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

impl Upstream {
    /// Calls a tool.
    pub(in super::super) async fn call(
        self: &Arc<Self>,
        tool: &str,
        call: ForeignCall,
    ) -> Result<ForeignResult, ForeignError> {
        tokio::select! {
            biased;
            why = self.retired() => Err(ForeignError::Unavailable(format!(
                "the call was given up: {why}. It may have done what was asked; look before you try again"
            ))),
            called = self.call_now(tool, call) => called,
        }
    }

    async fn call_now(
        self: &Arc<Self>,
        tool: &str,
        call: ForeignCall,
    ) -> Result<ForeignResult, ForeignError> {
        let arguments = to_raw_value(&call.arguments);
        let arguments = arguments.map_err(|error| ForeignError::Refused(error.to_string()))?;
        let (mut progress, mut is_first) = (call.progress, true);
        let mut sign_ins = 0;
        loop {
            let in_use = match self.connected().await {
                Ok(in_use) => in_use,
                Err(NoConnection::Failed(why)) => return Err(ForeignError::Unavailable(why)),
                Err(NoConnection::Unauthorized(challenge)) => {
                    sign_ins += 1;
                    match self.sign_in(challenge, &call.asking, sign_ins).await? {
                        SignedIn::Done => continue,
                        SignedIn::Asks(question) => return Ok(question),
                    }
                }
            };
            let connection = &in_use.0;
            // After it has said what it offers now.
            self.refuse_held(tool, connection).await?;
            let peer = connection.client.peer();
            let mut request = Request::call(tool, &arguments);
            request.meta.clone_from(&call.meta);
            // The limit is kept here: it stands still while the client thinks.
            request.timeout = Some(LONGEST.max(self.spec.timeout));
            request.progress = progress.take().map(|mut progress| {
                let told: Box<dyn FnMut(&RawValue) + Send> = Box::new(move |params| {
                    if let Ok(now) = serde_json::from_str::<Progress>(params.get()) {
                        progress(ForeignProgress {
                            progress: now.progress,
                            total: now.total,
                            message: now.message,
                        });
                    }
                });
                told
            });
            let mut open = self.calls.open(&asking_of(peer, &call.asking));
            if peer.is_stateless {
                answer_and_declare(&mut request, &call.asking);
            }
            let answer = tokio::select! {
                biased;
                answer = connection.client.request(request) => answer,
                () = open.expired(self.spec.timeout) => Err(RequestError::Timeout(self.spec.timeout)),
            };
            // While somebody signs in, it is not at work.
            drop(open);
            match answer {
                Ok(result) => {
                    connection.has_worked.store(true, Ordering::Relaxed);
                    let result = result_of(result).await?;
                    return self.question_or_not(result, peer, &call.asking);
                }
                // It was lost before it was sent; the next connection takes it, once.
                Err(error) if is_first && error.has_not_run() && !wants_more(&error) => {
                    is_first = false;
                    self.give_up(connection, &error);
                }
                Err(RequestError::Unauthorized { challenge }) if self.can_sign_in() => {
                    sign_ins += 1;
                    match self.sign_in(challenge, &call.asking, sign_ins).await? {
                        SignedIn::Done => self.sign_in_again(connection),
                        SignedIn::Asks(question) => return Ok(question),
                    }
                }
                Err(error) => {
                    connection.notice_death(&error).await;
                    return Err(self.explained(&error));
                }
            }
        }
    }

    /// A question is passed on to a client that knows such questions; to no other one.
    pub(super) fn question_or_not(
        &self,
        mut result: Map<String, Value>,
        peer: &PeerFacts,
        asking: &Asking,
    ) -> Result<ForeignResult, ForeignError> {
        let is_question =
            peer.is_stateless && result.get(RESULT_TYPE).is_some_and(|it| it == QUESTION);
        if !is_question {
            result.shift_remove(RESULT_TYPE);
            return Ok(ForeignResult(result));
        }
        let why = match asking {
            Asking::ByResult { capability, .. } if !capability.is_null() => {
                return Ok(ForeignResult(result));
            }
            Asking::ByResult { .. } => {
                "the client of this call does not declare the capability `elicitation`"
            }
            Asking::ByRequest(_) => {
                "it asks in the way of 2026-07-28, which the client of this call does not speak"
            }
            Asking::Never(why) => why,
        };
        Err(ForeignError::Refused(format!(
            "the server `{}` has a question and cannot go on: {why}. Use a client that can be asked, or give the server what \
             it asks for in the arguments",
            self.name()
        )))
    }

    pub(super) fn explained(&self, error: &RequestError) -> ForeignError {
        let server = self.name();
        match error {
            RequestError::Refused(error) => ForeignError::Refused(format!(
                "the server `{server}` answered with error {}: {}",
                error.code, error.message
            )),
            RequestError::Unauthorized { .. } => ForeignError::Unavailable(format!(
                "the server `{server}` wants a token, or another one than it was shown; its owner has to give one in `headers`"
            )),
            RequestError::Forbidden(said) => ForeignError::Refused(format!(
                "the server `{server}` refuses the call with status 403 Forbidden: {said}. Ask whoever runs it what is missing"
            )),
            error if error.has_not_run() => ForeignError::Unavailable(format!(
                "the server `{server}` could not be asked: {error}. Nothing was done"
            )),
            error => {
                let last = self.stderr.last_line();
                let said = last
                    .map(|it| format!("; it said: {it}"))
                    .unwrap_or_default();
                ForeignError::Unavailable(format!(
                    "the server `{server}` gave no result: {error}{said}. It may have done what was asked; look before you try again"
                ))
            }
        }
    }
}

/// Whether the token is good, but does not allow enough: in another conversation it would not either.
fn wants_more(error: &RequestError) -> bool {
    matches!(error, RequestError::Unauthorized { challenge: Some(challenge) }
        if Challenge::parse(challenge).is_insufficient_scope)
}

/// How a server may ask by requests.
fn asking_of(peer: &PeerFacts, asking: &Asking) -> Asking {
    match peer.is_stateless {
        true => Asking::Never(BY_RESULTS),
        false => asking.clone(),
    }
}

/// Tells a server of 2026-07-28 whether the client can be asked, and what it has answered.
fn answer_and_declare(request: &mut Request<'_>, asking: &Asking) {
    request.capabilities = Some(json!({}));
    if let Asking::ByResult {
        capability,
        answers,
    } = asking
    {
        if !capability.is_null() {
            request.capabilities = Some(json!({ "elicitation": capability }));
        }
        for (name, value) in without_our_answers(answers) {
            request.params = std::mem::take(&mut request.params).with(&name, &value);
        }
    }
}

/// What a result holds. A long one is read beside the runtime: its length, the server decides.
pub(super) async fn result_of(result: Box<RawValue>) -> Result<Map<String, Value>, ForeignError> {
    let read = |result: &RawValue| match serde_json::from_str(result.get()) {
        Ok(Value::Object(result)) => Ok(result),
        _ => Err(ForeignError::Refused(
            "its result is not an object".to_owned(),
        )),
    };
    if result.get().len() <= LONG {
        return read(&result);
    }
    let reading = spawn_blocking(move || read(&result));
    let stopping = |_| ForeignError::Unavailable("the server is stopping".to_owned());
    reading.await.map_err(stopping)?
}
