//! Running one job to its end: queue, deadline, output, and an end in every case.
//!
//! The [`Executor`] takes a [`Job`], waits until it may run, and tells the operation store what happens. A
//! [`CommandPlan`] is a job; so is anything that runs several commands, or none. Must not speak to a client, know tools
//! by name, or decide what may run: plans come from the service, confinement from the sandbox.

pub mod command_line;

mod arg_files;
mod byte_budget;
mod drive;
mod event_stream;
#[expect(
    clippy::module_inception,
    reason = "the type the module is named after"
)]
mod executor;
mod gate;
mod host_pool;
mod internal_commands;
mod job;
mod plan;
mod product;
mod run;
mod slots;
mod streams;
mod tool_event;
mod well_formed;

pub(crate) use byte_budget::{ByteBudget, OF_ALL};
pub(crate) use event_stream::{BLOCK, LINE, STRUCTURED};
pub use executor::Executor;
pub use host_pool::HostPool;
pub(crate) use host_pool::WarmShells;
pub(crate) use internal_commands::{CommandOutput, InternalCommands};
pub use job::{Job, JobDescription};
pub use plan::{CommandKind, CommandPlan, Environment, EventPlan};
pub(crate) use product::MAX_JSON;
pub use run::Run;
pub(crate) use run::{ExplainFailure, FailedCommand, ReportTrouble};
pub(crate) use slots::Slots;
pub(crate) use tool_event::VERSION as EVENTS_VERSION;
