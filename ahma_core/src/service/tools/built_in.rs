//! What every built-in tool has: a definition, and an answer.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::{CallToolResponse, CallToolResult, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::schema::{published, read};
use crate::operation::OperationId;
use crate::service::call_error::CallError;
use crate::service::caller::Caller;
use crate::service::context::{CallStyle, ServiceContext};

/// A call of a built-in tool.
#[derive(Clone, Copy)]
pub(in crate::service) struct Request<'r> {
    pub(in crate::service) context: &'r Arc<ServiceContext>,
    pub(in crate::service) caller: &'r Caller,
    /// The operation of the sequence that calls, when a step of one does.
    pub(in crate::service) on_behalf: Option<&'r OperationId>,
}

/// A built-in tool.
pub(in crate::service) trait BuiltIn: Send + Sync {
    /// As clients see it.
    fn definition(&self, style: CallStyle) -> Tool;

    /// Answers a call.
    fn call<'r>(
        &'r self,
        request: Request<'r>,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'r, Result<CallToolResponse, CallError>>;

    /// The answer to a step of a sequence; `None` where the tool runs a command, which the sequence plans itself.
    fn answer_step<'r>(
        &'r self,
        request: Request<'r>,
        arguments: Map<String, Value>,
    ) -> Option<BoxFuture<'r, Result<CallToolResult, CallError>>>;
}

/// A built-in tool that answers without running a command.
pub(super) trait AnswerTool: Send + Sync + 'static {
    const NAME: &'static str;
    const TITLE: &'static str;
    const DESCRIPTION: &'static str;
    /// What a call takes.
    type Args: DeserializeOwned + JsonSchema + Send;

    /// What a client may expect of a call.
    fn annotations() -> ToolAnnotations {
        ToolAnnotations::new().read_only(true)
    }

    fn answer(
        request: Request<'_>,
        args: Self::Args,
    ) -> impl Future<Output = Result<CallToolResult, CallError>> + Send;
}

impl<T: AnswerTool> BuiltIn for T {
    fn definition(&self, _style: CallStyle) -> Tool {
        let mut tool = Tool::new(T::NAME, T::DESCRIPTION, published::<T::Args>(T::NAME));
        tool.title = Some(T::TITLE.to_owned());
        tool.with_annotations(T::annotations())
    }

    fn call<'r>(
        &'r self,
        request: Request<'r>,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'r, Result<CallToolResponse, CallError>> {
        Box::pin(async move {
            let args = read(T::NAME, arguments)?;
            tokio::select! {
                // First, so that what a call asks for is done even when nobody waits for its answer.
                biased;
                answer = T::answer(request, args) => answer.map(Into::into),
                () = request.caller.cancelled.cancelled() => Err(CallError::cancelled()),
            }
        })
    }

    fn answer_step<'r>(
        &'r self,
        request: Request<'r>,
        arguments: Map<String, Value>,
    ) -> Option<BoxFuture<'r, Result<CallToolResult, CallError>>> {
        Some(Box::pin(async move {
            T::answer(request, read(T::NAME, arguments)?).await
        }))
    }
}
