//! The store: the only writer of operation state.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::record::milliseconds;
use super::{Completion, OperationId, OperationRecord, OperationState};
use crate::light_watch::LightWatch;
use crate::output::{INLINE_LIMIT, Output, SpoolPlace};

/// How long finished operations are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// At most this many.
    pub count: usize,
    /// At most this long after their end.
    pub age: Duration,
    /// At most this many that have not ended; more are refused.
    pub unfinished: usize,
}

impl Default for Retention {
    fn default() -> Self {
        Retention {
            count: 1_000,
            age: Duration::from_secs(60 * 60),
            unfinished: 128 + 1024,
        }
    }
}

/// An operation to begin.
#[derive(Debug, Clone)]
pub struct NewOperation {
    /// The tool that was called.
    pub tool: String,
    /// Where its command runs.
    pub working_directory: PathBuf,
    /// Output that is kept, in bytes; what comes after it is counted and dropped.
    pub output_limit: Option<u64>,
}

/// Why an operation is not taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionError {
    /// There are too many.
    #[error(
        "{0} operations are running or waiting already; wait for some of them with `await`, or stop one with \
         `cancel`"
    )]
    Full(usize),
    /// Nothing is taken in any more.
    #[error("the server is stopping")]
    Stopping,
}

/// One operation. Its output is written by the executor; its state only by the store.
#[derive(Debug)]
pub struct Operation {
    id: OperationId,
    /// Counts operations in the order they began.
    number: u64,
    tool: String,
    working_directory: PathBuf,
    created: Instant,
    created_at: SystemTime,
    /// What the command writes.
    pub output: Output,
    stage: LightWatch<Stage>,
    stop: LightWatch<Option<String>>,
}

/// The part of an operation that changes.
#[derive(Debug, Clone)]
struct Stage {
    state: OperationState,
    completion: Option<Completion>,
    ended: Option<Instant>,
    /// When this was written down.
    since: SystemTime,
    /// What it is at, where it does several things.
    step: Option<String>,
}

impl Operation {
    /// Its name.
    pub fn id(&self) -> &OperationId {
        &self.id
    }

    /// The tool that was called.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// When it was taken in.
    pub fn created_at(&self) -> SystemTime {
        self.created_at
    }

    /// When its state changed last.
    pub fn changed_at(&self) -> SystemTime {
        self.stage.read(|stage| stage.since)
    }

    /// What it is at, where it does several things.
    pub fn step(&self) -> Option<String> {
        self.stage.read(|stage| stage.step.clone())
    }

    /// Where it stands.
    pub fn state(&self) -> OperationState {
        self.stage.read(|stage| stage.state)
    }

    /// How it ended, once it has.
    pub fn completion(&self) -> Option<Completion> {
        self.stage.read(|stage| stage.completion.clone())
    }

    /// Waits for its end.
    pub async fn ended(&self) -> Completion {
        self.stage.wait(|stage| stage.completion.clone()).await
    }

    /// Asks for its end. The first reason counts.
    pub fn cancel(&self, reason: impl Into<String>) {
        self.stop.change(|stop| {
            let first = stop.is_none();
            if first {
                *stop = Some(reason.into());
            }
            first
        });
    }

    /// Waits until its end is asked for; the reason.
    pub async fn cancelled(&self) -> String {
        self.stop.wait(Option::clone).await
    }

    /// What clients are told.
    pub fn record(&self) -> OperationRecord {
        let stage = self.stage.read(Stage::clone);
        let totals = self.output.totals();
        let until = stage.ended.unwrap_or_else(Instant::now);
        OperationRecord {
            operation_id: self.id.clone(),
            tool: self.tool.clone(),
            state: stage.state,
            exit_code: stage
                .completion
                .as_ref()
                .and_then(|completion| completion.exit_code),
            signal: stage
                .completion
                .as_ref()
                .and_then(|completion| completion.signal),
            duration_ms: milliseconds(until - self.created),
            output_bytes: totals.bytes,
            output_lines: totals.lines,
            truncated: totals.bytes > INLINE_LIMIT as u64,
            working_directory: self.working_directory.to_string_lossy().into_owned(),
        }
    }
}

/// Every operation that is remembered.
#[derive(Debug)]
pub struct OperationStore {
    operations: Mutex<Operations>,
    retention: Retention,
    spools: SpoolPlace,
}

