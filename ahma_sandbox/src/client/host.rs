//! One sandbox host, as the server sees it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe;
use tokio::task::spawn_blocking;

use super::cgroups::{CommandGroup, CommandGroups};
use super::command::{Beside, RunningCommand, open_input};
use super::connection::Connection;
use super::link::HostLink;
use super::one_program::without_shell;
use super::private_network::PrivateNetwork;
use super::processes::Reaper;
use super::warm::WarmShells;
use crate::accepted_commands::AcceptedCommands;
use crate::command::CommandRequest;
use crate::error::{SetupFailure, SetupStep, SpawnError, StartError};
use crate::order::HostOrder;
use crate::policy::{Limits, SandboxPolicy};
use crate::public_etc::PublicPath;
use crate::report::SandboxReport;
use crate::scope::DirectoryIdentity;
use crate::wire::{FromHost, ToHost};

/// A confined process that starts commands. Ends, with everything in it, when dropped.
pub struct SandboxHost {
    link: Arc<HostLink>,
    warm: OnceLock<Arc<WarmShells>>,
    reaper: Reaper,
    report: SandboxReport,
    pid: u32,
    scope: DirectoryIdentity,
    /// The network it shares with others of its scope.
    network: Option<Arc<PrivateNetwork>>,
    /// What makes the cgroups of its commands, and their limits.
    groups: Option<(Arc<CommandGroups>, Limits)>,
}

impl SandboxHost {
    pub(super) async fn connect(
        socket: OwnedFd,
        reaper: Reaper,
        order: HostOrder<&SandboxPolicy, &[PublicPath]>,
        scope: DirectoryIdentity,
        network: Option<Arc<PrivateNetwork>>,
        groups: Option<Arc<CommandGroups>>,
    ) -> Result<Self, StartError> {
        let limits = order.what.limits;
        let connection = Connection::new(socket).map_err(StartError::Host)?;
        let json = serde_json::to_vec(&order).map_err(|error| StartError::Host(error.into()))?;
        let accepted = AcceptedCommands::new().map_err(StartError::Host)?;
        let mut descriptors = vec![accepted.as_fd()];
        descriptors.extend(network.iter().flat_map(|it| it.descriptors()));
        let (report, made) = greet(&connection, json, &descriptors).await?;
        let network = network.or_else(|| made.map(Arc::new));
        let pid = reaper.pid;
        let link = Arc::new(HostLink::new(connection, accepted));
        tokio::spawn(read(Arc::clone(&link), reaper.clone()));
        Ok(SandboxHost {
            link,
            warm: OnceLock::new(),
            reaper,
            report,
            pid,
            scope,
            network,
            groups: groups.map(|it| (it, limits)),
        })
    }

    pub(super) fn network(&self) -> Option<&Arc<PrivateNetwork>> {
        self.network.as_ref()
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
        self.link.commands().is_none()
    }

