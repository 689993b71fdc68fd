//! Every operation of a scope that is remembered, and the only writer of their state.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::event::Publisher;
use super::handle::NewOperation;
use super::{
    Completion, OperationEvents, OperationFilter, OperationHandle, OperationId, OperationState,
};
use crate::output::SpoolPlace;

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

/// Why an operation is not taken in.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// There are too many.
    #[error(
        "{0} operations are running or waiting already; wait for some of them with `await`, or stop one with \
         `cancel`"
    )]
    Full(usize),
    /// They hold too much memory.
    #[error(
        "arguments and input of the operations that run or wait take too much memory already; wait for some of them \
         with `await`, stop one with `cancel`, or put what is large into files"
    )]
    TooManyBytes,
    /// Nothing is taken in any more.
    #[error("the server is stopping")]
    Stopping,
    /// No unguessable name can be made.
    #[error("the system has no random numbers: {0}")]
    NoRandomness(std::io::Error),
}

/// Every operation that is remembered.
#[derive(Debug)]
pub struct OperationStore {
    operations: Mutex<Operations>,
    /// How many are in each state, by its place in [`OperationState::ALL`].
    counts: [AtomicUsize; OperationState::ALL.len()],
    retention: Retention,
    spools: SpoolPlace,
    events: Publisher,
    /// An operation has ended.
    ended: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Operations {
    by_id: HashMap<OperationId, Arc<OperationHandle>>,
    /// By number: from the oldest to the newest.
    order: BTreeMap<u64, Arc<OperationHandle>>,
    next: u64,
    /// Ended ones, in the order of their end.
    ended: VecDeque<Arc<OperationHandle>>,
    is_closed: bool,
}

impl OperationStore {
    /// An empty store; outputs that grow large go to `spools`.
    pub fn new(retention: Retention, spools: SpoolPlace) -> Self {
        OperationStore {
            operations: Mutex::default(),
            counts: Default::default(),
            retention,
            spools,
            events: Publisher::default(),
            ended: Arc::default(),
        }
    }

    /// How long ended operations are remembered at most.
    pub fn retention_age(&self) -> Duration {
        self.retention.age
    }

    /// The operation of that name, if it is remembered.
    pub fn get(&self, id: &str) -> Option<Arc<OperationHandle>> {
        let mut operations = self.lock();
        self.forget_old(&mut operations);
        operations.by_id.get(id).map(Arc::clone)
    }

    /// The operations that meet a filter, the newest first.
    pub fn query(&self, filter: &OperationFilter) -> Vec<Arc<OperationHandle>> {
        let mut operations = self.lock();
        self.forget_old(&mut operations);
        let newest = operations.order.values().rev();
        newest
            .filter(|operation| filter.is_met_by(operation))
            .take(filter.limit.unwrap_or(usize::MAX))
            .map(Arc::clone)
            .collect()
    }

    /// How many are in a state, without looking at any of them.
    pub fn count(&self, state: OperationState) -> usize {
        self.counter(state).load(Ordering::Relaxed)
    }

    /// Whether something runs or waits to run.
    pub fn is_busy(&self) -> bool {
        self.count(OperationState::Queued) + self.count(OperationState::Running) > 0
    }

    /// Tells what happens to every operation from now on.
    pub fn subscribe(&self) -> OperationEvents {
        self.events.subscribe()
    }

    /// What is notified when an operation has ended; one who waits is enough to be told of all.
    pub(crate) fn ended_signal(&self) -> Arc<Notify> {
        Arc::clone(&self.ended)
    }

    /// Takes a new operation in, queued.
    pub(crate) fn begin(&self, new: NewOperation) -> Result<Arc<OperationHandle>, AdmissionError> {
        let id = OperationId::random().map_err(AdmissionError::NoRandomness)?;
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
        let number = operations.next;
        let spools = match new.output_limit {
            Some(limit) => self.spools.clone().with_limit(limit),
            None => self.spools.clone(),
        };
        let events = self.events.clone();
        let operation = Arc::new(OperationHandle::new(id, number, new, spools, events));
        operations.order.insert(number, Arc::clone(&operation));
        operations
            .by_id
            .insert(operation.id().clone(), Arc::clone(&operation));
        self.counter(OperationState::Queued)
            .fetch_add(1, Ordering::Relaxed);
        drop(operations);
        operation.publish_change();
        Ok(operation)
    }

    /// Notes what a queued operation waits for before it may run.
    pub(crate) fn waiting(&self, operation: &OperationHandle, what: &'static str) {
        operation.stage.change(|stage| {
            let is_queued = stage.state == OperationState::Queued;
            if is_queued {
                stage.waits_for = Some(what);
            }
            is_queued
        });
    }

    /// Notes that an operation is at work.
    pub(crate) fn running(&self, operation: &OperationHandle) {
        let changed = operation.stage.change(|stage| {
            let changes = stage.state == OperationState::Queued;
            if changes {
                self.moved(stage.state, OperationState::Running);
                stage.state = OperationState::Running;
                stage.waits_for = None;
                stage.since = SystemTime::now();
                stage.running_since = Some(stage.since);
            }
            changes
        });
        if changed {
            operation.publish_change();
        }
    }

    /// Notes what an operation is doing now.
    pub(crate) fn at_step(&self, operation: &OperationHandle, step: String) {
        operation.stage.change(|stage| {
            stage.step = Some(step);
            true
        });
        operation.publish_change();
    }

    /// Notes how an operation ended. The first end counts; whether this was it.
    pub(crate) fn end(&self, operation: &Arc<OperationHandle>, completion: Completion) -> bool {
        let mut operations = self.lock();
        let changed = operation.stage.change(|stage| {
            let changes = stage.completion.is_none();
            if changes {
                self.moved(stage.state, completion.state);
                stage.state = completion.state;
                stage.waits_for = None;
                stage.ended = Some(Instant::now());
                stage.since = SystemTime::now();
                stage.completion = Some(completion);
            }
            changes
        });
        if changed {
            operation.output().finish();
            if let Some(result) = operation.result() {
                result.product().finish();
            }
            operations.ended.push_back(Arc::clone(operation));
            self.forget_old(&mut operations);
            drop(operations);
            operation.publish_change();
            self.ended.notify_one();
        }
        changed
    }

    /// Takes nothing in any more.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
    }

    /// Forgets ended operations that are too many or too old. Those that run are never forgotten.
    fn forget_old(&self, operations: &mut Operations) {
        while let Some(oldest) = operations.ended.front() {
            let too_many = operations.ended.len() > self.retention.count;
            let ended = oldest.stage.read(|stage| stage.ended);
            let too_old = ended.is_none_or(|ended| ended.elapsed() > self.retention.age);
            if !too_many && !too_old {
                break;
            }
            if let Some(forgotten) = operations.ended.pop_front() {
                operations.by_id.remove(forgotten.id());
                operations.order.remove(&forgotten.number);
                self.counter(forgotten.state())
                    .fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    fn moved(&self, from: OperationState, to: OperationState) {
        self.counter(from).fetch_sub(1, Ordering::Relaxed);
        self.counter(to).fetch_add(1, Ordering::Relaxed);
    }

    fn counter(&self, state: OperationState) -> &AtomicUsize {
        &self.counts[state as usize]
    }

    fn lock(&self) -> MutexGuard<'_, Operations> {
        // The collections are changed together under the lock, without a panic between.
        self.operations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
