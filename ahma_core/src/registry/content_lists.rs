//! Prompts and resources as they are listed, and what is wanted of those of other servers. How they are fetched is somebody else's.

use serde_json::{Map, Value};

/// What is offered beside tools, each with all of its fields, prompts of other servers under their names here.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContentLists {
    /// Prompts.
    pub prompts: Vec<Value>,
    /// Resources.
    pub resources: Vec<Value>,
    /// Kinds of resources.
    pub resource_templates: Vec<Value>,
}

/// What is wanted of them.
#[derive(Debug, Clone, PartialEq)]
pub enum ContentRequest {
    /// A prompt.
    Prompt {
        /// Its name here.
        name: String,
        /// What it is filled in with.
        arguments: Option<Map<String, Value>>,
    },
    /// A resource.
    Resource {
        /// Which one.
        uri: String,
    },
}

/// Why it cannot be had.
#[derive(Debug, Clone, PartialEq)]
pub enum ContentError {
    /// The server could not be reached, or was lost; with what to do.
    Unavailable(String),
    /// The server answered with an error of the protocol.
    Refused {
        /// Which one, by its number.
        code: i64,
        /// In words.
        message: String,
        /// Further facts.
        data: Option<Value>,
    },
}
