//! `call_tool`: calls a tool by its name, whether it is listed or not.
//!
//! It is only another way to write a call: `dispatch` takes the call inside in its place, with all its checks.

use futures_util::future::BoxFuture;
use rmcp::model::{CallToolResponse, CallToolResult, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::built_in::{BuiltIn, Request};
use super::schema::{published, read};
use crate::service::call_error::CallError;
use crate::service::context::CallStyle;

pub(super) const NAME: &str = "call_tool";

/// The tool.
pub(super) struct CallTool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The tool.
    name: String,
    /// What it takes.
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// The tool that is called inside, and its arguments.
type InnerCall = (String, Map<String, Value>);

/// The call that is inside one of this tool; none when it is a call of another.
pub(in crate::service) fn called(
    tool: &str,
    arguments: &Map<String, Value>,
) -> Option<Result<InnerCall, CallError>> {
    if tool != NAME {
        return None;
    }
    let inside = read::<Args>(NAME, arguments.clone()).and_then(|call| match call.name == NAME {
        true => Err(nested()),
        false => Ok((call.name, call.arguments)),
    });
    Some(inside)
}

fn nested() -> CallError {
    CallError::new(format!("`{NAME}` cannot call itself")).with_hint("name the tool itself")
}

impl BuiltIn for CallTool {
    fn definition(&self, _style: CallStyle) -> Tool {
        let description = "Calls a tool that `find_tools` found.";
        let mut tool = Tool::new(NAME, description, published::<Args>(NAME));
        tool.title = Some("Call a tool".to_owned());
        tool.with_annotations(ToolAnnotations::new().destructive(true).open_world(true))
    }

    fn call<'r>(
        &'r self,
        _request: Request<'r>,
        _arguments: Map<String, Value>,
    ) -> BoxFuture<'r, Result<CallToolResponse, CallError>> {
        Box::pin(async { Err(nested()) })
    }

    fn answer_step<'r>(
        &'r self,
        _request: Request<'r>,
        _arguments: Map<String, Value>,
    ) -> Option<BoxFuture<'r, Result<CallToolResult, CallError>>> {
        Some(Box::pin(async { Err(nested()) }))
    }
}
