//! The engine of `ahma_mcp`: command-line tools as MCP tools, described by JSON files, run confined by the kernel.
//!
//! # Use
//!
//! A program that embeds the engine opens a [`Scope`] and serves it on a transport of its own; `examples/embedded.rs` is
//! one. Its `main` calls [`become_host_if_asked`] first, because sandbox hosts are the same program started again.
//!
//! ```no_run
//! use ahma_core::{Scope, ScopeConfig, SharedConfig, SharedResources, StdioConnection, Streams};
//!
//! # async fn serve(socket: tokio::net::UnixStream) -> Result<(), Box<dyn std::error::Error>> {
//! let directory = std::path::Path::new("/srv/project");
//! let shared = SharedResources::new(SharedConfig::new(std::env::vars_os().collect(), &[directory]))?;
//! let scope = Scope::open(ScopeConfig::new(directory), &shared).await?;
//! let (input, output) = socket.into_split();
//! let mut client = StdioConnection::serve(scope.service(), Streams::new(input, output));
//! client.ended().await?;
//! scope.shutdown("the client is gone", std::time::Duration::from_secs(3)).await;
//! # Ok(())
//! # }
//! ```
//!
//! # Theory of operation
//!
//! Data goes one way: [`config`] turns tool files into tools; the registry offers what all sources have; the service
//! answers MCP clients, turning calls into plans and operations into results; the executor runs a plan in the sandbox
//! and tells the operation store what happens; a scope is all of that for one directory. docs/architecture.md tells the
//! life of a call.
//!
//! # Features
//!
//! - none: [`config`] alone, for programs that check tool files; and [`denial`].
//! - `server`: the engine.
//! - `downstream`: other MCP servers behind this one.
//! - `http`: what the `ahma_mcp` program needs to serve over HTTP.
//! - `cli` (default): the `ahma_mcp` program.

#![forbid(unsafe_code)]

pub mod config;
pub mod denial;

mod lexical_path;
mod service;

#[cfg(feature = "server")]
mod audit;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "downstream")]
mod downstream;
#[cfg(feature = "cli")]
mod draft;
#[cfg(feature = "server")]
mod executor;
#[cfg(feature = "server")]
mod file_watch;
#[cfg(feature = "server")]
mod light_watch;
#[cfg(feature = "server")]
mod listening;
#[cfg(feature = "server")]
mod operation;
#[cfg(feature = "server")]
mod output;
#[cfg(feature = "server")]
mod owner_warnings;
#[cfg(feature = "server")]
mod project;
#[cfg(feature = "server")]
mod registry;
#[cfg(feature = "server")]
mod scope;
#[cfg(feature = "server")]
mod stdio;
#[cfg(feature = "server")]
mod tamper;

pub use service::tools::server_facts;

#[cfg(feature = "server")]
pub use ahma_sandbox::{Network, become_host_if_asked};
#[cfg(feature = "server")]
pub use audit::AuditLog;
#[cfg(feature = "server")]
pub use operation::{
    Completion, OperationEvent, OperationEvents, OperationFilter, OperationHandle, OperationId,
    OperationRecord, OperationState, OperationStore, Origin, Retention,
};
#[cfg(feature = "server")]
pub use owner_warnings::{OwnerWarnings, SayWarning};
#[cfg(feature = "server")]
pub use registry::{
    ContentError, ContentLists, ContentRequest, ForeignCall, ForeignDefinition, ForeignError,
    ForeignProgress, ForeignResult, ForeignServers, ForeignTool, ServerConfig, ServerEvent,
    ServerEventKind,
};
#[cfg(feature = "server")]
pub use registry::{Surface, ToolFileRules};
#[cfg(feature = "server")]
pub use scope::{
    ManagerConfig, OpenError, RootRules, Scope, ScopeConfig, ScopeManager, SharedConfig,
    SharedResources, Siblings,
};
#[cfg(feature = "server")]
pub use service::{AhmaService, CallError, EndpointInfo, HttpEndpoint, SettingOrigin};
#[cfg(feature = "server")]
pub use stdio::{StdioConnection, Streams};

/// Parts of the engine that the tests and benchmarks of this crate drive on their own. Not part of the API.
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod internal {
    pub use crate::executor::{
        CommandKind, CommandPlan, Environment, EventPlan, Executor, HostPool, Job, JobDescription,
        Run, command_line,
    };
    pub use crate::operation::{
        AdmissionError, Dialogue, InputWriter, MessageLevel, NewOperation, NewResult, Question,
        ReportedError, ResultParts, Told,
    };
    pub use crate::output::{
        INLINE_LIMIT, Output, Page, PageRequest, SPOOL_LIMIT, SearchHit, SpoolBudget, SpoolPlace,
    };
    pub use crate::registry::definition;
    pub use crate::stdio::{MAX_LINE_LEN, MAX_REQUESTS, MAX_UNREAD};
    pub use crate::tamper::{Guard, ScopeGuard, WatchConfig};
}
