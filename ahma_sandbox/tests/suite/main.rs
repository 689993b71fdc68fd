//! Real commands under the real kernel.
//!
//! Every denial is paired with the same act succeeding where it is allowed, so that a test cannot
//! pass because the act is impossible anyway. Tests touch only their own processes and directories
//! and loopback ports.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests may block, start programs, and fail by panicking"
)]
#![cfg(target_os = "linux")]

mod apart;
mod attacks;
mod cells;
mod cgroups;
mod environment;
mod etc;
mod files;
mod generations;
mod lifecycle;
mod limits;
mod loopback;
mod network;
mod planted_etc;
mod processes;
mod protected;
mod protocol;
mod restricted;
mod seeds;
mod shared_counters;
mod standby;
mod unprivileged;
mod warm;
mod without_layers;

mod support;
