//! Prompts and resources of other servers: fetched when they are wanted, and passed on as they came. Must not keep any.

use rmcp::model::{ErrorCode, ErrorData};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::registry::{ContentError, ContentRequest, ForeignResult};
use crate::service::call_error::CallError;
use crate::service::caller::Caller;
use crate::service::context::ServiceContext;
use crate::service::one_hop::without_reserved;

/// Has the server that offers it answer, unless the client may not make it work; none where no server offers it.
pub(crate) async fn fetched<T: DeserializeOwned>(
    context: &ServiceContext,
    request: ContentRequest,
    (caller, is_stateless): (&Caller, bool),
    may_run: impl Future<Output = Result<(), CallError>>,
) -> Result<Option<T>, ErrorData> {
    let Some(foreign) = &context.foreign else {
        return Ok(None);
    };
    let fetch = || foreign.fetch(request.clone(), caller.passed_on(), caller.session());
    let fetching = match fetch() {
        Some(fetching) => fetching,
        None => {
            // A server that nothing is known of may be about to say that it has it.
            context.foreign_settled().await;
            match fetch() {
                Some(fetching) => fetching,
                None => return Ok(None),
            }
        }
    };
    let refused = |error: CallError| ErrorData::invalid_request(error.to_string(), None);
    may_run.await.map_err(refused)?;
    let fetched = tokio::select! {
        fetched = fetching => fetched,
        why = caller.gives_up() => return Err(ErrorData::internal_error(why, None)),
    };
    let mut fetched = fetched.map_err(error)?;
    if matches!(request, ContentRequest::Resource { .. }) && is_stateless {
        // Servers of earlier revisions do not say so, and clients of this one want to hear it.
        let fields = &mut fetched.0;
        fields.entry("ttlMs").or_insert_with(|| json!(0));
        fields
            .entry("cacheScope")
            .or_insert_with(|| json!("private"));
    }
    passed_on(fetched, caller).map(Some)
}

/// The result as the server gave it, without what was meant for us.
fn passed_on<T: DeserializeOwned>(result: ForeignResult, caller: &Caller) -> Result<T, ErrorData> {
    let ForeignResult(mut result) = result;
    without_reserved(&mut result);
    let whole = Value::Object(result);
    let known = serde_json::from_value(whole.clone());
    match caller.leave_whole(whole) {
        // What stands in its place is not sent.
        true => {
            known.or_else(|_| serde_json::from_value(json!({ "messages": [], "contents": [] })))
        }
        false => known,
    }
    .map_err(|error| {
        let why = format!("what the other server answered cannot be passed on: {error}");
        ErrorData::internal_error(why, None)
    })
}

fn error(error: ContentError) -> ErrorData {
    match error {
        ContentError::Unavailable(why) => ErrorData::internal_error(why, None),
        ContentError::Refused {
            code,
            message,
            data,
        } => {
            let code = i32::try_from(code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
            ErrorData::new(code, message, data)
        }
    }
}
