//! One command: what is sent to the host, and the handle on it while it runs.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::sync::Arc;

use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::{RecvError, TryRecvError};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use super::cgroups::CommandGroup;
use super::handoff::{QUIET, ScriptHandoff};
use super::link::{HostLink, Waiting};
use crate::command::{CommandRequest, Exit, LimitReached, NoExit};
use crate::error::{LaunchStep, SpawnError};
use crate::input::Input;
use crate::wire::{RunRequest, ToHost};

/// The descriptor a command reads from.
pub(super) fn open_input(input: &Input) -> io::Result<OwnedFd> {
    match input {
        Input::Nothing => Ok(open(
            "/dev/null",
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?),
        Input::Pipe(pipe) => pipe.open(),
        Input::Bytes(bytes) => {
            // A memory file cannot block the writer and cannot be reached by any other path.
            let file = memfd_create("ahma-stdin", MemfdFlags::CLOEXEC)?;
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let written = rustix::io::write(&file, rest)?;
                rest = &rest[written..];
            }
            rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0))?;
            Ok(file)
        }
    }
}

/// The request as it is sent to the host.
fn into_wire(request: CommandRequest, id: u64, is_apart: bool) -> Result<RunRequest, SpawnError> {
    if request.arguments.is_empty() {
        return Err(SpawnError::BadRequest(
            "there is no program to run".to_owned(),
        ));
    }
    let environment = request.environment.into_iter().map(|(name, value)| {
        let entry = [name.as_bytes(), b"=", value.as_bytes()].concat();
        text(OsString::from_vec(entry).as_os_str(), "the environment")
    });
    Ok(RunRequest {
        id,
        is_apart,
        directory: text(request.directory.as_os_str(), "the working directory")?,
        environment: environment.collect::<Result<_, _>>()?,
        arguments: request
            .arguments
            .iter()
            .map(|argument| text(argument, "an argument"))
            .collect::<Result<_, _>>()?,
    })
}

fn text(value: &OsStr, what: &str) -> Result<CString, SpawnError> {
    CString::new(value.as_bytes())
        .map_err(|_| SpawnError::BadRequest(format!("{what} holds a NUL character")))
}

/// Descriptors of a command beside standard input and output.
#[derive(Default)]
pub(super) struct Beside<'d> {
    /// Standard error, where it is apart from the output.
    pub(super) errors: Option<BorrowedFd<'d>>,
    /// Those from number 3 on.
    pub(super) further: &'d [BorrowedFd<'d>],
}

/// A command that runs, or ran. Dropping it ends whatever is left of it.
pub struct RunningCommand {
    id: u64,
    host: Arc<HostLink>,
    output: Option<pipe::Receiver>,
    exited: oneshot::Receiver<Result<Exit, NoExit>>,
    gone: oneshot::Receiver<u32>,
    exit: Option<Result<Exit, NoExit>>,
    is_gone: bool,
    /// How many processes were killed after the main one had ended.
    killed: u32,
    is_sent: bool,
    /// It is a program whose shell was left out.
    is_without_shell: bool,
    /// Where its limits are, if they are those of a cgroup.
    group: Option<Arc<CommandGroup>>,
    /// Of a shell that was warm.
    handoff: Option<ScriptHandoff>,
    /// When another shell is to be started in the place of one that was warm, if it still runs.
    replace_at: Option<Instant>,
}

impl RunningCommand {
    /// Has a command started, with descriptors beside the standard ones.
    pub(super) async fn start(
        host: &Arc<HostLink>,
        request: CommandRequest,
        input: &OwnedFd,
        group: Option<CommandGroup>,
        beside: Beside<'_>,
    ) -> Result<RunningCommand, SpawnError> {
        let id = host.next_id();
        let (output, writing) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|error| SpawnError::Resources(error.into()))?;
        let message = ToHost::Run(into_wire(request, id, beside.errors.is_some())?);