#[derive(Debug, Default)]
struct Operations {
    by_id: HashMap<OperationId, Arc<Operation>>,
    /// By number: from the oldest to the newest.
    order: BTreeMap<u64, OperationId>,
    next: u64,
    /// Ended ones, in the order of their end.
    ended: VecDeque<OperationId>,
    is_closed: bool,
}

impl OperationStore {
    /// An empty store; outputs that grow large go to `spools`.
    pub fn new(retention: Retention, spools: SpoolPlace) -> Self {
        OperationStore {
            operations: Mutex::default(),
            retention,
            spools,
        }
    }

    /// How long ended operations are remembered at most.
    pub fn longest_memory(&self) -> Duration {
        self.retention.age
    }

    /// Takes a new operation in, queued.
    pub fn begin(&self, new: NewOperation) -> Result<Arc<Operation>, AdmissionError> {
        let mut operations = self.lock();
        self.forget_old(&mut operations);
        let unfinished = operations.by_id.len() - operations.ended.len();
        if unfinished >= self.retention.unfinished {
            return Err(AdmissionError::Full(unfinished));
        }
        if operations.is_closed {
            return Err(AdmissionError::Stopping);
        }
        operations.next += 1;
        let spools = match new.output_limit {
            Some(limit) => self.spools.clone().with_limit(limit),
            None => self.spools.clone(),
        };
        let operation = Arc::new(Operation {
            id: OperationId::random(),
            number: operations.next,
            tool: new.tool,
            working_directory: new.working_directory,
            created: Instant::now(),
            created_at: SystemTime::now(),
            output: Output::new(spools),
            stage: LightWatch::new(Stage {
                state: OperationState::Queued,
                completion: None,
                ended: None,
                since: SystemTime::now(),
                step: None,
            }),
            stop: LightWatch::default(),
        });
        operations
            .order
            .insert(operation.number, operation.id.clone());
        operations
            .by_id
            .insert(operation.id.clone(), Arc::clone(&operation));
        Ok(operation)
    }

    /// Notes that the command of an operation runs.
    pub fn running(&self, operation: &Operation) {
        operation.stage.change(|stage| {
            let changes = stage.state == OperationState::Queued;
            if changes {
                stage.state = OperationState::Running;
                stage.since = SystemTime::now();
            }
            changes
        });
    }

    /// Notes what an operation is at.
    pub fn at_step(&self, operation: &Operation, step: String) {
        operation.stage.change(|stage| {
            stage.step = Some(step);
            true
        });
    }

    /// Notes how an operation ended. The first completion counts; whether this was it.
    pub fn end(&self, operation: &Operation, completion: Completion) -> bool {
        let mut operations = self.lock();
        let changed = operation.stage.change(|stage| {
            let changes = stage.completion.is_none();
            if changes {
                stage.state = completion.state;
                stage.ended = Some(Instant::now());
                stage.since = SystemTime::now();
                stage.completion = Some(completion);
            }
            changes
        });
        if changed {
            operation.output.finish();
            operations.ended.push_back(operation.id.clone());
            self.forget_old(&mut operations);
        }
        changed
    }

    /// Takes nothing in any more.
    pub fn close(&self) {
        self.lock().is_closed = true;
    }

    /// The operation of that name, if it is remembered.
    pub fn get(&self, id: &str) -> Option<Arc<Operation>> {
        let mut operations = self.lock();
        self.forget_old(&mut operations);
        operations.by_id.get(id).map(Arc::clone)
    }

    /// All operations, the newest first.
    pub fn newest_first(&self) -> Vec<Arc<Operation>> {
        let mut operations = self.lock();
        self.forget_old(&mut operations);
        let newest = operations.order.values().rev();
        newest
            .filter_map(|id| operations.by_id.get(id))
            .map(Arc::clone)
            .collect()
    }

    /// Forgets ended operations that are too many or too old. Those that run are never forgotten.
    fn forget_old(&self, operations: &mut Operations) {
        while let Some(id) = operations.ended.front() {
            let too_many = operations.ended.len() > self.retention.count;
            let ended = operations
                .by_id
                .get(id)
                .and_then(|it| it.stage.read(|stage| stage.ended));
            let too_old = ended.is_none_or(|ended| ended.elapsed() > self.retention.age);
            if !too_many && !too_old {
                break;
            }
            let id = id.clone();
            operations.ended.pop_front();
            if let Some(forgotten) = operations.by_id.remove(&id) {
                operations.order.remove(&forgotten.number);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Operations> {
        // The three collections are changed together under the lock, without a panic between.
        self.operations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
