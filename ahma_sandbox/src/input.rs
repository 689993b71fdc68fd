//! What a command reads, and a pipe to write to while it runs. Must not write anything itself.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::unix::pipe;

/// The standard input of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Ends at once.
    Nothing,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// Whatever is written to the other end of a pipe, until that is closed.
    Pipe(InputPipe),
}

/// The end of a pipe that a command reads from.
#[derive(Debug, Clone)]
pub struct InputPipe(Arc<Mutex<Option<OwnedFd>>>);

impl InputPipe {
    /// A pipe, and the end that is written to.
    pub fn new() -> io::Result<(Self, pipe::Sender)> {
        let (reading, writing) = io::pipe()?;
        let pipe = InputPipe(Arc::new(Mutex::new(Some(reading.into()))));
        Ok((pipe, pipe::Sender::from_owned_fd(writing.into())?))
    }

    /// Gives up our hold on the end that the command has by now, so that a writer learns when nobody reads any more.
    pub fn release(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The descriptor for the command.
    pub(crate) fn open(&self) -> io::Result<OwnedFd> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = || io::Error::other("the command has its input already");
        held.as_ref().ok_or_else(gone)?.as_fd().try_clone_to_owned()
    }
}

/// The same pipe, not one that holds the same.
impl PartialEq for InputPipe {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for InputPipe {}
