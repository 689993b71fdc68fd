//! Prompt files and resource files: from bytes to prompts and resources that can be offered. With the same faults as tool files.
//!
//! Must not read what they refer to: files of a project are opened when a client asks for them.

mod body;
mod load;
mod prompt;
mod raw;
mod resource;
mod schema;
mod spec;
mod template;
mod uri_template;

pub use load::{Accepted, Loaded, load_prompts, load_resources};
pub use schema::{
    PROMPT_SCHEMA_FILE_NAME, RESOURCE_SCHEMA_FILE_NAME, prompt_file_schema,
    prompt_file_schema_text, resource_file_schema, resource_file_schema_text,
};
pub use spec::{
    BodySpec, MediaSource, MediaSpec, MessageSpec, PartSpec, PromptArgumentSpec, PromptSpec,
    ResourcePlace, ResourceSpec,
};
pub use template::Template;
pub use uri_template::UriTemplate;
