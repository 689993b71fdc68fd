//! One running command, followed to the end of its last process: deadline, TERM, KILL, and proof that nothing is left.

use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::{Exit, LimitReached, NoExit, RunningCommand};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep_until, timeout};

use super::plan::CommandPlan;
use super::streams::{Stream, Streams};
use crate::operation::{Completion, Dialogue, OperationHandle, OperationState};

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

/// How long a question of a command waits for its answer.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
const NOBODY: &str = "nobody has answered in 10 minutes";

/// Why the command is being stopped.
enum Stop {
    Cancelled(String),
    Deadline,
}

/// One of the pipes that a command writes to.
struct Reading {
    pipe: Receiver,
    buffer: Vec<u8>,
    open: bool,
}

impl Reading {
    fn new(pipe: Receiver) -> Self {
        Reading {
            pipe,
            buffer: vec![0; LITTLE],
            open: true,
        }
    }

    /// What comes next; nothing at the end. May be dropped while it waits.
    async fn next(&mut self) -> Option<Vec<u8>> {
        let length = self.pipe.read(&mut self.buffer).await;
        let length = length.ok().filter(|it| *it > 0);
        let Some(length) = length else {
            self.open = false;
            return None;
        };
        let chunk = self.buffer[..length].to_vec();
        match length {
            LITTLE if self.buffer.len() == LITTLE => self.buffer.resize(CHUNK, 0),
            CHUNK if self.buffer.len() == CHUNK => self.widen(),
            _ => {}
        }
        Some(chunk)
    }

    /// Lets a flood pass in larger pieces. Where the kernel refuses, it goes on in small ones.
    fn widen(&mut self) {
        if ahma_sandbox::enlarge_pipe(&self.pipe, FLOOD_CHUNK).is_ok() {
            self.buffer.resize(FLOOD_CHUNK, 0);
        }
    }
}

pub(super) struct Driver<'r> {
    operation: &'r OperationHandle,
    plan: &'r CommandPlan,
    command: RunningCommand,
    output: Reading,
    errors: Option<Reading>,
    streams: Streams<'r>,
}

/// How a command ended.
pub(super) struct Driven {
    pub(super) completion: Completion,
    pub(super) limit_reached: Option<LimitReached>,
    /// What was held back of what it wrote.
    pub(super) held: Vec<u8>,
}

impl<'r> Driver<'r> {
    pub(super) fn new(
        operation: &'r OperationHandle,
        plan: &'r CommandPlan,
        command: RunningCommand,
        output: Receiver,
        errors: Option<Receiver>,
    ) -> Self {
        Driver {
            operation,
            plan,
            command,
            output: Reading::new(output),
            errors: errors.map(Reading::new),
            streams: Streams::new(operation, plan),
        }
    }

    /// Follows the command to its end, and says which limit it reached; `None` when it never began and another host can run it.
    pub(super) async fn drive(mut self) -> Option<Driven> {
        let deadline = self.plan.deadline.map(|it| Instant::now() + it);
        let operation = self.operation;
        let plan = self.plan;
        let dialogue = plan.events.as_ref().map(|it| &it.dialogue);
        // How long the deadline has been moved because the command waited for answers.
        let mut waited = Duration::ZERO;
        let mut stands_still = false;
        let mut stop: Option<Stop> = None;
        // When timeout ends: first with politeness, then with everything.
        let mut limit = deadline;
        let exit = loop {
            tokio::select! {
                biased;
                exit = self.command.exited() => break exit,
                reason = operation.cancelled(), if stop.is_none() => {
                    stop = Some(Stop::Cancelled(reason));
                    stands_still = false;
                    self.command.terminate();
                    limit = Some(Instant::now() + GRACE);
                }
                () = at(limit), if !stands_still => {
                    if stop.is_some() {
                        break self.kill().await;
                    }
                    if dialogue.is_some_and(|it| it.has_waited(waited)) {
                        stands_still = true;
                        continue;
                    }
                    stop = Some(Stop::Deadline);
                    self.command.terminate();
                    limit = Some(Instant::now() + GRACE);
                }
                chunk = self.output.next(), if self.output.open => {
                    self.take(Stream::Output, chunk).await;
                }
                chunk = next(&mut self.errors) => self.take(Stream::Errors, chunk).await,
                in_all = time_for_answers(dialogue), if stands_still => {
                    limit = limit.map(|it| it + in_all.saturating_sub(waited));
                    waited = in_all;
                    stands_still = false;
                }
                number = unanswered(dialogue) => {
                    if let Some(dialogue) = dialogue {
                        dialogue.give_up(number, NOBODY);
                    }
                }
            }
        };
        self.drain().await;
        let is_gone = self.end_the_rest().await;
        let held = self.streams.end().await;
        if let Some(dialogue) = dialogue {
            dialogue.end().await;
        }
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
        Some(Driven {
            completion,
            limit_reached: reached,
            held,
        })
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
        while self.output.open || self.errors.as_ref().is_some_and(|it| it.open) {
            tokio::select! {
                // The time first: something that never stops writing must not be waited for.
                biased;
                () = sleep_until(end) => return,
                chunk = self.output.next(), if self.output.open => self.take(Stream::Output, chunk).await,
                chunk = next(&mut self.errors) => self.take(Stream::Errors, chunk).await,
            }
        }
    }

    async fn take(&mut self, from: Stream, chunk: Option<Vec<u8>>) {
        if let Some(chunk) = chunk {
            self.streams.take(from, chunk).await;
        }
    }
}

/// What comes next; waits for ever where nothing can.
async fn next(reading: &mut Option<Reading>) -> Option<Vec<u8>> {
    match reading {
        Some(reading) if reading.open => reading.next().await,
        _ => std::future::pending().await,
    }
}

/// How long a command has waited for answers, once it does not wait for one: its time stands still meanwhile.
async fn time_for_answers(dialogue: Option<&Arc<Dialogue>>) -> Duration {
    match dialogue {
        Some(dialogue) => dialogue.answered().await,
        None => Duration::ZERO,
    }
}

/// Waits until a question has waited for too long; which one.
async fn unanswered(dialogue: Option<&Arc<Dialogue>>) -> u64 {
    let Some(dialogue) = dialogue else {
        return std::future::pending().await;
    };
    let question = dialogue.asked().await;
    sleep_until(question.asked + PATIENCE).await;
    question.number
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
