//! `send_input`: writes to the standard input of a running operation.

use std::io;
use std::time::Duration;

use rmcp::model::{CallToolResult, ToolAnnotations};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::timeout;

use super::built_in::{AnswerTool, Request};
use crate::operation::{InputWriter, OperationHandle};
use crate::service::call_error::CallError;
use crate::service::respond;

/// How long a command may take to read what fits into no pipe.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The tool.
pub(super) struct SendInput;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Which one; it must have been started with `"input": true`.
    operation_id: String,
    /// What to write, with its line ends.
    text: Option<String>,
    /// Ends the input, after the text.
    #[serde(default)]
    close: bool,
}

impl AnswerTool for SendInput {
    const NAME: &'static str = "send_input";
    const TITLE: &'static str = "Write to an operation";
    const DESCRIPTION: &'static str = "Writes to the standard input of a running operation that was started with \
        `\"input\": true`. `read_output` shows what it answers.";
    type Args = Args;

    fn annotations() -> ToolAnnotations {
        ToolAnnotations::new().destructive(true).open_world(true)
    }

    async fn answer(request: Request<'_>, args: Args) -> Result<CallToolResult, CallError> {
        let id = &args.operation_id;
        let operation = request.context.operations().get(id);
        let operation = operation.ok_or_else(|| respond::no_operation(id))?;
        let input = operation.input().ok_or_else(|| {
            CallError::new(format!("{id} was not started with `\"input\": true`"))
                .with_hint("its standard input is closed; start it again with `\"input\": true`")
        })?;
        if operation.state().is_final() {
            return Err(
                CallError::new(format!("{id} has ended")).with_hint("`await` gives its result")
            );
        }
        let text = args.text.unwrap_or_default();
        if text.is_empty() && !args.close {
            return Err(CallError::new("there is nothing to write")
                .with_hint("give `text`, `close`, or both"));
        }
        write(input, &text, &operation).await?;
        let bytes = text.len();
        let mut message = format!("{bytes} bytes written to {id}");
        if args.close {
            input.close().await;
            message += "; its input has ended";
        }
        Ok(respond::text(message))
    }
}

async fn write(
    input: &InputWriter,
    text: &str,
    operation: &OperationHandle,
) -> Result<(), CallError> {
    let mut written = 0;
    let writing = timeout(READ_TIMEOUT, input.write(text.as_bytes(), &mut written)).await;
    let why = match writing {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            "nobody reads it any more".to_owned()
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => {
            let seconds = READ_TIMEOUT.as_secs();
            format!("the command has not read the rest for {seconds} s")
        }
    };
    let (all, id) = (text.len(), operation.id());
    Err(CallError::failed(format!(
        "{written} of {all} bytes were written to {id}: {why}"
    )))
}
