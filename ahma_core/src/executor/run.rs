//! One command, from the queue to the end of its last process.

use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::{Exit, NoExit, RunningCommand, SandboxHost, SpawnError, StartError};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout};

use super::arg_files::ArgFiles;
use super::{Audited, CommandPlan, HostPool, ShowTrouble, Work, steps};
use crate::operation::{Completion, Operation, OperationState, OperationStore};
use crate::tamper::TamperWatch;

/// How many hosts may die before they start a command.
const ATTEMPTS: u32 = 3;
/// How long processes are given to end by themselves when they are asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How long output is waited for after the main process has ended: something else may hold the pipe.
const DRAIN: Duration = Duration::from_millis(300);
/// How often processes are killed, and how long their end is waited for each time. Only a process
/// that waits for a broken device outlives that.
const KILLS: u32 = 5;
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
const UNENDABLE: &str =
    "the processes of the command could not be ended; they may hang in the kernel";
/// Whose commands are scripts.
const SHELL_TOOL: &str = "sandboxed_shell";
/// What most commands write at most.
const LITTLE: usize = 4 * 1024;
/// What a pipe holds to begin with.
const CHUNK: usize = 64 * 1024;
/// What it holds once a command writes more than that at a time.
const FLOOD_CHUNK: usize = 1024 * 1024;

pub(super) struct Run {
    pub(super) hosts: Arc<HostPool>,
    pub(super) store: Arc<OperationStore>,
    pub(super) slots: Arc<Semaphore>,
    pub(super) common_slots: Option<Arc<Semaphore>>,
    pub(super) watch: Arc<TamperWatch>,
    pub(super) operation: Arc<Operation>,
    pub(super) audit: Option<Audited>,
    pub(super) trouble: Option<ShowTrouble>,
}

impl Run {
    pub(super) async fn until_its_end(self, work: Work) {
        if self.watch.begin() {
            self.hosts.renew().await;
        }
        let mut completion = self.run(&work).await;
        let found = self.watch.end();
        if found.appeared {
            self.hosts.renew().await;
        }
        completion.warnings.extend(found.warnings);
        self.end(completion);
    }

    fn end(&self, completion: Completion) {
        let state = completion.state.name();
        let is_trouble = matches!(
            completion.state,
            OperationState::Failed | OperationState::Lost
        );
        let trouble = completion.explanation.clone().filter(|_| is_trouble);
        if !self.store.end(&self.operation, completion) {
            return;
        }
        tracing::debug!(operation = %self.operation.id(), tool = self.operation.tool(), state, "ended");
        if let (Some(show), Some(trouble)) = (&self.trouble, trouble) {
            show(&format!("{}: {trouble}", self.operation.id()));
        }
        if let Some(audited) = &self.audit {
            audited.log.write(&audited.beginning, &self.operation);
        }
    }

    async fn run(&self, work: &Work) -> Completion {
        let _slot = tokio::select! {
            biased;
            reason = self.operation.cancelled() => return cancelled(reason),
            slot = self.slots.acquire() => slot,
        };
        // Its own first, so that one scope cannot keep others waiting with all it has to do.
        let _common = match &self.common_slots {
            Some(slots) => Some(tokio::select! {
                biased;
                reason = self.operation.cancelled() => return cancelled(reason),
                slot = slots.acquire() => slot,
            }),
            None => None,
        };
        match work {
            Work::One(plan) => self.command(plan).await,
            Work::Several(plan) => steps::run(self, plan).await,
        }
    }

    /// Runs a command to the end of its last process.
    pub(super) async fn command(&self, plan: &CommandPlan) -> Completion {
        let directory = self.hosts.policy().temporary();
        let words = match ArgFiles::write(&plan.arguments, &directory).await {
            Ok(words) => words,
            Err(error) => {
                let why = format!("an argument could not be written to a file: {error}");
                return Completion::of(OperationState::Failed, why);
            }
        };
        // A host that dies before it has looked at the command did no harm; the next one runs it.
        for _ in 0..ATTEMPTS {
            // The host is kept for as long as the command runs, even when another takes its place.
            let spawned = tokio::select! {
                biased;
                reason = self.operation.cancelled() => return cancelled(reason),
                spawned = self.spawn(plan, &words) => spawned,
            };
            let (host, mut command) = match spawned {
                Ok(Some(started)) => started,
                Ok(None) => continue,
                Err(completion) => return completion,
            };
            self.store.running(&self.operation);
            let Some(output) = command.take_output() else {
                break;
            };
            let driver = Driver {
                run: self,
                plan,
                command,
                output,
                buffer: vec![0; LITTLE],
                open: true,
            };
            if let Some(mut completion) = driver.drive().await {
                completion.warnings = self.hosts.not_restricted(&host);
                return completion;
            }
        }
        let why = "sandbox hosts keep ending before they start the command".to_owned();
        Completion::of(OperationState::Failed, why)
    }

