//! Runs commands confined by the kernel, and always ends them.
//!
//! # Theory of operation
//!
//! The server never starts a command itself. It starts a *sandbox host*: the same program again,
//! with one thread, before any runtime exists. The host reads a [`SandboxPolicy`], moves into
//! namespaces of its own, builds a view of the file system in which only granted paths exist,
//! prepares a Landlock ruleset, installs a seccomp filter, and reports which layers hold
//! ([`SandboxReport`]). It never changes its policy.
//!
//! Commands run in *cells*: pid namespaces with a process of ours as pid 1, in which a process with its
//! own session, its own Landlock domain and no capabilities waits to become the command. A failure of
//! any step means that the program does not run. The init of a cell ends the whole tree when it is
//! told to, and the kernel tells it when nothing is left; then the cell serves the next command.
//! Without namespaces, and on other processors than x86-64, each command is forked with a supervisor
//! of its own instead.
//!
//! ```text
//! server ── Sandbox ──► host process ──► init (pid 1) ──► command
//!        ◄─ SandboxHost   (namespaces, filter)   (Landlock, no capabilities)
//! ```
//!
//! Everything ends with its parent: a command with its [`RunningCommand`], a host with its
//! [`SandboxHost`] and with the server, whatever kills it.
//!
//! This crate knows neither MCP nor tool files. It is the only one with `unsafe` code and the only
//! one that starts commands.

mod beneath;
mod command;
mod environment;
mod error;
mod input;
mod policy;
mod prewarm;
mod private_dir;
mod probe;
mod report;
mod scope;
mod seatbelt;
mod system_paths;

#[cfg(target_os = "linux")]
mod accepted_commands;
#[cfg(target_os = "linux")]
mod client;
#[cfg(target_os = "linux")]
mod hardening;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod order;
#[cfg(target_os = "linux")]
mod public_etc;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod wire;

// Its handling of processes is tested on Linux too.
#[cfg(any(not(target_os = "linux"), test))]
#[cfg_attr(
    target_os = "linux",
    expect(dead_code, unreachable_pub, reason = "here only its tests use it")
)]
mod macos;

pub use beneath::{exists_beneath, open_beneath, open_directory, read_beneath};
#[cfg(target_os = "linux")]
pub use client::{RunningCommand, Sandbox, SandboxHost, enlarge_pipe};
pub use command::{CommandRequest, Exit, LimitReached, NoExit};
pub use environment::command_environment;
pub use error::{LaunchStep, ScopeError, SetupFailure, SetupStep, SpawnError, StartError};
#[cfg(target_os = "linux")]
pub use hardening::{
    allow_many_descriptors, give_code_of_start_back, give_memory_back, keep_own_files_private,
    protect_this_process,
};
#[cfg(target_os = "linux")]
pub use host::become_host_if_asked;
pub use input::{Input, InputPipe};
#[cfg(not(target_os = "linux"))]
pub use macos::{
    HOST_ARGUMENT, RunningCommand, Sandbox, SandboxHost, allow_many_descriptors,
    become_host_if_asked, enlarge_pipe, give_code_of_start_back, give_memory_back,
    keep_own_files_private, protect_this_process,
};
pub use policy::{Launch, Layer, LimitedBy, Limits, Network, SandboxPolicy, Seed};
pub use prewarm::PrewarmSpec;
pub use private_dir::{PrivateDir, remove_directory};
pub use probe::probe;
pub use report::{LayerReport, NetworkReach, SandboxReport};
pub use scope::{Width, checked_scope};
pub use seatbelt::{SeatbeltProfile, seatbelt_profile};
pub use system_paths::{is_system_path, readable_system_paths};
#[cfg(target_os = "linux")]
pub use wire::HOST_ARGUMENT;
#[cfg(all(fuzzing, target_os = "linux"))]
pub use wire::fuzz as fuzz_wire;