    /// Ends the host with everything that runs in it, and waits until no process of it is left.
    pub async fn end(&self) {
        self.link.end_here();
        // First, or the end of the connection would have it killed.
        let ended = self.reaper.ended();
        self.link.connection.close();
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
    /// A script (`SHELL -c -- SCRIPT`) goes to a warm shell, when there is one. When there is none, and the script is
    /// nothing but one program, no shell is started for it; if that was not to be had, the command has not begun
    /// ([`NoExit::NeverStarted`](crate::NoExit)), and [`spawn_by_shell`](Self::spawn_by_shell) finds out why.
    pub async fn spawn(&self, request: CommandRequest) -> Result<RunningCommand, SpawnError> {
        let warm = self.warm.get();
        if let Some(command) = warm.and_then(|shells| shells.run(&request, self.link.running())) {
            return Ok(command);
        }
        let direct = without_shell(&request);
        let is_direct = direct.is_some();
        let mut command = self.start(direct.unwrap_or(request)).await?;
        if is_direct {
            command.stands_for_a_shell();
        }
        Ok(command)
    }

    /// The same, with a shell for every script.
    pub async fn spawn_by_shell(
        &self,
        request: CommandRequest,
    ) -> Result<RunningCommand, SpawnError> {
        self.start(request).await
    }

    async fn start(&self, request: CommandRequest) -> Result<RunningCommand, SpawnError> {
        let input = open_input(&request.input).map_err(SpawnError::Resources)?;
        let group = self.group().await?;
        RunningCommand::start(&self.link, request, &input, group, Beside::default()).await
    }

    /// Has a program started that is spoken with: its output is what it says on standard output alone. What it says on
    /// standard error comes apart.
    pub async fn spawn_apart(
        &self,
        request: CommandRequest,
    ) -> Result<(RunningCommand, pipe::Receiver), SpawnError> {
        let (errors, writing) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|error| SpawnError::Resources(error.into()))?;
        let errors = pipe::Receiver::from_owned_fd(errors).map_err(SpawnError::Resources)?;
        let input = open_input(&request.input).map_err(SpawnError::Resources)?;
        let group = self.group().await?;
        let beside = Beside {
            errors: Some(writing.as_fd()),
            ..Beside::default()
        };
        let command = RunningCommand::start(&self.link, request, &input, group, beside).await?;
        Ok((command, errors))
    }

    /// A cgroup for the next command, if this host's commands have any.
    async fn group(&self) -> Result<Option<CommandGroup>, SpawnError> {
        let Some((groups, limits)) = self.groups.clone() else {
            return Ok(None);
        };
        let making = spawn_blocking(move || CommandGroup::new(&groups, limits));
        let made = making.await.map_err(io::Error::other).flatten();
        made.map(Some).map_err(SpawnError::Resources)
    }

    /// Keeps so many shells waiting for scripts that run in this environment. Once for each host. Only
    /// `bash` can wait; of another shell none is kept.
    pub fn keep_warm(&self, count: usize, shell: OsString, environment: Vec<(OsString, OsString)>) {
        let is_bash = Path::new(&shell).file_name() == Some(OsStr::new("bash"));
        // With this variable it would not wait for long.
        let can_wait = !environment.iter().any(|(name, _)| name == "TMOUT");
        if count > 0 && is_bash && can_wait {
            let home = self.scope.path().to_owned();
            let keep = || WarmShells::keep(&self.link, count, shell, environment, home);
            self.warm.get_or_init(keep);
        }
    }

    /// How many shells wait for a script.
    pub fn warm_shells(&self) -> usize {
        self.warm.get().map_or(0, |shells| shells.waiting())
    }
}

impl Drop for SandboxHost {
    fn drop(&mut self) {
        self.link.end_here();
        self.link.connection.close();
    }
}

/// Sends the policy and waits until the host is confined: what it enforces, and the network it made.
async fn greet(
    connection: &Connection,
    policy: Vec<u8>,
    descriptors: &[BorrowedFd<'_>],
) -> Result<(SandboxReport, Option<PrivateNetwork>), StartError> {
    connection
        .send(&ToHost::Policy(policy), descriptors)
        .await
        .map_err(StartError::Host)?;
    let mut buffer = Vec::new();
    let unreadable = |error: serde_json::Error| StartError::Host(error.into());
    match connection.receive_with_descriptors(&mut buffer).await {
        Some((Ok(FromHost::Ready(json)), made)) => {
            let report = serde_json::from_slice(&json).map_err(unreadable)?;
            Ok((report, PrivateNetwork::of(made)))
        }
        Some((Ok(FromHost::SetupFailed(json)), _)) => {
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
async fn read(link: Arc<HostLink>, reaper: Reaper) {
    let mut buffer = Vec::new();
    while let Some(message) = link.connection.receive(&mut buffer).await {
        match message {
            Ok(message) => link.deliver(&message),
            Err(_) => {
                // A host that talks nonsense is ended.
                link.end_here();
                break;
            }
        }
    }
    link.connection.close();
    link.is_over();
    reaper.reap();
}
