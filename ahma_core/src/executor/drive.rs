//! One running command, followed to the end of its last process: deadline, TERM, KILL, and proof that nothing is left.

use std::time::Duration;

use ahma_sandbox::{Exit, LimitReached, NoExit, RunningCommand};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep_until, timeout};

use super::plan::CommandPlan;
use crate::operation::{Completion, OperationHandle, OperationState};

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
/// What most commands write at most.
const LITTLE: usize = 4 * 1024;
/// What a pipe holds to begin with.
const CHUNK: usize = 64 * 1024;
/// What it holds once a command writes more than that at a time.
const FLOOD_CHUNK: usize = 1024 * 1024;

/// Why the command is being stopped.
enum Stop {
    Cancelled(String),
    Deadline,
}

pub(super) struct Driver<'r> {
    operation: &'r OperationHandle,
    plan: &'r CommandPlan,
    command: RunningCommand,
    output: Receiver,
    buffer: Vec<u8>,
    open: bool,
}

impl<'r> Driver<'r> {
    pub(super) fn new(
        operation: &'r OperationHandle,
        plan: &'r CommandPlan,
        command: RunningCommand,
        output: Receiver,
    ) -> Self {
        Driver {
            operation,
            plan,
            command,
            output,
            buffer: vec![0; LITTLE],
            open: true,
        }
    }

    /// Follows the command to its end, and says which limit it reached; `None` when it never began and another host can run it.
    pub(super) async fn drive(mut self) -> Option<(Completion, Option<LimitReached>)> {
        let deadline = self.plan.deadline.map(|it| Instant::now() + it);
        let operation = self.operation;
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
                    limit = Some(Instant::now() + GRACE);
                }
                () = at(limit) => {
                    if stop.is_some() {
                        break self.kill().await;
                    }
                    stop = Some(Stop::Deadline);
                    self.command.terminate();
                    limit = Some(Instant::now() + GRACE);
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
        let ended_by_itself = stop.is_none();
        let mut completion = completion_of(exit, stop, self.plan);
        if ended_by_itself {
            completion.left_behind = self.command.killed();
        }
        if !is_gone {
            completion = Completion::new(OperationState::Lost, UNENDABLE.to_owned());
        }
        let reached = match completion.state {
            OperationState::Failed => self.command.limit_reached().await,
            _ => None,
        };
        Some((completion, reached))
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
                self.operation.write(chunk).await;
            }
        }
    }
}

/// Waits until a moment; for ever where there is none.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn completion_of(exit: Result<Exit, NoExit>, stop: Option<Stop>, plan: &CommandPlan) -> Completion {
    let is_success = |code: i32| match plan.success_exit_codes.as_slice() {
        [] => code == 0,
        codes => codes.iter().any(|it| i32::from(*it) == code),
    };
    let (exit_code, signal) = match exit {
        Ok(exit) => (exit.code, exit.signal),
        Err(_) => (None, None),
    };
    let (state, explanation) = match (stop, exit) {
        (Some(Stop::Cancelled(reason)), _) => (OperationState::Cancelled, Some(reason)),
        (Some(Stop::Deadline), _) => (
            OperationState::TimedOut,
            plan.deadline.map(|it| match it.as_secs_f64() {
                1.0 => "stopped after 1 second".to_owned(),
                seconds => format!("stopped after {seconds} seconds"),
            }),
        ),
        (None, Err(NoExit::HostGone)) => (
            OperationState::Lost,
            Some("the sandbox host died while the command ran".to_owned()),
        ),
        (None, Err(not_started)) => (OperationState::Failed, Some(not_started.to_string())),
        (
            None,
            Ok(Exit {
                code: Some(code), ..
            }),
        ) if is_success(code) => (OperationState::Completed, None),
        (None, Ok(_)) => (OperationState::Failed, None),
    };
    Completion {
        state,
        exit_code,
        signal,
        explanation,
        warnings: Vec::new(),
        left_behind: 0,
        denial: None,
    }
}
