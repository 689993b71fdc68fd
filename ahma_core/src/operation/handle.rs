//! A live operation: read by anyone, written by its executor, its state changed by the store only.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::event::{OperationEvent, Publisher};
use super::{
    Completion, InputWriter, NewResult, OperationId, OperationRecord, OperationState, ResultParts,
};
use crate::light_watch::LightWatch;
use crate::output::{Output, SpoolPlace};

/// Bytes of the reason for an end.
const MAX_REASON_LEN: usize = 1024;
/// Bytes of a command line that are remembered.
const MAX_COMMAND_LEN: usize = 200;

/// Who asked for an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// What the client calls itself.
    pub client: Arc<str>,
    /// Tells clients apart, also those of one name: its session where it has one.
    pub key: Arc<str>,
}

impl From<&str> for Origin {
    /// A client that is the only one of its name.
    fn from(name: &str) -> Self {
        Origin {
            client: name.into(),
            key: name.into(),
        }
    }
}

/// An operation to begin.
#[derive(Debug, Clone)]
pub struct NewOperation {
    /// The tool that was called.
    pub tool: String,
    /// Where it works.
    pub working_directory: PathBuf,
    /// Output that is kept, in bytes; what comes after it is counted and dropped.
    pub output_limit: Option<u64>,
    /// What it runs, for people; the beginning of it is remembered.
    pub command: String,
    /// How long it may run once it runs.
    pub deadline: Option<Duration>,
    /// Whether it is meant to go on until somebody ends it.
    pub is_service: bool,
    /// Where its input can be written, where it was asked for.
    pub input: Option<Arc<InputWriter>>,
    /// What its result is made of, where that is more than its output.
    pub result: Option<NewResult>,
    /// Who asked for it.
    pub origin: Origin,
}

/// One operation.
#[derive(Debug)]
pub struct OperationHandle {
    id: OperationId,
    /// Counts operations in the order they began.
    pub(super) number: u64,
    tool: String,
    working_directory: PathBuf,
    command: Box<str>,
    deadline: Option<Duration>,
    is_service: bool,
    input: Option<Arc<InputWriter>>,
    result: Option<Box<ResultParts>>,
    origin: Origin,
    /// Whether the one who asked for it has been given its result.
    is_given: AtomicBool,
    created: Instant,
    created_at: SystemTime,
    output: Output,
    pub(super) stage: LightWatch<Stage>,
    stop: LightWatch<Option<String>>,
    events: Publisher,
}

/// The part of an operation that changes.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub(super) state: OperationState,
    pub(super) completion: Option<Completion>,
    pub(super) ended: Option<Instant>,
    /// When this was written down.
    pub(super) since: SystemTime,
    /// When it began to run.
    pub(super) running_since: Option<SystemTime>,
    /// What a queued operation waits for before it may run.
    pub(super) waits_for: Option<&'static str>,
    /// What it is doing now, where it does several things.
    pub(super) step: Option<String>,
}

impl OperationHandle {
    pub(super) fn new(
        id: OperationId,
        number: u64,
        new: NewOperation,
        spools: SpoolPlace,
        events: Publisher,
    ) -> Self {
        OperationHandle {
            id,
            number,
            tool: new.tool,
            working_directory: new.working_directory,
            command: beginning(&new.command).into(),
            deadline: new.deadline,
            is_service: new.is_service,
            input: new.input,
            result: (new.result).map(|it| Box::new(ResultParts::new(it, spools.clone()))),
            origin: new.origin,
            is_given: AtomicBool::new(false),
            created: Instant::now(),
            created_at: SystemTime::now(),
            output: Output::new(spools),
            stage: LightWatch::new(Stage {
                state: OperationState::Queued,
                completion: None,
                ended: None,
                since: SystemTime::now(),
                running_since: None,
                waits_for: None,
                step: None,
            }),
            stop: LightWatch::default(),
            events,
        }
    }

    /// Its name.
    pub fn id(&self) -> &OperationId {
        &self.id
    }

    /// The tool that was called.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The beginning of what it runs, on one line.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// How long it may run, where there is a limit.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// Whether it is meant to go on until somebody ends it.
    pub fn is_service(&self) -> bool {
        self.is_service
    }

