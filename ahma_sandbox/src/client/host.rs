//! One sandbox host, as the server sees it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::command::{RunningCommand, into_wire, open_input};
use super::connection::Connection;
use super::spawner::Reaper;
use super::warm::WarmShells;
use crate::accepted_commands::AcceptedCommands;
use crate::command::{CommandRequest, Exit, NoExit};
use crate::error::{LaunchStep, SetupFailure, SetupStep, SpawnError, StartError};
use crate::policy::SandboxPolicy;
use crate::report::SandboxReport;
use crate::scope::DirectoryIdentity;
use crate::wire::{FromHost, ToHost};

/// A confined process that starts commands. Ends, with everything in it, when dropped.
pub struct SandboxHost {
    shared: Arc<Shared>,
    reaper: Reaper,
    report: SandboxReport,
    pid: u32,
    scope: DirectoryIdentity,
}

/// What the handle, its commands and the task that reads share.
pub(super) struct Shared {
    pub(super) connection: Connection,
    commands: Mutex<Commands>,
    next: AtomicU64,
    accepted: AcceptedCommands,
    /// Whether this side ended it; then the host may still look at commands for a moment.
    ended_here: AtomicBool,
    warm: OnceLock<Arc<WarmShells>>,
}

/// The commands whose end has not been reported; `None` once the host is gone.
type Commands = Option<HashMap<u64, Waiting>>;

/// Who waits for news of a command.
struct Waiting {
    exited: Option<oneshot::Sender<Result<Exit, NoExit>>>,
    gone: oneshot::Sender<()>,
}

impl SandboxHost {
    pub(super) async fn connect(
        socket: OwnedFd,
        pid: u32,
        reaper: Reaper,
        policy: &SandboxPolicy,
        scope: DirectoryIdentity,
    ) -> Result<Self, StartError> {
        let connection = Connection::new(socket).map_err(StartError::Host)?;
        let json = serde_json::to_vec(policy).map_err(|error| StartError::Host(error.into()))?;
        let accepted = AcceptedCommands::new().map_err(StartError::Host)?;
        let report = greet(&connection, json, &accepted).await?;
        let shared = Arc::new(Shared {
            connection,
            commands: Mutex::new(Some(HashMap::new())),
            next: AtomicU64::new(1),
            accepted,
            ended_here: AtomicBool::new(false),
            warm: OnceLock::new(),
        });
        tokio::spawn(read(Arc::clone(&shared), reaper.clone()));
        Ok(SandboxHost {
            shared,
            reaper,
            report,
            pid,
            scope,
        })
    }

    /// What this host enforces.
    pub fn report(&self) -> &SandboxReport {
        &self.report
    }

    /// The process around the host.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the host has ended.
    pub fn is_gone(&self) -> bool {
        self.shared.commands().is_none()
    }

    /// Ends the host with everything that runs in it, and waits until no process of it is left.
    pub async fn end(&self) {
        self.shared.ended_here.store(true, Ordering::Release);
        // First, or the end of the connection would have it killed.
        let ended = self.reaper.ended();
        self.shared.connection.close();
        ended.await;
    }

    /// Whether the scope is gone or another directory has taken its place. Commands of this host still
    /// see the old one.
    pub fn is_stale(&self) -> bool {
        !self.scope.is_still_there()
    }

    /// Has a command started. Whether its program could be executed is said by
    /// [`RunningCommand::exited`]: waiting for it here would cost every command a message.
    ///
    /// A script (`SHELL -c -- SCRIPT`) goes to a warm shell, when there is one.
    pub async fn spawn(&self, request: CommandRequest) -> Result<RunningCommand, SpawnError> {
        let warm = self.shared.warm.get();
        if let Some(command) = warm.and_then(|shells| shells.run(&request, self.shared.running())) {
            return Ok(command);
        }
        let input = open_input(&request.input).map_err(SpawnError::Resources)?;
        self.shared.spawn(request, &input, &[]).await
    }

    /// Keeps so many shells waiting for scripts that run in this environment. Once for each host. Only
    /// `bash` can wait; of another shell none is kept.
    pub fn keep_warm(&self, count: usize, shell: OsString, environment: Vec<(OsString, OsString)>) {
        let is_bash = Path::new(&shell).file_name() == Some(OsStr::new("bash"));
        // With this variable it would not wait for long.
        let can_wait = !environment.iter().any(|(name, _)| name == "TMOUT");
        if count > 0 && is_bash && can_wait {
            let home = self.scope.path().to_owned();
            let keep = || WarmShells::keep(&self.shared, count, shell, environment, home);
            self.shared.warm.get_or_init(keep);
        }
    }

    /// How many shells wait for a script.
    pub fn warm_shells(&self) -> usize {
        self.shared.warm.get().map_or(0, |shells| shells.waiting())
    }
}

