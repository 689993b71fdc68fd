//! Running commands: queue, deadline, output, and an end in every case.
//!
//! The executor takes a [`CommandPlan`], has the sandbox run it, and tells the operation store what
//! happens. It never speaks to a client and never decides what may run: plans come from the service,
//! confinement from the sandbox.

pub mod command_line;

mod arg_files;
mod availability;
mod host_pool;
mod internal_commands;
mod run;
mod steps;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::{CommandRequest, Input};
use tokio::sync::Semaphore;
use tracing::Instrument as _;

pub use self::availability::AvailabilityProbe;
use self::command_line::Arg;
pub use self::host_pool::{HostPool, WarmShells};
pub use self::internal_commands::{CommandOutput, InternalCommands};
pub use self::steps::{AnswerStep, Answered, SequencePlan, Skip, StepAction, StepPlan};
use crate::audit::{AuditContext, AuditLog};
use crate::config::Restrictions;
use crate::operation::{AdmissionError, NewOperation, Operation, OperationStore};
use crate::tamper::TamperWatch;

/// A command that is ready to run.
#[derive(Debug, Clone)]
pub struct CommandPlan {
    /// The tool it belongs to.
    pub tool: String,
    /// Program and arguments.
    pub arguments: Vec<Arg>,
    /// Everything it finds in its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub working_directory: PathBuf,
    /// What it reads.
    pub input: Input,
    /// It is stopped when it has run this long.
    pub deadline: Duration,
    /// What its tool gives up of what the operator granted.
    pub restrictions: Restrictions,
}

impl CommandPlan {
    fn request(&self, words: Vec<OsString>) -> CommandRequest {
        CommandRequest {
            arguments: words,
            environment: self.environment.clone(),
            directory: self.working_directory.clone(),
            input: self.input.clone(),
        }
    }
}

/// What an operation does.
#[derive(Debug, Clone)]
pub enum Work {
    /// Runs a command.
    One(CommandPlan),
    /// Runs commands one after the other.
    Several(SequencePlan),
}

impl From<CommandPlan> for Work {
    fn from(plan: CommandPlan) -> Self {
        Work::One(plan)
    }
}

impl From<SequencePlan> for Work {
    fn from(plan: SequencePlan) -> Self {
        Work::Several(plan)
    }
}

/// An operation that is written down at its end.
struct Audited {
    log: Arc<AuditLog>,
    beginning: AuditContext,
}

/// Runs commands.
pub struct Executor {
    hosts: Arc<HostPool>,
    store: Arc<OperationStore>,
    slots: Arc<Semaphore>,
    /// Those of all scopes of the server together.
    common_slots: Option<Arc<Semaphore>>,
    watch: Arc<TamperWatch>,
    audit: Option<Arc<AuditLog>>,
    trouble: Option<ShowTrouble>,
}

/// Shows why a command did not run or was lost.
pub type ShowTrouble = Arc<dyn Fn(&str) + Send + Sync>;

impl Executor {
    /// Runs at most `at_once` commands at the same time; others wait in the order they came.
    pub fn new(hosts: Arc<HostPool>, store: Arc<OperationStore>, at_once: usize) -> Self {
        let policy = hosts.policy();
        let watch = Arc::new(TamperWatch::new(&policy.scope, &policy.protect));
        Executor {
            hosts,
            store,
            watch,
            slots: Arc::new(Semaphore::new(at_once)),
            common_slots: None,
            audit: None,
            trouble: None,
        }
    }

    /// The same, which shows why commands do not run or are lost.
    pub fn with_trouble_shown(self, show: ShowTrouble) -> Self {
        let trouble = Some(show);
        Executor { trouble, ..self }
    }

    /// The same, with a record of every operation.
    pub fn with_audit_log(self, audit: Arc<AuditLog>) -> Self {
        let audit = Some(audit);
        Executor { audit, ..self }
    }

    /// The same, whose commands wait for those of others too.
    pub fn with_common_slots(self, slots: Arc<Semaphore>) -> Self {
        let common_slots = Some(slots);
        Executor {
            common_slots,
            ..self
        }
    }

    /// Starts a command, or a sequence of them, for a client and returns at once. The operation ends by
    /// itself, whatever happens.
    pub fn start(
        &self,
        work: impl Into<Work>,
        client: &Arc<str>,
    ) -> Result<Arc<Operation>, AdmissionError> {
        let work = work.into();
        let operation = self.store.begin(match &work {
            Work::One(plan) => NewOperation {
                tool: plan.tool.clone(),
                working_directory: plan.working_directory.clone(),
                output_limit: plan.restrictions.output_mb.map(|mb| u64::from(mb) << 20),
            },
            Work::Several(plan) => NewOperation {
                tool: plan.tool.clone(),
                working_directory: plan.working_directory.clone(),
                output_limit: None,
            },
        })?;
        let run = run::Run {
            hosts: Arc::clone(&self.hosts),
            store: Arc::clone(&self.store),
            slots: Arc::clone(&self.slots),
            common_slots: self.common_slots.clone(),
            watch: Arc::clone(&self.watch),
            operation: Arc::clone(&operation),
            trouble: self.trouble.clone(),
            audit: self.audit.as_ref().map(|log| Audited {
                log: Arc::clone(log),
                beginning: AuditContext::of(&work, client),
            }),
        };
        // What it logs belongs to the request that started it.
        tokio::spawn(run.until_its_end(work).in_current_span());
        Ok(operation)
    }

    /// The operations.
    pub fn store(&self) -> &Arc<OperationStore> {
        &self.store
    }

    /// Takes no work any more, ends every operation and waits until no process is left.
    pub async fn shut_down(&self, reason: &str) {
        self.store.close();
        let unfinished: Vec<_> = self
            .store
            .newest_first()
            .into_iter()
            .filter(|operation| !operation.state().is_final())
            .collect();
        for operation in &unfinished {
            operation.cancel(reason);
        }
        for operation in unfinished {
            operation.ended().await;
        }
    }
}
