//! The resolved form of prompt files and resource files. Plain data: a value here has passed every check.

use std::path::PathBuf;

use super::super::spec::{CompleteSpec, IconSpec};
use super::template::Template;
use super::uri_template::UriTemplate;

/// A prompt.
#[derive(Debug, Clone)]
pub struct PromptSpec {
    /// The file it came from.
    pub source: PathBuf,
    /// Its name.
    pub name: String,
    /// A short name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// What is filled in.
    pub arguments: Vec<PromptArgumentSpec>,
    /// The messages, in order.
    pub messages: Vec<MessageSpec>,
    /// Listed only when one of these exists in the scope; empty means always.
    pub only_if: Vec<String>,
    /// Pictures for clients that show one.
    pub icons: Vec<IconSpec>,
}

/// An argument of a prompt.
#[derive(Debug, Clone)]
pub struct PromptArgumentSpec {
    /// Its name.
    pub name: String,
    /// A short name for people.
    pub title: Option<String>,
    /// What it means.
    pub description: Option<String>,
    /// There is no prompt without it.
    pub required: bool,
    /// Filled in when none is given.
    pub default: Option<String>,
    /// The question to whoever uses the client, when none is given.
    pub ask: Option<String>,
    /// What can be proposed.
    pub complete: Option<CompleteSpec>,
}

/// A message of a prompt.
#[derive(Debug, Clone)]
pub struct MessageSpec {
    /// The model has said it, instead of whoever uses the client.
    pub is_assistants: bool,
    /// What it says.
    pub part: PartSpec,
    /// The argument without whose value it is left out.
    pub if_given: Option<String>,
}

/// What a message says.
#[derive(Debug, Clone)]
pub enum PartSpec {
    /// A text.
    Text(Template),
    /// A picture.
    Image(MediaSpec),
    /// A sound.
    Audio(MediaSpec),
    /// Something that it brings along.
    Resource {
        /// Under this URI.
        uri: Template,
        /// What it is.
        body: BodySpec,
        /// Of this type, where its name and bytes need not tell.
        mime_type: Option<String>,
    },
}

/// A picture or sound.
#[derive(Debug, Clone)]
pub struct MediaSpec {
    /// Where it is.
    pub source: MediaSource,
    /// Its type, where its bytes need not tell.
    pub mime_type: Option<String>,
}

/// Where a picture or sound is.
#[derive(Debug, Clone)]
pub enum MediaSource {
    /// In a file of the project.
    File(Template),
    /// Here, in Base64, with the type that its bytes or its author tell.
    Data(String),
}

/// A text, or where it is.
#[derive(Debug, Clone)]
pub enum BodySpec {
    /// In a file of the project.
    File(Template),
    /// Here.
    Text(Template),
}

/// A resource, or a family of resources.
#[derive(Debug, Clone)]
pub struct ResourceSpec {
    /// The file it came from.
    pub source: PathBuf,
    /// Where clients find it.
    pub place: ResourcePlace,
    /// Its name.
    pub name: String,
    /// A short name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its type, where its name and bytes need not tell.
    pub mime_type: Option<String>,
    /// What is read.
    pub body: BodySpec,
    /// Listed only when one of these exists in the scope; empty means always.
    pub only_if: Vec<String>,
    /// What can be proposed for variables of its template.
    pub completions: Vec<(String, CompleteSpec)>,
    /// Pictures for clients that show one.
    pub icons: Vec<IconSpec>,
}

/// Where clients find a resource.
#[derive(Debug, Clone)]
pub enum ResourcePlace {
    /// Under this URI.
    Uri(String),
    /// Under URIs of this form.
    Family(UriTemplate),
}

impl ResourceSpec {
    /// What tells it from others: its URI, or the form of its URIs.
    pub fn key(&self) -> &str {
        match &self.place {
            ResourcePlace::Uri(uri) => uri,
            ResourcePlace::Family(template) => template.as_str(),
        }
    }
}
