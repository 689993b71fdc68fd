//! Other MCP servers behind this one: from the text of an operator's `mcp.json` to servers that can be started.
//!
//! ```text
//! bytes ─text─► spanned JSON ─load─► entries ─decode─► raw form ─resolve─► ServerSpec
//! ```
//!
//! Pure and synchronous, like the rest of [`config`](super): nothing here may read a file or a variable, run a program, or
//! connect to anything. Every fault is reported as those of tool files are, and no value that could be a secret is
//! repeated: neither by a message, nor by `Debug`, nor in the text that faults are shown in.

mod http;
mod load;
mod masked;
mod names;
mod oauth;
mod port;
mod raw;
mod resolve;
mod schema;
mod secret;
mod secret_maps;
mod spec;
mod surroundings;
mod tool_rules;
mod transport;
mod url_rules;

pub use super::spec::Annotations;
pub use load::load;
pub use schema::{MCP_CONFIG_SCHEMA_FILE_NAME, mcp_config_schema, mcp_config_schema_text};
pub use secret::{MissingReference, Reference, Secret, SecretSource};
pub use spec::{
    DownstreamConfig, OAuthSpec, PORT_PLACEHOLDER, Program, ServerSpec, StartMode, ToolRules,
    TransportSpec,
};