    /// Has a host start the command; `None` when that host has just died and nothing ran.
    async fn spawn(
        &self,
        plan: &CommandPlan,
        words: &ArgFiles,
    ) -> Result<Option<(Arc<SandboxHost>, RunningCommand)>, Completion> {
        let failed = |explanation: String| Completion::of(OperationState::Failed, explanation);
        let host = self.hosts.host(&plan.restrictions).await;
        let host = host.map_err(|error| failed(explain_start(&error)))?;
        match host.spawn(plan.request(words.words.clone())).await {
            Ok(command) => {
                if plan.tool == SHELL_TOOL {
                    self.hosts.script_came(&host, &plan.restrictions);
                }
                Ok(Some((host, command)))
            }
            Err(SpawnError::HostGone) => Ok(None),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Nobody must wait for ever because of a fault of ours, or because the runtime ends. An
        // operation that has ended keeps its completion.
        let fault = "the server stopped looking after the command, which ended it".to_owned();
        self.end(Completion::of(OperationState::Lost, fault));
    }
}

/// Why the command is being stopped.
enum Stop {
    Cancelled(String),
    Deadline,
}

struct Driver<'r> {
    run: &'r Run,
    plan: &'r CommandPlan,
    command: RunningCommand,
    output: Receiver,
    buffer: Vec<u8>,
    open: bool,
}

impl Driver<'_> {
    /// Follows the command to its end; `None` when it never began and another host can run it.
    async fn drive(mut self) -> Option<Completion> {
        let deadline = Instant::now() + self.plan.deadline;
        let operation = Arc::clone(&self.run.operation);
        let mut stop: Option<Stop> = None;
        // When timeout ends: first with politeness, then with everything.
        let mut limit = deadline;
        let exit = loop {
            tokio::select! {
                biased;
                exit = self.command.exited() => break exit,
                reason = operation.cancelled(), if stop.is_none() => {
                    stop = Some(Stop::Cancelled(reason));
                    self.command.terminate();
                    limit = Instant::now() + GRACE;
                }
                () = sleep_until(limit) => {
                    if stop.is_some() {
                        break self.kill().await;
                    }
                    stop = Some(Stop::Deadline);
                    self.command.terminate();
                    limit = Instant::now() + GRACE;
                }
                length = self.output.read(&mut self.buffer), if self.open => {
                    self.take(length).await;
                }
            }
        };
        self.drain().await;
        let is_gone = self.end_the_rest().await;
        if (stop.is_none(), exit) == (true, Err(NoExit::NeverStarted)) {
            return None;
        }
        let mut completion = completion(exit, stop, self.plan.deadline);
        if !is_gone {
            completion = Completion::of(OperationState::Lost, UNENDABLE.to_owned());
        }
        Some(completion)
    }

    /// Kills the command, again if need be, and waits for its exit.
    async fn kill(&mut self) -> Result<Exit, NoExit> {
        for _ in 0..KILLS {
            self.command.kill();
            if let Ok(exit) = timeout(KILL_TIMEOUT, self.command.exited()).await {
                return exit;
            }
        }
        Err(NoExit::HostGone)
    }

    /// Ends what the main process left behind; whether that worked.
    async fn end_the_rest(&mut self) -> bool {
        for _ in 0..KILLS {
            self.command.kill();
            if timeout(KILL_TIMEOUT, self.command.gone()).await.is_ok() {
                return true;
            }
        }
        false
    }

    /// Takes what is still in the pipe, and a little more if something holds it open.
    async fn drain(&mut self) {
        let end = Instant::now() + DRAIN;
        while self.open {
            tokio::select! {
                // The time first: something that never stops writing must not be waited for.
                biased;
                () = sleep_until(end) => return,
                length = self.output.read(&mut self.buffer) => self.take(length).await,
            }
        }
    }

    /// Lets a flood pass in larger pieces. Where the kernel refuses, it goes on in small ones.
    fn widen(&mut self) {
        if ahma_sandbox::enlarge_pipe(&self.output, FLOOD_CHUNK).is_ok() {
            self.buffer.resize(FLOOD_CHUNK, 0);
        }
    }

    async fn take(&mut self, length: std::io::Result<usize>) {
        match length {
            Ok(0) | Err(_) => self.open = false,
            Ok(length) => {
                let chunk = self.buffer[..length].to_vec();
                match length {
                    LITTLE if self.buffer.len() == LITTLE => self.buffer.resize(CHUNK, 0),
                    CHUNK if self.buffer.len() == CHUNK => self.widen(),
                    _ => {}
                }
                // Counts, beginning and end are right even when the disk is full.
                let _ = self.run.operation.output.append(chunk).await;
            }
        }
    }
}

fn completion(exit: Result<Exit, NoExit>, stop: Option<Stop>, deadline: Duration) -> Completion {
    let (exit_code, signal) = match exit {
        Ok(exit) => (exit.code, exit.signal),
        Err(_) => (None, None),
    };
    let (state, explanation) = match (stop, exit) {
        (Some(Stop::Cancelled(reason)), _) => (OperationState::Cancelled, Some(reason)),
        (Some(Stop::Deadline), _) => (
            OperationState::TimedOut,
            Some(format!("stopped after {} seconds", deadline.as_secs_f64())),
        ),
        (None, Err(NoExit::HostGone)) => (
            OperationState::Lost,
            Some("the sandbox host died while the command ran".to_owned()),
        ),
        (None, Err(not_started)) => (OperationState::Failed, Some(not_started.to_string())),
        (None, Ok(Exit { code: Some(0), .. })) => (OperationState::Completed, None),
        (None, Ok(_)) => (OperationState::Failed, None),
    };
    Completion {
        state,
        exit_code,
        signal,
        explanation,
        warnings: Vec::new(),
    }
}

pub(super) fn cancelled(reason: String) -> Completion {
    Completion::of(OperationState::Cancelled, reason)
}

fn explain_start(error: &StartError) -> String {
    format!("{error}; {}", error.hint())
}
