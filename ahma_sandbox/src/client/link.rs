//! The server's end of one host: its connection, and who waits for which command.
//!
//! Delivers what the host reports. Must not start commands or know what they are.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use super::connection::Connection;
use crate::accepted_commands::AcceptedCommands;
use crate::command::{Exit, NoExit};
use crate::error::{LaunchStep, SpawnError};
use crate::wire::{FromHost, ToHost};

/// What the handle, its commands and the task that reads share.
pub(super) struct HostLink {
    pub(super) connection: Connection,
    commands: Mutex<Commands>,
    next: AtomicU64,
    accepted: AcceptedCommands,
    /// Whether this side ended it; then the host may still look at commands for a moment.
    ended_here: AtomicBool,
    /// A command has ended or goes on for long, or the host is gone: there may be time to start a warm shell.
    pub(super) changed: Notify,
}

/// The commands whose end has not been reported; `None` once the host is gone.
pub(super) type Commands = Option<HashMap<u64, Waiting>>;

/// Who waits for news of a command.
pub(super) struct Waiting {
    pub(super) exited: Option<oneshot::Sender<Result<Exit, NoExit>>>,
    pub(super) gone: oneshot::Sender<u32>,
}

impl HostLink {
    pub(super) fn new(connection: Connection, accepted: AcceptedCommands) -> Self {
        HostLink {
            connection,
            commands: Mutex::new(Some(HashMap::new())),
            next: AtomicU64::new(1),
            accepted,
            ended_here: AtomicBool::new(false),
            changed: Notify::new(),
        }
    }

    /// The number of the next command.
    pub(super) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// From now on the end of the host is this side's doing.
    pub(super) fn end_here(&self) {
        self.ended_here.store(true, Ordering::Release);
    }

    pub(super) fn commands(&self) -> MutexGuard<'_, Commands> {
        // A map of channels is consistent after any panic.
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many commands have not ended, those that wait included; `None` when the host is gone.
    pub(super) fn running(&self) -> Option<usize> {
        self.commands().as_ref().map(HashMap::len)
    }

    pub(super) fn not_sent(&self, error: io::Error) -> SpawnError {
        match error.kind() {
            io::ErrorKind::InvalidInput => SpawnError::BadRequest(error.to_string()),
            io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::NotConnected => {
                // Known at once, and not only when the reading task gets there.
                self.is_over();
                SpawnError::HostGone
            }
            _ => SpawnError::Resources(error),
        }
    }

    pub(super) fn expect(&self, id: u64, waiting: Waiting) -> Result<(), SpawnError> {
        let mut commands = self.commands();
        commands
            .as_mut()
            .ok_or(SpawnError::HostGone)?
            .insert(id, waiting);
        Ok(())
    }

    /// Sends a message that must not get lost. When the host does not keep up it is sent later.
    pub(super) fn tell(self: &Arc<Self>, message: ToHost) {
        let sent = self.connection.try_send(&message);
        let full = sent.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        if let (true, Ok(runtime)) = (full, Handle::try_current()) {
            let shared = Arc::clone(self);
            runtime.spawn(async move { shared.connection.send(&message, &[]).await });
        }
    }

    /// Everyone who waits learns that the host is gone, and whether it had looked at their command.
    pub(super) fn is_over(&self) {
        let waiting = self.commands().take();
        let last = match self.ended_here.load(Ordering::Acquire) {
            true => u64::MAX,
            false => self.accepted.last(),
        };
        for (id, command) in waiting.into_iter().flatten() {
            if let Some(exited) = command.exited.filter(|_| id > last) {
                let _ = exited.send(Err(NoExit::NeverStarted));
            }
        }
        self.changed.notify_one();
    }

    pub(super) fn forget(&self, id: u64) {
        if let Some(commands) = self.commands().as_mut() {
            commands.remove(&id);
        }
    }

    pub(super) fn deliver(&self, message: &FromHost) {
        let mut commands = self.commands();
        let Some(commands) = commands.as_mut() else {
            return;
        };
        let mut killed = 0;
        let (id, exit, last) = match *message {
            FromHost::NotStarted { id, step, errno } => {
                let step = LaunchStep::from_code(step).unwrap_or(LaunchStep::Process);
                (id, Err(NoExit::NotStarted { step, errno }), true)
            }
            FromHost::Exited { id, status, last } => (id, Ok(Exit::from_wait_status(status)), last),
            // Heard of only when no exit was reported: then the supervisor was killed.
            FromHost::Gone { id, killed: count } => {
                killed = u32::try_from(count).unwrap_or_default();
                (id, Ok(Exit::from_wait_status(libc::SIGKILL)), true)
            }
            FromHost::Ready(_) | FromHost::SetupFailed(_) => return,
        };
        if last {
            self.changed.notify_one();
        }
        if let Some(exited) = commands.get_mut(&id).and_then(|it| it.exited.take()) {
            let _ = exited.send(exit);
        }
        if let Some(waiting) = last.then(|| commands.remove(&id)).flatten() {
            let _ = waiting.gone.send(killed);
        }
    }
}
