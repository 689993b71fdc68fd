//! One operation while its job runs: what the job may do, and what is done for it in any case.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use ahma_sandbox::{Input, LimitReached, RunningCommand, SandboxHost, SpawnError, StartError};
use futures_util::FutureExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::task::spawn_blocking;

use super::arg_files::ArgFiles;
use super::byte_budget::HeldBytes;
use super::drive::Driver;
use super::gate::{Gate, Pass};
use super::host_pool::HostPool;
use super::plan::{CommandKind, CommandPlan};
use super::product::Product;
use crate::audit::{AuditContext, AuditLog, CommandLine};
use crate::config::OutputKind;
use crate::denial::Denial;
use crate::operation::{Completion, OperationHandle, OperationState, OperationStore};
use crate::tamper::ScopeGuard;

/// How many hosts may die before they start a command.
const ATTEMPTS: u32 = 3;
/// Reports why a command did not run or was lost.
pub(crate) type ReportTrouble = Arc<dyn Fn(&str) + Send + Sync>;

/// A command that did not do well.
pub(crate) struct FailedCommand {
    /// What was run.
    pub(crate) plan: CommandPlan,
    /// How it ended.
    pub(crate) state: OperationState,
    /// With which exit code.
    pub(crate) exit_code: Option<i32>,
    /// By which signal.
    pub(crate) signal: Option<i32>,
    /// What it wrote.
    pub(crate) output: String,
    /// Whether the middle of that is missing.
    pub(crate) is_cut: bool,
    /// The limit that it reached, where the kernel says so.
    pub(crate) limit_reached: Option<LimitReached>,
}

/// Says why the sandbox was in the way of a command, where it probably was. May block.
pub(crate) type ExplainFailure = Arc<dyn Fn(&FailedCommand) -> Option<Denial> + Send + Sync>;

/// A command that was started: its host, and its standard error where that is apart.
type Started = (Arc<SandboxHost>, RunningCommand, Option<Receiver>);

/// An operation that is recorded when it begins and at its end.
pub(super) struct Audited {
    pub(super) log: Arc<AuditLog>,
    pub(super) client: Arc<str>,
    pub(super) context: OnceLock<AuditContext>,
}

/// One operation while its job runs.
pub struct Run {
    pub(super) hosts: Arc<HostPool>,
    pub(super) store: Arc<OperationStore>,
    pub(super) gates: Arc<Vec<Arc<dyn Gate>>>,
    pub(super) guard: Arc<ScopeGuard>,
    pub(super) operation: Arc<OperationHandle>,
    pub(super) audit: Option<Audited>,
    pub(super) trouble: Option<ReportTrouble>,
    pub(super) explain: Option<ExplainFailure>,
    /// What the job holds, until it has ended.
    pub(super) _held: HeldBytes,
}

impl Run {
    /// The operation.
    pub fn operation(&self) -> &Arc<OperationHandle> {
        &self.operation
    }

    /// The directory that commands are confined to.
    pub fn scope(&self) -> &Path {
        &self.hosts.policy().scope
    }

    /// Notes that the operation is at work, although no command of it runs.
    pub fn working(&self) {
        self.store.running(&self.operation);
    }

    /// Notes what the operation is doing now.
    pub fn at_step(&self, step: String) {
        self.store.at_step(&self.operation, step);
    }

    /// Adds a line of our own to the output.
    pub async fn write_line(&self, line: &str) {
        self.operation.write(format!("{line}\n").into_bytes()).await;
    }

    /// Waits until the operation may run, or says how it ends without having run.
    pub(super) async fn pass_gates(&self) -> Result<Vec<Pass>, Completion> {
        let mut passes = Vec::with_capacity(self.gates.len());
        for gate in self.gates.iter() {
            let mut passing = gate.pass(&self.operation);
            let passed = match (&mut passing).now_or_never() {
                Some(passed) => passed,
                None => {
                    self.store.waiting(&self.operation, gate.waits_for());
                    tokio::select! {
                        biased;
                        reason = self.operation.cancelled() => return Err(Completion::cancelled(reason)),
                        passed = passing => passed,
                    }
                }
            };
            let refused = |why| Completion::new(OperationState::Failed, why);
            passes.push(passed.map_err(refused)?);
        }
        Ok(passes)
    }

    /// Ends the operation, unless it has ended already.
    pub(super) fn end(&self, completion: Completion) {
        let (state, ended) = (completion.state, Ended::of(&completion));
        let explanation = completion.explanation.clone();
        if !self.store.end(&self.operation, completion) {
            return;
        }
        let (id, tool) = (self.operation.id(), self.operation.tool());
        let (state, why) = (state.name(), explanation.as_deref());
        match ended {
            Ended::Well => tracing::debug!(operation = %id, tool, state, why, "ended"),
            Ended::Badly => tracing::warn!(operation = %id, tool, state, why, "ended"),
            Ended::InTrouble => tracing::error!(operation = %id, tool, state, why, "ended"),
        }
        if let (Some(report), Some(why), true) = (&self.trouble, why, ended != Ended::Well) {
            report(&format!("{id}: {why}"));
        }
        let audited = self.audit.as_ref();
        let context = audited.and_then(|it| it.context.get().map(|context| (&it.log, context)));
        if let (Some((log, context)), Some(completion)) = (context, self.operation.completion()) {
            log.ended(context, &self.operation, &completion);
        }
    }

