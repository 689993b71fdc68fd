//! The server's side: starting hosts, and commands in them.
//!
//! A [`Sandbox`] starts host processes and lives as long as the server. A [`SandboxHost`] is one of
//! them, for one policy. A [`RunningCommand`] is one command in it; dropping it ends the command.

mod cgroups;
mod child;
mod command;
mod connection;
mod handoff;
mod host;
mod link;
mod one_program;
mod private_network;
mod processes;
mod sandbox;
mod standby;
mod warm;

pub use command::{RunningCommand, enlarge_pipe};
pub use host::SandboxHost;
pub use sandbox::Sandbox;
