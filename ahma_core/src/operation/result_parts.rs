//! What an operation's result is made of, where that is more than its output.

use std::sync::Arc;

use super::Dialogue;
use crate::config::{OutputKind, ResultSpec};
use crate::output::{Output, SpoolPlace};

/// What an operation's result is made of.
#[derive(Debug)]
pub struct ResultParts {
    spec: ResultSpec,
    product: Output,
    dialogue: Option<Arc<Dialogue>>,
}

/// What is known of them before the operation begins.
#[derive(Debug, Clone)]
pub struct NewResult {
    /// What becomes of what a command writes.
    pub spec: ResultSpec,
    /// Where it is spoken with, when it writes events.
    pub dialogue: Option<Arc<Dialogue>>,
}

impl ResultParts {
    pub(super) fn new(new: NewResult, spools: SpoolPlace) -> Self {
        ResultParts {
            spec: new.spec,
            product: Output::new(spools),
            dialogue: new.dialogue,
        }
    }

    /// What becomes of what the command writes.
    pub fn spec(&self) -> &ResultSpec {
        &self.spec
    }

    /// What the command writes.
    pub fn kind(&self) -> OutputKind {
        self.spec.kind
    }

    /// What stands beside the output: the bytes of a picture or sound, the content of events, one JSON value a line, or what a
    /// program whose output is JSON wrote to its standard error.
    pub fn product(&self) -> &Output {
        &self.product
    }

    /// Where the command is spoken with, when it writes events.
    pub fn dialogue(&self) -> Option<&Arc<Dialogue>> {
        self.dialogue.as_ref()
    }
}
