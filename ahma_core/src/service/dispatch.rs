//! From the name of a tool to its answer: finds the tool, and has whoever runs it run it.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::CallToolResponse;
use serde_json::{Map, Value};

use super::call_error::{CallError, ErrorKind};
use super::caller::Caller;
use super::context::ServiceContext;
use super::execution_mode::ExecutionMode;
use super::follow::{follow, follow_on};
use super::tools::{self, Request};
use super::{content, foreign, needs, plan, respond, result_text, sequence_plan, unknown_tool};
use crate::config::{Action, ToolSpec};
use crate::registry::Runner;

/// Answers a call.
pub(super) async fn call(
    context: &Arc<ServiceContext>,
    name: &str,
    arguments: Map<String, Value>,
    caller: &Caller,
) -> Result<CallToolResponse, ErrorData> {
    let mut offered = context.registry.current();
    if offered.find(name).is_none() {
        // A server that nothing is known of may be about to say that it has such a tool.
        context.foreign_settled().await;
        offered = context.registry.current();
    }
    let (name, arguments) = match tools::called(name, &arguments) {
        None => (name.to_owned(), arguments),
        Some(Ok((inside, _))) if offered.find(&inside).is_none() => {
            let why = CallError::refused(unknown_tool::message(&offered, &inside));
            return Ok(respond::refused(&why).into());
        }
        Some(Ok(call)) => call,
        Some(Err(why)) => return Ok(respond::refused(&why).into()),
    };
    let Some(entry) = offered.find(&name) else {
        return Err(unknown_tool::error(&offered, &name));
    };
    let answer = match &entry.runner {
        Runner::BuiltIn(built_in) => {
            let request = Request {
                context,
                caller,
                on_behalf: None,
            };
            match tools::find(built_in) {
                Some(tool) => tool.call(request, arguments).await,
                None => Err(CallError::refused("it is not available now")),
            }
        }
        Runner::Declared(tool) => declared(context, tool, arguments, caller).await,
        Runner::Foreign(tool) => foreign::call(context, &name, tool, arguments, caller).await,
    };
    if let Some(error) = answer.as_ref().err().and_then(CallError::as_protocol) {
        return Err(error);
    }
    Ok(answer.unwrap_or_else(|error| {
        let (kind, client) = (error.kind(), &caller.origin.client);
        match kind {
            ErrorKind::Validation => tracing::debug!(tool = name, %client, "refused: {error}"),
            _ => tracing::warn!(tool = name, %client, kind = kind.name(), "refused: {error}"),
        }
        respond::refused(&error).into()
    }))
}

async fn declared(
    context: &Arc<ServiceContext>,
    tool: &Arc<ToolSpec>,
    arguments: Map<String, Value>,
    caller: &Caller,
) -> Result<CallToolResponse, CallError> {
    needs::check(tool, caller)?;
    let call = plan::check(tool, arguments).await?;
    let usual = match tool.synchronous {
        true => ExecutionMode::Sync,
        false => ExecutionMode::Async,
    };
    let mut answering = plan::answering(context, &call, usual).await?;
    answering.task = tool.task;
    answering.has_shape = tool.result.schema.is_some();
    let mut client = caller.calling_client(&tool.name);
    if let Some((client, brought)) = &mut client
        && let Some(operation) = client.goes_on(std::mem::take(brought), context)?
    {
        return follow_on(context, operation, answering, caller, Some(client)).await;
    }
    let client = client.as_mut().map(|(client, _)| client);
    let proposes = tool.arguments.iter().any(|it| it.complete.is_some());
    match &tool.action {
        Action::Run(_) => {
            let given = proposes.then(|| call.arguments().clone());
            let plan = plan::declared(context, tool, call, caller).await?;
            let mut answer = follow(context, plan, answering, caller, client).await?;
            if let (CallToolResponse::Complete(result), Some(given)) = (&mut answer, given)
                && result.is_error == Some(true)
            {
                // A slip of the pen is the most common reason.
                let hints = content::near(context, tool, &given).await;
                result_text::with_hints(result, &hints);
            }
            Ok(answer)
        }
        Action::Sequence(steps) => {
            let job = sequence_plan::plan(context, tool, steps, &call).await?;
            follow(context, job, answering, caller, client).await
        }
    }
}
