//! Options and positional arguments.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use super::super::field::Field;
use super::{List, RawComplete};

/// An argument a caller can give: a flag of the command, or a positional argument.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Argument")]
pub(crate) struct RawArgument {
    /// Name of the argument in a call, and of the flag (`--name`) unless `flag` says otherwise.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.-]+$"), length(max = 64))]
    pub(crate) name: Field<String>,
    /// Type of the value.
    #[serde(rename = "type")]
    pub(crate) kind: Field<ArgumentType>,
    /// What the argument means.
    #[serde(default)]
    pub(crate) description: Field<String>,
    /// `true`: a call without it is refused.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(crate) required: Field<bool>,
    /// Passed when the caller gives none.
    #[serde(default)]
    #[schemars(schema_with = "any_default")]
    pub(crate) default: Field<Value>,
    /// The only values allowed.
    #[serde(rename = "enum", default)]
    #[schemars(schema_with = "allowed_values")]
    pub(crate) allowed: List<Value>,
    /// Smallest number allowed.
    #[serde(default)]
    pub(crate) minimum: Field<f64>,
    /// Largest number allowed.
    #[serde(default)]
    pub(crate) maximum: Field<f64>,
    /// Regular expression that must be found in the value; use `^` and `$` to match all of it.
    #[serde(default)]
    #[schemars(extend("format" = "regex"))]
    pub(crate) pattern: Field<String>,
    /// `path`: the value names a file or directory, which must lie in the scope or an operator's
    /// grant.
    #[serde(default)]
    pub(crate) format: Field<ValueFormat>,
    /// What the elements of an array are; strings when left out.
    #[serde(default)]
    pub(crate) items: Field<RawItems>,
    /// A second name under which a caller may give this argument.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.-]+$"), length(max = 64))]
    pub(crate) alias: Field<String>,
    /// The exact flag when it is not `--name`, e.g. `-m`. Options only.
    #[serde(default)]
    #[schemars(regex(pattern = r"^-[^\s=]+$"))]
    pub(crate) flag: Field<String>,
    /// `equals`: `--flag=value` in one word. `separate`: the flag and the value as two. Without it,
    /// a flag with two dashes takes the first form, any other the second. Options only.
    #[serde(default)]
    pub(crate) value_style: Field<ValueStyle>,
    /// `true` lets a value begin with `-` where it could be read as a flag.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(crate) allow_dash: Field<bool>,
    /// `true` puts `--` before this positional argument, when it is given: what follows cannot be
    /// read as a flag, nor as one of the arguments before it. Positional arguments only.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(crate) end_of_options: Field<bool>,
    /// `true`: the value is written to a private file, and the path of that file is passed.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(crate) file_arg: Field<bool>,
    /// The flag that takes the file's path when it differs from `flag`; needs `file_arg`.
    #[serde(default)]
    #[schemars(regex(pattern = r"^-[^\s=]+$"))]
    pub(crate) file_flag: Field<String>,
    /// `true`: the value is the standard input of the command.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(crate) stdin: Field<bool>,
    /// The value becomes this variable of the command instead of words of its command line. Options only.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub(crate) env: Field<String>,
    /// The flag that is passed for `false`, such as `--no-color`. Booleans only.
    #[serde(default)]
    #[schemars(regex(pattern = r"^-[^\s=]+$"))]
    pub(crate) negated_flag: Field<String>,
    /// Names of arguments that cannot be given together with this one.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) conflicts_with: List<String>,
    /// Names of arguments without which this one cannot be given.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) requires_arguments: List<String>,
    /// Values that are likely to be meant, besides which others are taken too. When a call fails whose value is none of them, its
    /// result names those that are like it. Strings only, one or several.
    #[serde(default)]
    pub(crate) complete: Field<RawComplete>,
}

/// Type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum ArgumentType {
    String,
    Boolean,
    Integer,
    Number,
    Array,
    // A string with `"format": "path"`, which is how to write it: a warning says so.
    Path,
}

/// Meaning of a string beyond its characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum ValueFormat {
    Path,
}

/// How a flag and its value are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum ValueStyle {
    Equals,
    Separate,
}

/// The elements of an array argument.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Items")]
pub(crate) struct RawItems {
    /// Type of every element.
    #[serde(rename = "type")]
    pub(crate) kind: Field<ItemType>,
    /// `path`: every element names a file or directory.
    #[serde(default)]
    pub(crate) format: Field<ValueFormat>,
    /// The only elements allowed.
    #[serde(rename = "enum", default)]
    #[schemars(schema_with = "allowed_values")]
    pub(crate) allowed: List<Value>,
}

/// Type of the elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum ItemType {
    String,
    Integer,
    Number,
}

fn any_default(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "boolean", "number", "array"] })
}

fn allowed_values(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "type": ["string", "number"] },
        "minItems": 1,
        "uniqueItems": true
    })
}
