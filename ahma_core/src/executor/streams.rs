//! What a command writes, on its way to the operation: as text, or as what its result is made of.

use super::event_stream::EventStream;
use super::plan::CommandPlan;
use crate::config::OutputKind;
use crate::operation::OperationHandle;

/// A picture is no shorter than that, and no path is longer.
pub(super) const MAX_PATH: usize = 4096;

/// Takes what a command writes.
pub(super) struct Streams<'r> {
    operation: &'r OperationHandle,
    kind: OutputKind,
    events: EventStream<'r>,
    /// The beginning of a picture, or the path of one.
    held: Vec<u8>,
    /// More of it has come than a path can have.
    is_long: bool,
}

/// Where something was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Output,
    Errors,
}

impl<'r> Streams<'r> {
    pub(super) fn new(operation: &'r OperationHandle, plan: &'r CommandPlan) -> Self {
        Streams {
            operation,
            kind: plan.output.kind,
            events: EventStream::new(plan.events.as_ref().map(|it| &it.dialogue)),
            held: Vec::new(),
            is_long: false,
        }
    }

    /// Takes a piece.
    pub(super) async fn take(&mut self, from: Stream, chunk: Vec<u8>) {
        match (self.kind, from) {
            (OutputKind::Text, _)
            | (OutputKind::Json, Stream::Output)
            | (OutputKind::Image | OutputKind::Audio | OutputKind::Events, Stream::Errors) => {
                self.operation.write(chunk).await;
            }
            (OutputKind::Json, Stream::Errors) => match self.operation.result() {
                Some(result) => drop(result.product().append(chunk).await),
                None => self.operation.write(chunk).await,
            },
            (OutputKind::Image | OutputKind::Audio, Stream::Output) => self.picture(chunk).await,
            (OutputKind::Events, Stream::Output) => self.events.take(self.operation, chunk).await,
        }
    }

    /// Takes the end; what was held back then.
    pub(super) async fn end(&mut self) -> Vec<u8> {
        if self.kind == OutputKind::Events {
            self.events.end(self.operation).await;
        }
        std::mem::take(&mut self.held)
    }

    async fn picture(&mut self, chunk: Vec<u8>) {
        if self.is_long {
            return self.keep(chunk).await;
        }
        self.held.extend(chunk);
        if self.held.len() > MAX_PATH {
            self.is_long = true;
            let held = std::mem::take(&mut self.held);
            self.keep(held).await;
        }
    }

    /// Only a result of its own can hold bytes; a step of a sequence has none.
    async fn keep(&self, bytes: Vec<u8>) {
        if let Some(result) = self.operation.result() {
            let _ = result.product().append(bytes).await;
        }
    }
}
