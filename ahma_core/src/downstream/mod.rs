//! Other MCP servers behind this one.
//!
//! ```text
//! DownstreamServers ─► Upstream, one for each entry of the operator's mcp.json
//!        │                 ├─► process      started through a sandbox host, confined or not; ended with everything it started
//!        │                 ├─► ahma_http_mcp_client   the conversation
//!        │                 ├─► sessions     an Upstream of each session, where the operator wants that
//!        │                 └─► record       what it offered, kept for the next time, and what of it is approved
//!        ├─► replacement   other servers in their place, when the file has changed
//!        ├─► signing_in    what the owner does to sign in and out
//!        ├─► inspection    what the owner is shown of them, and approves
//!        ├─► offered       definitions under their names here, for the registry
//!        └─► content       prompts and resources, and whose each is
//! ```
//!
//! A server is started by the first call, or at once where nothing is known of it yet. Its tools stay listed while it is
//! stopped, dies and comes back. Must not answer clients: the service does, through [`ForeignTool`](crate::registry::ForeignTool).

mod backoff;
mod command_values;
mod content;
mod differences;
mod events;
mod inspection;
mod listener;
mod managed;
mod members;
mod offered;
mod packed_record;
mod ports;
mod process;
mod questions;
mod record;
mod replacement;
mod secret_values;
mod servers;
mod sessions;
mod shared_record;
mod sign_in_desk;
mod signing_in;
mod source;
mod stderr_tail;
mod telling;
mod token_changes;
mod tool_changes;
mod trust;
mod upstream;

pub(crate) use differences::{Difference, FieldChange, differences, taken_over};
pub(crate) use inspection::{Inspected, Known, known};
pub(crate) use replacement::Replaced;
pub(crate) use servers::{DownstreamServers, Means, Places};
pub(crate) use signing_in::LoginStart;
pub(crate) use source::Source;
