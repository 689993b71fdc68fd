//! `sandboxed_shell`: runs a script.
//!
//! Its arguments are described like those of a declared tool ([`shell_arguments`]), because
//! steps of sequences are checked against them; definition and checks are made from that description.

use std::sync::{Arc, LazyLock};

use futures_util::future::BoxFuture;
use rmcp::model::{CallToolResponse, CallToolResult, JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value};

use super::built_in::{BuiltIn, Request};
use crate::config::input_schema;
use crate::registry::with_background_note;
use crate::service::call_error::CallError;
use crate::service::call_parameters::{SHELL, service_parameters, shell_arguments};
use crate::service::context::CallStyle;
use crate::service::execution_mode::ExecutionMode;
use crate::service::follow::follow;
use crate::service::plan;

/// The tool.
pub(super) struct Shell;

static SCHEMA: LazyLock<Arc<JsonObject>> =
    LazyLock::new(|| Arc::new(input_schema(&shell_arguments(), &service_parameters())));

impl BuiltIn for Shell {
    fn definition(&self, style: CallStyle) -> Tool {
        let description = "Runs a shell script, confined to the sandbox scope.";
        let description = match style.always_sync {
            true => description.to_owned(),
            false => with_background_note(description, " "),
        };
        let hints = ToolAnnotations::new().destructive(true).open_world(true);
        let mut tool = Tool::new(SHELL, description, Arc::clone(&SCHEMA));
        tool.title = Some("Shell".to_owned());
        tool.with_annotations(hints)
    }

    fn call<'r>(
        &'r self,
        request: Request<'r>,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'r, Result<CallToolResponse, CallError>> {
        Box::pin(async move {
            let context = request.context;
            let call = plan::check_script(arguments)?;
            let answering = plan::answering(context, &call, ExecutionMode::Async).await?;
            let plan = plan::script(context, call).await?;
            follow(context, plan, answering, request.caller, None).await
        })
    }

    fn answer_step<'r>(
        &'r self,
        _request: Request<'r>,
        _arguments: Map<String, Value>,
    ) -> Option<BoxFuture<'r, Result<CallToolResult, CallError>>> {
        None
    }
}
