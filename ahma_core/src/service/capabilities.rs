//! What the server says of itself, and which methods it answers.

use rmcp::ErrorData;
use rmcp::model::{ErrorCode, Implementation, ServerCapabilities, ServerConfig};

use serde_json::{Value, json};

use super::respond::cut;

/// Methods that are answered when their parameters are right.
const METHODS: [&str; 17] = [
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
    "tools/call",
    "tools/list",
];

/// Those among them that 2026-07-28 has removed.
const REMOVED_METHODS: [&str; 4] = [
    "initialize",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// Where people find out more.
const WEBSITE: Option<&str> = option_env!("CARGO_PKG_HOMEPAGE");
const TITLE: &str = "Command-line tools, confined";

/// Name, version and capabilities.
pub(super) fn server_config(instructions: String) -> ServerConfig {
    let capabilities = ServerCapabilities::builder()
        .enable_tools()
        .enable_tool_list_changed()
        .enable_resources()
        .enable_resources_list_changed()
        .enable_resources_subscribe()
        .enable_prompts()
        .enable_prompts_list_changed()
        .enable_completions()
        .enable_tasks()
        .build();
    let mut config = ServerConfig::new(capabilities);
    let mut about = Implementation::new("ahma_mcp", env!("CARGO_PKG_VERSION"));
    about.title = Some(TITLE.to_owned());
    about.website_url = WEBSITE.filter(|it| !it.is_empty()).map(str::to_owned);
    config.server_info = about;
    config.with_instructions(instructions)
}

/// The error of a request that the SDK does not know, or cannot read.
pub(super) fn unknown_request(method: &str, is_stateless: bool) -> ErrorData {
    let is_removed = is_stateless && REMOVED_METHODS.contains(&method);
    if is_removed || !METHODS.contains(&method) {
        return no_method(method);
    }
    let why = format!("the parameters of {method} are invalid");
    ErrorData::invalid_params(why, None)
}

/// The error of a method that is not offered.
pub(super) fn no_method(name: &str) -> ErrorData {
    let why = format!("there is no method `{}`", cut(name));
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None)
}

/// A list, under its key, of what has fields that the SDK does not know.
pub(super) fn whole_list(key: &str, items: Vec<Value>, is_stateless: bool) -> Value {
    let mut list = match is_stateless {
        true => json!({ key: [], "ttlMs": 0, "cacheScope": "private" }),
        false => json!({ key: [] }),
    };
    list[key] = Value::Array(items);
    list
}
