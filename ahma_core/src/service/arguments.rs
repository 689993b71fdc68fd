//! The arguments of the built-in tools.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// How a call relates to its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ExecutionMode {
    /// Answers at once.
    Async,
    /// Answers with the result.
    Sync,
    /// Waits a little, then goes on in the background.
    Auto,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShellArguments {
    pub(super) command: String,
    pub(super) stdin: Option<String>,
    pub(super) working_directory: Option<String>,
    pub(super) execution_mode: Option<ExecutionMode>,
    /// Checked before: a whole number in its bounds, perhaps written as `5.0`.
    pub(super) timeout_seconds: Option<f64>,
}

/// What every call that runs something takes besides its own arguments. Checked before.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MetaArguments {
    pub(super) working_directory: Option<String>,
    pub(super) execution_mode: Option<ExecutionMode>,
    pub(super) timeout_seconds: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AwaitArguments {
    pub(super) operation_id: Option<OneOrMany>,
    #[serde(default)]
    pub(super) tools: Vec<String>,
    pub(super) timeout_seconds: Option<u32>,
}

/// One id, or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        match Value::deserialize(deserializer)? {
            Value::String(id) => Ok(OneOrMany::One(id)),
            Value::Array(ids) => ids
                .into_iter()
                .map(|id| match id {
                    Value::String(id) => Ok(id),
                    other => Err(D::Error::custom(format!(
                        "expected an operation id, found {other}"
                    ))),
                })
                .collect::<Result<_, _>>()
                .map(OneOrMany::Many),
            other => Err(D::Error::custom(format!(
                "expected an operation id or an array of them, found {other}"
            ))),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusArguments {
    pub(super) operation_id: Option<String>,
    #[serde(default)]
    pub(super) tools: Vec<String>,
    pub(super) state: Option<String>,
    pub(super) limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelArguments {
    pub(super) operation_id: String,
    pub(super) reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadOutputArguments {
    pub(super) operation_id: String,
    pub(super) offset: Option<u64>,
    pub(super) length: Option<usize>,
    pub(super) tail: Option<usize>,
    pub(super) pattern: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoArguments {}

/// Reads arguments, or says what is wrong with them.
pub(super) fn read<T: DeserializeOwned>(
    tool: &str,
    arguments: Map<String, Value>,
) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| format!("the arguments of `{tool}` are wrong: {error}"))
}
