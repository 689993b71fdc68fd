//! `ahma_mcp doctor`: what keeps the server from working here, or commands from seeing what they need, and what to do about it.
//!
//! Each check looks at one thing and gives findings; `run` has them made and shows them. Must not repair anything.

mod clients;
mod files;
mod finding;
mod namespaces;
mod ports;
mod project;
mod report;
mod run;
mod sandbox;
mod view;

pub(super) use run::{DoctorArgs, run};
