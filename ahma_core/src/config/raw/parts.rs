//! The smaller objects inside a tool file.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use serde_json::{Map, Value};

use super::super::decode::TEXT_OR_OBJECT;
use super::super::field::Field;
use super::List;

/// What a client may assume about the effects of a call. A field left out promises nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Annotations")]
pub(crate) struct RawAnnotations {
    /// The call changes nothing.
    #[serde(default)]
    pub(crate) read_only: Field<bool>,
    /// The call can destroy something that was there before.
    #[serde(default)]
    pub(crate) destructive: Field<bool>,
    /// Repeating the call with the same arguments has no further effect.
    #[serde(default)]
    pub(crate) idempotent: Field<bool>,
    /// The call reaches beyond this machine.
    #[serde(default)]
    pub(crate) open_world: Field<bool>,
}

/// Upper limits for one call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Limits")]
pub(crate) struct RawLimits {
    /// Memory, in MiB: of all processes together where the server has a delegated cgroup, else of each.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_048_576))]
    pub(crate) memory_mb: Field<i64>,
    /// Processes at the same time.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) processes: Field<i64>,
    /// Output kept, in MiB; what comes after it is counted and dropped.
    #[serde(default)]
    #[schemars(range(min = 1, max = 256))]
    pub(crate) output_mb: Field<i64>,
}

/// What a command writes, and what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum RawOutput {
    Text,
    Json,
    Image,
    Audio,
    Events,
}

/// Whether a call may be answered with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum RawTask {
    Never,
    Optional,
    Required,
}

/// What a client has to be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum RawNeed {
    Elicitation,
    Sampling,
    Roots,
}

/// A picture of a tool, for clients that show one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Icon")]
pub(crate) struct RawIcon {
    /// Where it is: an `https:` URL, or a `data:` URI with the picture itself.
    #[schemars(regex(pattern = r"^(https|data):"))]
    pub(crate) src: Field<String>,
    /// Its MIME type, e.g. `image/png`.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[a-z]+/[A-Za-z0-9.+-]+$"))]
    pub(crate) mime_type: Field<String>,
    /// Its sizes, e.g. `48x48`, or `any` for one that can be scaled.
    #[serde(default)]
    #[schemars(length(min = 1), inner(regex(pattern = r"^([0-9]+x[0-9]+|any)$")))]
    pub(crate) sizes: List<String>,
}

/// What can be proposed for a value: one of `values` and `command`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Complete")]
pub(crate) struct RawComplete {
    /// These values.
    #[serde(default)]
    #[schemars(length(min = 1, max = 500))]
    pub(crate) values: List<String>,
    /// A program that prints them, one a line. It runs in the sandbox, in the project, without network and without writing, for 2
    /// seconds at most; what it printed is used for 5 seconds.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) command: Field<String>,
    /// Its arguments.
    #[serde(default)]
    pub(crate) args: List<String>,
}

/// How to find out whether a tool can be used: a command line, or its parts.
#[derive(Debug)]
pub(crate) enum RawAvailability {
    /// A command line, split into words as a shell would.
    Line(String),
    /// The parts of the command.
    Command(RawAvailabilityCommand),
}

/// A command whose exit code tells whether a tool can be used.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AvailabilityCommand")]
pub(crate) struct RawAvailabilityCommand {
    /// The program to run.
    #[schemars(length(min = 1))]
    pub(crate) command: Field<String>,
    /// Its arguments.
    #[serde(default)]
    pub(crate) args: List<String>,
    /// Exit codes that mean the tool can be used.
    #[serde(default)]
    #[schemars(length(min = 1), inner(range(min = 0, max = 255)), extend("default" = [0]))]
    pub(crate) success_exit_codes: List<i64>,
    /// Paths of the project; when one exists the tool can be used, and nothing is run.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) or_exists: List<String>,
}

impl<'de> Deserialize<'de> for RawAvailability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(TEXT_OR_OBJECT, LineOrCommand)
    }
}

struct LineOrCommand;

impl<'de> Visitor<'de> for LineOrCommand {
    type Value = RawAvailability;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string or an object")
    }

    fn visit_str<E>(self, line: &str) -> Result<Self::Value, E> {
        Ok(RawAvailability::Line(line.to_owned()))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Self::Value, D::Error> {
        RawAvailabilityCommand::deserialize(deserializer).map(RawAvailability::Command)
    }
}

impl JsonSchema for RawAvailability {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Availability".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let command = generator.subschema_for::<RawAvailabilityCommand>();
        json_schema!({ "anyOf": [{ "type": "string", "minLength": 1 }, command] })
    }
}

/// One step of a sequence: a call of another tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Step")]
pub(crate) struct RawStep {
    /// The tool to call. Inside a subcommand it may be left out and means the enclosing tool.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) tool: Field<String>,
    /// The subcommand to call; levels below each other are joined by `_`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) subcommand: Field<String>,
    /// Arguments of the call.
    #[serde(default)]
    pub(crate) args: Field<Map<String, Value>>,
    /// What the step is for; shown in progress and results.
    #[serde(default)]
    pub(crate) description: Field<String>,
    /// The step is skipped when this path, relative to the working directory, exists.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) skip_if_file_exists: Field<String>,
    /// The step is skipped when this path, relative to the working directory, does not exist.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) skip_if_file_missing: Field<String>,
    /// `true`: the sequence goes on when this step fails.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(crate) continue_on_error: Field<bool>,
}
