//! The server's side: starting hosts, and commands in them.
//!
//! A [`Sandbox`] starts host processes and lives as long as the server. A [`SandboxHost`] is one of
//! them, for one policy. A [`RunningCommand`] is one command in it; dropping it ends the command.

mod command;
mod connection;
mod hardening;
mod host;
mod spawner;
mod standby;
mod warm;

pub use command::{RunningCommand, enlarge_pipe};
pub use hardening::{allow_many_descriptors, give_memory_back, protect_this_process};
pub use host::SandboxHost;
pub use spawner::Sandbox;