    /// Where its input can be written, where it was asked for.
    pub fn input(&self) -> Option<&Arc<InputWriter>> {
        self.input.as_ref()
    }

    /// What its result is made of, where that is more than its output.
    pub fn result(&self) -> Option<&ResultParts> {
        self.result.as_deref()
    }

    /// When it is stopped, once it runs.
    pub fn ends_at(&self) -> Option<SystemTime> {
        let running_since = self.stage.read(|stage| stage.running_since);
        running_since?.checked_add(self.deadline?)
    }

    /// Who asked for it.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Notes that the one who asked for it has been given its result.
    pub fn note_given(&self) {
        self.is_given.store(true, Ordering::Relaxed);
    }

    /// Whether the one who asked for it has been given its result.
    pub fn is_given(&self) -> bool {
        self.is_given.load(Ordering::Relaxed)
    }

    /// What it has written so far.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// When it was taken in.
    pub fn created_at(&self) -> SystemTime {
        self.created_at
    }

    /// When its state changed last.
    pub fn changed_at(&self) -> SystemTime {
        self.stage.read(|stage| stage.since)
    }

    /// What it is doing now, where it does several things.
    pub fn step(&self) -> Option<String> {
        self.stage.read(|stage| stage.step.clone())
    }

    /// What it waits for before it may run.
    pub fn waits_for(&self) -> Option<&'static str> {
        self.stage.read(|stage| stage.waits_for)
    }

    /// Its state.
    pub fn state(&self) -> OperationState {
        self.stage.read(|stage| stage.state)
    }

    /// How it ended, once it has.
    pub fn completion(&self) -> Option<Completion> {
        self.stage.read(|stage| stage.completion.clone())
    }

    /// Waits until it runs, or has ended.
    pub async fn runs(&self) {
        let begun = |stage: &Stage| (stage.state != OperationState::Queued).then_some(());
        self.stage.wait(begun).await;
    }

    /// Waits for its end.
    pub async fn ended(&self) -> Completion {
        self.stage.wait(|stage| stage.completion.clone()).await
    }

    /// Asks for its end. The first reason counts, as far as it is not too long: it is kept and repeated.
    pub fn cancel(&self, reason: impl Into<String>) {
        let mut reason: String = reason.into();
        reason.truncate(reason.floor_char_boundary(MAX_REASON_LEN));
        reason.shrink_to_fit();
        self.stop.change(|stop| {
            let is_first = stop.is_none();
            if is_first {
                *stop = Some(reason);
            }
            is_first
        });
    }

    /// Waits until its end is asked for; the reason.
    pub async fn cancelled(&self) -> String {
        self.stop.wait(Option::clone).await
    }

    /// Adds to its output. Counts, beginning and end are right even when the disk is full.
    pub async fn write(&self, chunk: Vec<u8>) {
        let _ = self.output.append(chunk).await;
        self.events.publish(|| OperationEvent::Output {
            id: self.id.clone(),
            bytes: self.output.totals().bytes,
        });
    }

    /// What is told about it.
    pub fn record(&self) -> OperationRecord {
        let stage = self.stage.read(Stage::clone);
        let totals = self.output.totals();
        let until = stage.ended.unwrap_or_else(Instant::now);
        let completion = stage.completion.as_ref();
        OperationRecord {
            operation_id: self.id.clone(),
            tool: self.tool.clone(),
            state: stage.state,
            exit_code: completion.and_then(|it| it.exit_code),
            signal: completion.and_then(|it| it.signal),
            duration_ms: milliseconds(until - self.created),
            output_bytes: totals.bytes,
            output_lines: totals.lines,
            truncated: !self.output.is_whole(),
            working_directory: self.working_directory.to_string_lossy().into_owned(),
        }
    }

    pub(super) fn publish_change(&self) {
        self.events
            .publish(|| OperationEvent::Changed(Arc::new(self.record())));
    }
}

/// The beginning of a command line, on one line.
fn beginning(command: &str) -> String {
    let cut = &command[..command.floor_char_boundary(MAX_COMMAND_LEN)];
    let line = cut.replace(['\n', '\r', '\t'], " ");
    match cut.len() < command.len() {
        true => format!("{line}…"),
        false => line,
    }
}

/// Milliseconds, as many as fit.
fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
