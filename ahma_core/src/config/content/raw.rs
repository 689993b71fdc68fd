//! The raw form: an exact mirror of the JSON of prompt files and resource files. Decoded by the same code as tool files, and the
//! source of the schemas for editors. Nothing is checked here.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::field::Field;
use super::super::raw::{List, RawComplete, RawIcon};

/// A prompt file: one prompt that clients offer to people, often as a command of their own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Prompt")]
pub(crate) struct RawPromptFile {
    /// Path or URL of `prompt.schema.json`, so that an editor completes and checks this file.
    #[serde(rename = "$schema", default)]
    #[expect(dead_code, reason = "for editors")]
    pub(crate) schema: Field<String>,
    /// Name of the prompt. Letters, digits, `_` and `-`, beginning with a letter.
    #[schemars(regex(pattern = r"^[A-Za-z][A-Za-z0-9_-]*$"), length(max = 64))]
    pub(crate) name: Field<String>,
    /// A short name for people, shown by clients.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) title: Field<String>,
    /// What the prompt is for.
    #[schemars(length(min = 1))]
    pub(crate) description: Field<String>,
    /// What is filled in. All values are texts.
    #[serde(default)]
    #[schemars(length(max = 50))]
    pub(crate) arguments: List<RawPromptArgument>,
    /// The messages, in order. `{name}` in a text stands for the value of the argument of that name.
    #[schemars(length(min = 1, max = 100))]
    pub(crate) messages: List<RawMessage>,
    /// The prompt is listed only when one of these paths exists in the scope, e.g. `.git`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) only_if: List<String>,
    /// Pictures of the prompt.
    #[serde(default)]
    #[schemars(length(min = 1, max = 8))]
    pub(crate) icons: List<RawIcon>,
}

/// An argument of a prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PromptArgument")]
pub(crate) struct RawPromptArgument {
    /// Name of the argument, as `{name}` in texts.
    #[schemars(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"), length(max = 64))]
    pub(crate) name: Field<String>,
    /// A short name for people.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) title: Field<String>,
    /// What the argument means.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) description: Field<String>,
    /// `true`: without it there is no prompt, unless `ask` gets it.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(crate) required: Field<bool>,
    /// Filled in when none is given.
    #[serde(default)]
    pub(crate) default: Field<String>,
    /// The question that is put to whoever uses the client when none is given. A client that cannot ask gets the default, or an
    /// error where the argument is required.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) ask: Field<String>,
    /// What a client can propose while the value is typed.
    #[serde(default)]
    pub(crate) complete: Field<RawComplete>,
}

/// A message: one of `text`, `image`, `audio` and `resource`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Message")]
pub(crate) struct RawMessage {
    /// Who says it.
    #[serde(default)]
    #[schemars(extend("default" = "user"))]
    pub(crate) role: Field<RawRole>,
    /// A text.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) text: Field<String>,
    /// A picture.
    #[serde(default)]
    pub(crate) image: Field<RawMedia>,
    /// A sound.
    #[serde(default)]
    pub(crate) audio: Field<RawMedia>,
    /// Something that the message brings along: a text, or a file of the project.
    #[serde(default)]
    pub(crate) resource: Field<RawEmbedded>,
    /// Name of an argument; without a value of it the message is left out.
    #[serde(default)]
    pub(crate) if_given: Field<String>,
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum RawRole {
    User,
    Assistant,
}

/// A picture or sound: one of `file` and `data`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Media")]
pub(crate) struct RawMedia {
    /// A file of the project.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) file: Field<String>,
    /// Its bytes in Base64.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) data: Field<String>,
    /// Its MIME type; without it, its first bytes tell.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[a-z]+/[A-Za-z0-9.+-]+$"))]
    pub(crate) mime_type: Field<String>,
}

/// Something that a message brings along: one of `file` and `text`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Embedded")]
pub(crate) struct RawEmbedded {
    /// Its URI.
    #[schemars(length(min = 1))]
    pub(crate) uri: Field<String>,
    /// A file of the project.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) file: Field<String>,
    /// The text itself.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) text: Field<String>,
    /// Its MIME type; without it, its name and its first bytes tell.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[a-z]+/[A-Za-z0-9.+-]+$"))]
    pub(crate) mime_type: Field<String>,
}

/// A resource file: a file or a text of the project that clients can read under a URI, or with `uri_template` a family of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Resource")]
pub(crate) struct RawResourceFile {
    /// Path or URL of `resource.schema.json`, so that an editor completes and checks this file.
    #[serde(rename = "$schema", default)]
    #[expect(dead_code, reason = "for editors")]
    pub(crate) schema: Field<String>,
    /// The URI of the resource, e.g. `docs://changelog`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 2000))]
    pub(crate) uri: Field<String>,
    /// The URIs of a family of resources, e.g. `docs://pages/{page}`. `{name}` stands for one part of a path, `{+name}` for
    /// several.
    #[serde(default)]
    #[schemars(length(min = 1, max = 2000))]
    pub(crate) uri_template: Field<String>,
    /// Name of the resource.
    #[schemars(length(min = 1, max = 200))]
    pub(crate) name: Field<String>,
    /// A short name for people, shown by clients.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) title: Field<String>,
    /// What it is.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) description: Field<String>,
    /// Its MIME type; without it, its name and its first bytes tell.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[a-z]+/[A-Za-z0-9.+-]+$"))]
    pub(crate) mime_type: Field<String>,
    /// The file of the project that is read, at most 8 MiB. `{name}` stands for what the URI has in its place.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) file: Field<String>,
    /// The text itself, instead of a file. `{name}` stands for what the URI has in its place.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) text: Field<String>,
    /// What is said of the variables of `uri_template`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 50))]
    pub(crate) variables: List<RawVariable>,
    /// The resource is listed only when one of these paths exists in the scope.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) only_if: List<String>,
    /// Pictures of the resource.
    #[serde(default)]
    #[schemars(length(min = 1, max = 8))]
    pub(crate) icons: List<RawIcon>,
}

/// A variable of a `uri_template`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Variable")]
pub(crate) struct RawVariable {
    /// Its name, as in the template.
    #[schemars(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"), length(max = 64))]
    pub(crate) name: Field<String>,
    /// What a client can propose while the value is typed.
    pub(crate) complete: Field<RawComplete>,
}