    /// Records that the operation begins, before anything of it runs.
    pub(super) async fn record_start(&self, lines: &[CommandLine<'_>]) {
        if let Some(audited) = &self.audit {
            let client = Arc::clone(&audited.client);
            let context = AuditContext::new(client, self.scope(), lines).await;
            audited.log.started(&context, &self.operation);
            let _ = audited.context.set(context);
        }
    }

    /// Runs a command to the end of its last process.
    pub async fn command(&self, plan: &CommandPlan) -> Completion {
        let directory = self.hosts.policy().temporary();
        let words = match ArgFiles::write(&plan.arguments, &directory).await {
            Ok(words) => words,
            Err(error) => {
                let why = format!("an argument could not be written to a file: {error}");
                return Completion::new(OperationState::Failed, why);
            }
        };
        // A host that dies before it has looked at the command did no harm; the next one runs it.
        for attempt in 0..ATTEMPTS {
            // The host is kept for as long as the command runs, even when another takes its place.
            let spawned = tokio::select! {
                biased;
                reason = self.operation.cancelled() => return Completion::cancelled(reason),
                spawned = self.spawn(plan, &words, attempt == 0) => spawned,
            };
            let (host, mut command, errors) = match spawned {
                Ok(Some(started)) => started,
                Ok(None) => continue,
                Err(completion) => return completion,
            };
            if let Input::Pipe(pipe) = &plan.input {
                pipe.release();
            }
            self.store.running(&self.operation);
            let Some(output) = command.take_output() else {
                break;
            };
            if let Some(events) = &plan.events {
                let dialogue = Arc::clone(&events.dialogue);
                let first_line = Arc::clone(&events.first_line);
                // Whether and when the command reads it is its own business.
                tokio::spawn(async move { dialogue.say(&first_line).await });
            }
            let driver = Driver::new(&self.operation, plan, command, output, errors);
            if let Some(driven) = driver.drive().await {
                let mut completion = driven.completion;
                completion.warnings = self.hosts.not_restricted(&host);
                completion.denial = self
                    .explained(plan, &completion, driven.limit_reached)
                    .await;
                let product = Product {
                    operation: &self.operation,
                    plan,
                    scope: self.scope(),
                };
                return product.checked(completion, driven.held).await;
            }
        }
        let why = "sandbox hosts keep ending before they start the command".to_owned();
        Completion::new(OperationState::Failed, why)
    }

    /// Why the sandbox was probably in the way of a command that did not do well. Looked for beside the runtime: how long its
    /// output is, the command decided.
    async fn explained(
        &self,
        plan: &CommandPlan,
        completion: &Completion,
        limit_reached: Option<LimitReached>,
    ) -> Option<Box<Denial>> {
        let did_well = !matches!(
            completion.state,
            OperationState::Failed | OperationState::TimedOut
        );
        let explain = self.explain.clone().filter(|_| !did_well)?;
        let failed = FailedCommand {
            plan: plan.clone(),
            state: completion.state,
            exit_code: completion.exit_code,
            signal: completion.signal,
            output: self.operation.output().render(|_, _| String::new()).text,
            is_cut: !self.operation.output().is_whole(),
            limit_reached,
        };
        let denial = spawn_blocking(move || explain(&failed)).await;
        denial.ok().flatten().map(Box::new)
    }

    /// Has a host start the command; `None` when that host has just died and nothing ran.
    async fn spawn(
        &self,
        plan: &CommandPlan,
        words: &ArgFiles,
        is_first: bool,
    ) -> Result<Option<Started>, Completion> {
        let failed = |explanation: String| Completion::new(OperationState::Failed, explanation);
        let host = self.hosts.host(&plan.restrictions).await;
        let host = host.map_err(|error| failed(explain_start(&error)))?;
        let request = plan.request(words.words.clone());
        let spawned = match (plan.output.kind, is_first) {
            (OutputKind::Text, true) => host.spawn(request).await.map(|it| (it, None)),
            // It may have been left out before.
            (OutputKind::Text, false) => host.spawn_by_shell(request).await.map(|it| (it, None)),
            _ => {
                let apart = host.spawn_apart(request).await;
                apart.map(|(command, errors)| (command, Some(errors)))
            }
        };
        match spawned {
            Ok((command, errors)) => {
                if plan.kind == CommandKind::Script {
                    self.hosts.script_came(&host, &plan.restrictions);
                }
                Ok(Some((host, command, errors)))
            }
            Err(SpawnError::HostGone) => Ok(None),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

/// What an end means to whoever reads the log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// As it was meant to, or because somebody wanted it.
    Well,
    /// The command failed, or took too long; who called it knows what to do.
    Badly,
    /// The server could not run it, or lost it.
    InTrouble,
}

impl Ended {
    fn of(completion: &Completion) -> Self {
        let has_exited = completion.exit_code.is_some() || completion.signal.is_some();
        match completion.state {
            OperationState::Failed if !has_exited => Ended::InTrouble,
            OperationState::Lost => Ended::InTrouble,
            OperationState::Failed | OperationState::TimedOut => Ended::Badly,
            _ => Ended::Well,
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Nobody must wait for ever because of a fault of ours, or because the runtime ends. An
        // operation that has ended keeps its completion.
        let fault = "the server stopped looking after the command, which ended it".to_owned();
        self.end(Completion::new(OperationState::Lost, fault));
    }
}

fn explain_start(error: &StartError) -> String {
    format!("{error}; {}", error.hint())
}