        let (exited, exit) = oneshot::channel();
        let (gone, end) = oneshot::channel();
        // Everything that can fail comes before the request: what was sent runs.
        let mut command = RunningCommand::new(id, Arc::clone(host), output, exit, end)
            .map_err(SpawnError::Resources)?;
        let waiting = Waiting {
            exited: Some(exited),
            gone,
        };
        host.expect(id, waiting)?;
        let group = group.map(Arc::new);
        let mut fds = vec![input.as_fd(), writing.as_fd()];
        fds.extend(group.as_ref().map(|it| it.door()));
        fds.extend(beside.errors);
        fds.extend(beside.further);
        match host.connection.send(&message, &fds).await {
            Ok(()) => {
                command.group.clone_from(&group);
                command.was_sent();
                Ok(command)
            }
            Err(error) => Err(host.not_sent(error)),
        }
    }

    fn new(
        id: u64,
        host: Arc<HostLink>,
        output: OwnedFd,
        exited: oneshot::Receiver<Result<Exit, NoExit>>,
        gone: oneshot::Receiver<u32>,
    ) -> io::Result<Self> {
        Ok(RunningCommand {
            id,
            host,
            output: Some(pipe::Receiver::from_owned_fd(output)?),
            exited,
            gone,
            exit: None,
            is_gone: false,
            killed: 0,
            is_sent: false,
            is_without_shell: false,
            group: None,
            handoff: None,
            replace_at: None,
        })
    }

    /// What the command writes, standard output and error in the order they were written. Once.
    pub fn take_output(&mut self) -> Option<pipe::Receiver> {
        self.output.take()
    }

    /// Waits for the end of the main process. Processes it started may still run.
    pub async fn exited(&mut self) -> Result<Exit, NoExit> {
        if let Some(exit) = self.exit {
            return exit;
        }
        if let Some(until) = self.replace_at {
            if let Ok(exit) = timeout_at(until, &mut self.exited).await {
                return self.interpret(exit);
            }
            self.replace_at = None;
            self.host.changed.notify_one();
        }
        let exit = (&mut self.exited).await;
        self.interpret(exit)
    }

    fn interpret(&mut self, exit: Result<Result<Exit, NoExit>, RecvError>) -> Result<Exit, NoExit> {
        let exit = exit.unwrap_or(Err(NoExit::HostGone));
        let exit = match exit {
            // A shell runs what the kernel cannot, or says what is wrong.
            Err(NoExit::NotStarted {
                step: LaunchStep::Execute,
                ..
            }) if self.is_without_shell => Err(NoExit::NeverStarted),
            exit => exit,
        };
        let exit = match &self.handoff {
            Some(handoff) => handoff.interpret(exit),
            None => exit,
        };
        self.exit = Some(exit);
        exit
    }

    /// Whether the main process has ended, as far as is known now.
    pub(super) fn has_exited(&mut self) -> bool {
        if self.exit.is_none() {
            self.exit = match self.exited.try_recv() {
                Ok(exit) => Some(exit),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Closed) => Some(Err(NoExit::HostGone)),
            };
        }
        self.exit.is_some()
    }

    /// Its shell was left out.
    pub(super) fn stands_for_a_shell(&mut self) {
        self.is_without_shell = true;
    }

    /// From now on it runs what was handed over to it.
    pub(super) fn set_handoff(&mut self, handoff: ScriptHandoff) {
        self.handoff = Some(handoff);
        self.replace_at = Some(Instant::now() + QUIET);
    }

    /// Waits until no process of the command is left.
    pub async fn gone(&mut self) {
        if !self.is_gone {
            // An error means that the host is gone, and with it everything in it.
            self.killed = (&mut self.gone).await.unwrap_or_default();
            self.is_gone = true;
        }
    }

    /// How many processes were still there after the main one had ended, and were killed; known once none is left, where
    /// commands are started from cells.
    pub fn killed(&self) -> u32 {
        self.killed
    }

    /// The limit that the command reached with everything it started; known once none of it is left, where limits are kept by
    /// cgroups.
    pub async fn limit_reached(&self) -> Option<LimitReached> {
        let group = self.group.clone()?;
        let looking = spawn_blocking(move || group.reached());
        looking.await.ok().flatten()
    }

    /// Asks every process of the command to end (SIGTERM).
    pub fn terminate(&self) {
        self.host.tell(ToHost::Terminate(self.id));
    }

    /// Ends every process of the command (SIGKILL). Does nothing when none is left.
    pub fn kill(&mut self) {
        // Not waiting any more means that the news has come, or that the host is gone.
        if !self.is_gone {
            match self.gone.try_recv() {
                Err(TryRecvError::Empty) => {}
                gone => {
                    self.killed = gone.unwrap_or_default();
                    self.is_gone = true;
                }
            }
        }
        if !self.is_gone {
            self.host.tell(ToHost::Kill(self.id));
        }
    }

    /// From now on the host may have heard of it.
    fn was_sent(&mut self) {
        self.is_sent = true;
    }
}

/// Lets the output of a command hold more than usual, so that a flood passes in larger pieces.
pub fn enlarge_pipe(output: &pipe::Receiver, bytes: usize) -> io::Result<()> {
    Ok(rustix::pipe::fcntl_setpipe_size(output, bytes).map(|_| ())?)
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        if self.is_sent {
            self.kill();
        } else {
            self.host.forget(self.id);
        }
        if let (Some(group), Ok(runtime)) = (self.group.take(), Handle::try_current()) {
            // It takes as long as the kernel likes.
            runtime.spawn_blocking(move || drop(group));
        }
    }
}
