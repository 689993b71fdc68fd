//! The MCP server: tools listed, calls answered.
//!
//! ```text
//! handler ─► dispatch ─► plan ─► follow ─► respond
//!               ├─► tools/…    one file per built-in tool
//!               └─► sequence   steps on one operation
//! ```
//!
//! Turns a call into a plan for the executor, and an operation into a result. A wrong argument or a failed command is an
//! error *result*, which the model reads; only what no model could have meant, such as a tool that does not exist, is a
//! protocol error. Must not start a process, write operation state, or know how messages travel.
//!
//! Without the feature `server` only [`tools::server_facts`] is there, for programs that check tool files.

mod call_parameters;
pub(crate) mod tools;

#[cfg(feature = "server")]
mod asking;
#[cfg(feature = "server")]
mod call_error;
#[cfg(feature = "server")]
mod caller;
#[cfg(feature = "server")]
mod caller_pattern;
#[cfg(feature = "server")]
mod capabilities;
#[cfg(feature = "server")]
mod content;
#[cfg(feature = "server")]
mod context;
#[cfg(feature = "server")]
mod directory;
#[cfg(feature = "server")]
mod dispatch;
#[cfg(feature = "server")]
mod endpoint_info;
#[cfg(feature = "server")]
mod execution_mode;
#[cfg(feature = "server")]
mod follow;
#[cfg(feature = "server")]
mod foreign;
#[cfg(feature = "server")]
mod handler;
#[cfg(feature = "server")]
mod instructions;
#[cfg(feature = "server")]
mod list_changes;
#[cfg(feature = "server")]
mod needs;
#[cfg(feature = "server")]
mod one_client;
#[cfg(feature = "server")]
mod one_hop;
#[cfg(feature = "server")]
mod output_uri;
#[cfg(feature = "server")]
mod pages;
#[cfg(feature = "server")]
mod plan;
#[cfg(feature = "server")]
mod progress;
#[cfg(feature = "server")]
mod proposals;
#[cfg(feature = "server")]
mod questions;
#[cfg(feature = "server")]
mod readiness;
#[cfg(feature = "server")]
mod respond;
#[cfg(feature = "server")]
mod result_text;
#[cfg(feature = "server")]
mod revision;
#[cfg(feature = "server")]
mod rich_result;
#[cfg(feature = "server")]
mod scope_binding;
#[cfg(feature = "server")]
mod sealed_state;
#[cfg(feature = "server")]
mod sequence;
#[cfg(feature = "server")]
mod sequence_plan;
#[cfg(feature = "server")]
mod setting_origin;
#[cfg(feature = "server")]
mod subscriber;
#[cfg(feature = "server")]
mod task_news;
#[cfg(feature = "server")]
mod tasks;
#[cfg(feature = "server")]
mod telling;
#[cfg(feature = "server")]
mod unknown_tool;
#[cfg(feature = "server")]
mod wanted_level;

#[cfg(feature = "server")]
pub use call_error::CallError;
#[cfg(feature = "cli")]
pub(crate) use content::{ContentKind, merged};
#[cfg(feature = "server")]
pub(crate) use context::{CallStyle, Commands, ServiceContext};
#[cfg(feature = "server")]
pub use endpoint_info::{EndpointInfo, HttpEndpoint};
#[cfg(feature = "server")]
pub use one_client::AhmaService;
#[cfg(feature = "server")]
pub(crate) use proposals::Proposals;
#[cfg(feature = "server")]
pub(crate) use scope_binding::ScopeFactory;
#[cfg(feature = "server")]
pub use setting_origin::SettingOrigin;
