//! What starts jobs and sees to it that every one ends.

use std::sync::{Arc, OnceLock};

use tracing::Instrument as _;

use super::byte_budget::{ByteBudget, OF_A_SCOPE};
use super::gate::Gate;
use super::host_pool::HostPool;
use super::job::{Job, JobDescription};
use super::run::{Audited, ExplainFailure, ReportTrouble, Run};
use super::slots::Slots;
use crate::audit::{AuditLog, CommandLine};
use crate::operation::{
    AdmissionError, NewOperation, OperationFilter, OperationHandle, OperationStore, Origin,
};
use crate::tamper::ScopeGuard;

/// Runs jobs.
pub struct Executor {
    hosts: Arc<HostPool>,
    store: Arc<OperationStore>,
    gates: Arc<Vec<Arc<dyn Gate>>>,
    guard: Arc<ScopeGuard>,
    bytes: Arc<ByteBudget>,
    audit: Option<Arc<AuditLog>>,
    trouble: Option<ReportTrouble>,
    explain: Option<ExplainFailure>,
}

impl Executor {
    /// Runs at most `at_once` jobs at the same time; others wait in the order they came.
    pub fn new(
        hosts: Arc<HostPool>,
        store: Arc<OperationStore>,
        guard: Arc<ScopeGuard>,
        at_once: usize,
    ) -> Self {
        Executor {
            hosts,
            store,
            guard,
            gates: Arc::new(vec![Arc::new(Slots::new(at_once))]),
            bytes: ByteBudget::new(OF_A_SCOPE, None),
            audit: None,
            trouble: None,
            explain: None,
        }
    }

    /// The same, with one more gate that every job has to pass, after those before it.
    pub fn with_gate(self, gate: Arc<dyn Gate>) -> Self {
        let mut gates = Vec::clone(&self.gates);
        gates.push(gate);
        Executor {
            gates: Arc::new(gates),
            ..self
        }
    }

    /// The same, whose operations hold bytes that others count too.
    pub(crate) fn with_byte_budget(self, all: &Arc<ByteBudget>) -> Self {
        let bytes = ByteBudget::new(OF_A_SCOPE, Some(Arc::clone(all)));
        Executor { bytes, ..self }
    }

    /// The same, which reports why commands do not run or are lost.
    pub fn with_trouble_reported(self, report: ReportTrouble) -> Self {
        let trouble = Some(report);
        Executor { trouble, ..self }
    }

    /// The same, which says why the sandbox was in the way of a command.
    pub(crate) fn with_failures_explained(self, explain: ExplainFailure) -> Self {
        let explain = Some(explain);
        Executor { explain, ..self }
    }

    /// The same, with a record of every operation.
    pub fn with_audit_log(self, audit: Arc<AuditLog>) -> Self {
        let audit = Some(audit);
        Executor { audit, ..self }
    }

    /// Starts a job for a client and returns at once. The operation ends by itself, whatever happens.
    pub fn start(
        &self,
        job: impl Job,
        origin: &Origin,
    ) -> Result<Arc<OperationHandle>, AdmissionError> {
        let JobDescription {
            tool,
            working_directory,
            output_limit,
            command,
            deadline,
            is_service,
            input,
            result,
        } = job.describe();
        let lines = job.command_lines();
        let held = self.bytes.hold(lines.iter().map(CommandLine::len).sum());
        drop(lines);
        let held = held.ok_or(AdmissionError::TooManyBytes)?;
        let operation = self.store.begin(NewOperation {
            tool,
            working_directory,
            output_limit,
            command,
            deadline,
            is_service,
            input,
            result,
            origin: origin.clone(),
        })?;
        let run = Run {
            hosts: Arc::clone(&self.hosts),
            store: Arc::clone(&self.store),
            gates: Arc::clone(&self.gates),
            guard: Arc::clone(&self.guard),
            operation: Arc::clone(&operation),
            trouble: self.trouble.clone(),
            explain: self.explain.clone(),
            _held: held,
            audit: self.audit.as_ref().map(|log| Audited {
                log: Arc::clone(log),
                client: Arc::clone(&origin.client),
                context: OnceLock::new(),
            }),
        };
        // What it logs belongs to the request that started it.
        tokio::spawn(to_the_end(run, job).in_current_span());
        Ok(operation)
    }

    /// Says why the sandbox was in the way of a command, where there is one.
    #[cfg(feature = "cli")]
    pub(crate) fn explainer(&self) -> Option<ExplainFailure> {
        self.explain.clone()
    }

    /// The operations.
    pub fn store(&self) -> &Arc<OperationStore> {
        &self.store
    }

    /// Takes no job any more, ends every operation and waits until no process is left.
    pub async fn shut_down(&self, reason: &str) {
        self.store.close();
        let unfinished = self.store.query(&OperationFilter::unfinished());
        for operation in &unfinished {
            operation.cancel(reason);
        }
        for operation in unfinished {
            operation.ended().await;
        }
    }
}

/// Runs a job, whatever comes of it. Dropping this ends the operation too.
async fn to_the_end(run: Run, job: impl Job) {
    run.record_start(&job.command_lines()).await;
    let running = run.guard.begin().await;
    if let Some(in_place) = run.guard.renewal() {
        run.hosts.renew(in_place).await;
    }
    let mut completion = match run.pass_gates().await {
        Ok(_passes) => job.run(&run).await,
        Err(completion) => completion,
    };
    completion.warnings.extend(run.guard.end(running).await);
    if let Some(in_place) = run.guard.renewal() {
        run.hosts.renew(in_place).await;
    }
    run.end(completion);
}