impl Drop for SandboxHost {
    fn drop(&mut self) {
        self.shared.ended_here.store(true, Ordering::Release);
        self.shared.connection.close();
    }
}

/// Sends the policy and waits until the host is confined.
async fn greet(
    connection: &Connection,
    policy: Vec<u8>,
    accepted: &AcceptedCommands,
) -> Result<SandboxReport, StartError> {
    connection
        .send(&ToHost::Policy(policy), &[accepted.as_fd()])
        .await
        .map_err(StartError::Host)?;
    let mut buffer = Vec::new();
    let unreadable = |error: serde_json::Error| StartError::Host(error.into());
    match connection.receive(&mut buffer).await {
        Some(Ok(FromHost::Ready(json))) => serde_json::from_slice(&json).map_err(unreadable),
        Some(Ok(FromHost::SetupFailed(json))) => {
            let failure: SetupFailure = serde_json::from_slice(&json).map_err(unreadable)?;
            Err(StartError::Setup(failure))
        }
        Some(_) => Err(StartError::Setup(SetupFailure::new(
            SetupStep::Process,
            "the host began with an unexpected message",
        ))),
        None => Err(StartError::Host(io::Error::other(
            "it ended before it was ready",
        ))),
    }
}

/// Passes news on until the host is gone; then everyone who waits learns that.
async fn read(shared: Arc<Shared>, reaper: Reaper) {
    let mut buffer = Vec::new();
    while let Some(message) = shared.connection.receive(&mut buffer).await {
        match message {
            Ok(message) => shared.deliver(&message),
            Err(_) => {
                // A host that talks nonsense is ended.
                shared.ended_here.store(true, Ordering::Release);
                break;
            }
        }
    }
    shared.connection.close();
    shared.is_over();
    reaper.reap();
}

impl Shared {
    fn commands(&self) -> MutexGuard<'_, Commands> {
        // A map of channels is consistent after any panic.
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many commands have not ended, those that wait included; `None` when the host is gone.
    pub(super) fn running(&self) -> Option<usize> {
        self.commands().as_ref().map(HashMap::len)
    }

    /// Has a command started, with descriptors beside the standard ones.
    pub(super) async fn spawn(
        self: &Arc<Self>,
        request: CommandRequest,
        input: &OwnedFd,
        further: &[BorrowedFd<'_>],
    ) -> Result<RunningCommand, SpawnError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (output, writing) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|error| SpawnError::Resources(error.into()))?;
        let message = ToHost::Run(into_wire(request, id)?);

        let (exited, exit) = oneshot::channel();
        let (gone, end) = oneshot::channel();
        // Everything that can fail comes before the request: what was sent runs.
        let mut command = RunningCommand::new(id, Arc::clone(self), output, exit, end)
            .map_err(SpawnError::Resources)?;
        let waiting = Waiting {
            exited: Some(exited),
            gone,
        };
        self.expect(id, waiting)?;
        let mut fds = vec![input.as_fd(), writing.as_fd()];
        fds.extend(further);
        match self.connection.send(&message, &fds).await {
            Ok(()) => {
                command.was_sent();
                Ok(command)
            }
            Err(error) => Err(self.not_sent(error)),
        }
    }

    fn not_sent(&self, error: io::Error) -> SpawnError {
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

    fn expect(&self, id: u64, waiting: Waiting) -> Result<(), SpawnError> {
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
    fn is_over(&self) {
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
        if let Some(shells) = self.warm.get() {
            shells.give_up();
        }
    }

    /// There may be time now to start warm shells.
    pub(super) fn look_for_shells(&self) {
        if let Some(shells) = self.warm.get() {
            shells.look();
        }
    }

    pub(super) fn forget(&self, id: u64) {
        if let Some(commands) = self.commands().as_mut() {
            commands.remove(&id);
        }
    }

    fn deliver(&self, message: &FromHost) {
        let mut commands = self.commands();
        let Some(commands) = commands.as_mut() else {
            return;
        };
        let (id, exit, last) = match *message {
            FromHost::NotStarted { id, step, errno } => {
                let step = LaunchStep::from_code(step).unwrap_or(LaunchStep::Process);
                (id, Err(NoExit::NotStarted { step, errno }), true)
            }
            FromHost::Exited { id, status, last } => (id, Ok(Exit::from_wait_status(status)), last),
            // Heard of only when no exit was reported: then the supervisor was killed.
            FromHost::Gone { id } => (id, Ok(Exit::from_wait_status(libc::SIGKILL)), true),
            FromHost::Ready(_) | FromHost::SetupFailed(_) => return,
        };
        if last {
            self.look_for_shells();
        }
        if let Some(exited) = commands.get_mut(&id).and_then(|it| it.exited.take()) {
            let _ = exited.send(exit);
        }
        if let Some(waiting) = last.then(|| commands.remove(&id)).flatten() {
            let _ = waiting.gone.send(());
        }
    }
}
