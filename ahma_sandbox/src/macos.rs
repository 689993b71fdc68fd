//! macOS: every command is started by `sandbox-exec` with the profile of its policy. Elsewhere, but on
//! Linux, nothing is started at all.
//!
//! There is no host process: Seatbelt confines each command by itself. A command is a process group;
//! what leaves the group is confined but not ended. The profile was never tried on macOS; the
//! handling of processes is tested on Linux, with a launcher that confines nothing.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;

use crate::command::{CommandRequest, Exit, LimitReached, NoExit};
use crate::error::{LaunchStep, SetupFailure, SetupStep, SpawnError, StartError};
use crate::input::Input;
use crate::policy::{Layer, Network, SandboxPolicy};
use crate::prewarm::PrewarmSpec;
use crate::report::{LayerReport, NetworkReach, SandboxReport};
use crate::scope::{DirectoryIdentity, check_private_dir};
use crate::seatbelt::{SeatbeltProfile, seatbelt_profile};

/// The argument that makes a program a sandbox host on Linux.
pub const HOST_ARGUMENT: &str = "__sandbox-host";
const LAUNCHER: &str = "/usr/bin/sandbox-exec";
const SEATBELT_GAP: &str = "commands can read files outside the scope; processes that leave the \
     command's group are not ended with it; there are no resource limits";

/// There are no host processes here.
pub fn become_host_if_asked() {}

/// Nothing has to be done: other processes cannot look into this one without the user's consent.
pub fn protect_this_process() -> io::Result<()> {
    Ok(())
}

/// The limit is the operator's.
pub fn allow_many_descriptors() {}

/// The allocator sees to that.
pub fn give_memory_back() {}

/// Nothing: not tried here.
pub fn give_code_of_start_back() {}

/// Nothing: commands are started by this process itself here, and would have the same umask.
pub fn keep_own_files_private() {}

/// Pipes grow by themselves.
pub fn enlarge_pipe(_output: &pipe::Receiver, _bytes: usize) -> io::Result<()> {
    Ok(())
}

/// Starts commands by the system's own launcher.
#[derive(Clone)]
pub struct Sandbox {
    launcher: PathBuf,
}

impl Sandbox {
    /// The program is not needed: no host is started from it.
    pub fn new(_program: impl Into<PathBuf>) -> io::Result<Self> {
        Ok(Sandbox {
            launcher: LAUNCHER.into(),
        })
    }

    /// There is nothing to start beforehand.
    pub fn prestart(&self, _groundwork: PrewarmSpec) {}

    /// There is none.
    #[expect(clippy::unused_async, reason = "it is waited for where there is one")]
    pub async fn stop_prestart(&self) {}

    /// Tries the policy on a program that does nothing, then is ready for commands.
    pub async fn start(&self, policy: &SandboxPolicy) -> Result<SandboxHost, StartError> {
        if cfg!(target_os = "macos") {
            self.start_by_launcher(policy).await
        } else {
            Err(StartError::UnknownPlatform)
        }
    }

    async fn start_by_launcher(&self, policy: &SandboxPolicy) -> Result<SandboxHost, StartError> {
        let scope = DirectoryIdentity::of(&policy.scope)?;
        check_private_dir(policy)?;
        let confined = !policy.without.contains(&Layer::Seatbelt);
        let launcher = confined.then(|| (self.launcher.clone(), seatbelt_profile(policy)));
        if let Some((launcher, profile)) = &launcher {
            try_profile(launcher, profile).await?;
        }
        let report = match confined {
            true => LayerReport::with_gap(Layer::Seatbelt, true, SEATBELT_GAP),
            false => LayerReport::with_gap(Layer::Seatbelt, false, "left out by the policy"),
        };
        Ok(SandboxHost {
            launcher,
            scope,
            report: SandboxReport {
                backend: "seatbelt".to_owned(),
                landlock_abi: None,
                layers: vec![report, LayerReport::enforced(Layer::Hygiene)],
                seeded: Vec::new(),
                network: match policy.network {
                    Network::On => NetworkReach::Machine,
                    Network::Off => NetworkReach::Nothing,
                },
                protected: [policy.protect.clone(), policy.protect_in_place.clone()].concat(),
            },
        })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the crate that starts processes"
)]
async fn try_profile(launcher: &PathBuf, profile: &SeatbeltProfile) -> Result<(), StartError> {
    let failed = |detail: String| StartError::Setup(SetupFailure::new(SetupStep::Seatbelt, detail));
    let output = Command::new(launcher)
        .args(profile.arguments(&["/usr/bin/true".into()]))
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .await
        .map_err(|error| failed(format!("{}: {error}", launcher.display())))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// What commands of one policy are started with.
pub struct SandboxHost {
    launcher: Option<(PathBuf, SeatbeltProfile)>,
    report: SandboxReport,
    scope: DirectoryIdentity,
}

impl SandboxHost {
    /// What is enforced.
    pub fn report(&self) -> &SandboxReport {
        &self.report
    }

    /// There is no process around commands but the server.
    pub fn pid(&self) -> u32 {
        std::process::id()
    }

    /// There is nothing that could end.
    pub async fn end(&self) {}

    /// There is nothing that could end.
    pub fn is_gone(&self) -> bool {
        false
    }

    /// There are no warm shells here.
    pub fn keep_warm(&self, _: usize, _: OsString, _: Vec<(OsString, OsString)>) {}

    /// There are no warm shells here.
    pub fn warm_shells(&self) -> usize {
        0
    }

    /// Whether the scope is gone or another directory has taken its place.
    pub fn is_stale(&self) -> bool {
        !self.scope.is_still_there()
    }

    /// The same: here every script has a shell.
    pub async fn spawn_by_shell(
        &self,
        request: CommandRequest,
    ) -> Result<RunningCommand, SpawnError> {
        self.spawn(request).await
    }

    /// Has a command started.
    pub async fn spawn(&self, request: CommandRequest) -> Result<RunningCommand, SpawnError> {
        self.launch(request, None)
    }

    /// Has a program started that is spoken with: what it says on standard error comes apart.
    pub async fn spawn_apart(
        &self,
        request: CommandRequest,
    ) -> Result<(RunningCommand, pipe::Receiver), SpawnError> {
        let (reading, writing) = io::pipe().map_err(SpawnError::Resources)?;
        let errors = pipe::Receiver::from_owned_fd(OwnedFd::from(reading));
        let errors = errors.map_err(SpawnError::Resources)?;
        Ok((self.launch(request, Some(writing))?, errors))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is where commands are started"
    )]
    fn launch(
        &self,
        request: CommandRequest,
        apart: Option<io::PipeWriter>,
    ) -> Result<RunningCommand, SpawnError> {
        let words = match &self.launcher {
            Some((launcher, profile)) => {
                let mut words = vec![launcher.clone().into_os_string()];
                words.extend(profile.arguments(&request.arguments));
                words
            }
            None => request.arguments.clone(),
        };
        let (program, arguments) = words
            .split_first()
            .ok_or_else(|| SpawnError::BadRequest("there is no program to run".to_owned()))?;
        let (reading, writing) = io::pipe().map_err(SpawnError::Resources)?;
        let errors = match apart {
            Some(errors) => errors,
            None => writing.try_clone().map_err(SpawnError::Resources)?,
        };
        let mut command = std::process::Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(request.environment)
            .current_dir(&request.directory)
            // A group of its own, to be signalled as a whole.
            .process_group(0)
            .stdin(match &request.input {
                Input::Nothing => Stdio::null(),
                Input::Bytes(_) => Stdio::piped(),
                Input::Pipe(pipe) => pipe.open().map_err(SpawnError::Resources)?.into(),
            })
            // One pipe for both, so that the output is in the order it was written.
            .stdout(writing)
            .stderr(errors);
        let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reading));
        let output = output.map_err(SpawnError::Resources)?;
        Ok(RunningCommand::new(
            Command::from(command).spawn(),
            request.input,
            output,
        ))
    }
}

/// A command that runs, or ran. Dropping it ends what is left of its group.
pub struct RunningCommand {
    group: Option<Pid>,
    output: Option<pipe::Receiver>,
    exited: oneshot::Receiver<Result<Exit, NoExit>>,
    exit: Option<Result<Exit, NoExit>>,
}

impl RunningCommand {
    fn new(child: io::Result<Child>, input: Input, output: pipe::Receiver) -> Self {
        let (tell, exited) = oneshot::channel();
        let mut group = None;
        match child {
            Ok(mut child) => {
                let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
                group = pid.and_then(Pid::from_raw);
                if let (Some(mut pipe), Input::Bytes(bytes)) = (child.stdin.take(), input) {
                    // A command that does not read it is no error.
                    tokio::spawn(async move { pipe.write_all(&bytes).await });
                }
                tokio::spawn(async move {
                    let exit = child.wait().await;
                    let _ = tell.send(exit.map(Exit::from).map_err(|_| NoExit::HostGone));
                });
            }
            Err(error) => {
                let _ = tell.send(Err(NoExit::NotStarted {
                    step: LaunchStep::Execute,
                    errno: error.raw_os_error().unwrap_or_default(),
                }));
            }
        }
        RunningCommand {
            group,
            output: Some(output),
            exited,
            exit: None,
        }
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
        let exit = (&mut self.exited).await.unwrap_or(Err(NoExit::HostGone));
        self.exit = Some(exit);
        exit
    }

    /// How many processes were killed after the main one had ended; not counted here.
    pub fn killed(&self) -> u32 {
        0
    }

    /// Not found out here.
    pub async fn limit_reached(&self) -> Option<LimitReached> {
        None
    }

    /// Waits for the end of the main process and ends the rest of its group.
    pub async fn gone(&mut self) {
        let _ = self.exited().await;
        self.kill();
        self.group = None;
    }

    /// Asks every process of the group to end (SIGTERM).
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends every process of the group (SIGKILL).
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.kill();
    }
}

/// With a launcher that takes the same arguments and confines nothing: that the profile
/// confines is not shown here, only that commands go through the launcher, and how they end.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;

    use super::*;

    struct Bench {
        base: tempfile::TempDir,
        policy: SandboxPolicy,
    }

    impl Bench {
        fn new() -> Self {
            let base = tempfile::tempdir().unwrap();
            let root = base.path().canonicalize().unwrap();
            let launcher = root.join("launcher");
            let script = "#!/bin/sh\necho \"$@\" > \"$(dirname \"$0\")/seen\"\n\
                          while [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n";
            std::fs::write(&launcher, script).unwrap();
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&launcher, executable).unwrap();
            let scope = root.join("scope");
            std::fs::create_dir(&scope).unwrap();
            let policy = SandboxPolicy::new(&scope, root.join("session"));
            Bench { base, policy }
        }

        async fn start(&self) -> Result<SandboxHost, StartError> {
            let launcher = self.base.path().join("launcher");
            Sandbox { launcher }.start_by_launcher(&self.policy).await
        }

        async fn spawn(&self, script: &str, input: Input) -> RunningCommand {
            let request = CommandRequest {
                arguments: ["sh", "-c", script].map(OsString::from).to_vec(),
                environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
                directory: self.policy.scope.clone(),
                input,
            };
            let host = self.start().await.unwrap();
            host.spawn(request).await.unwrap()
        }
    }

    async fn output(command: &mut RunningCommand) -> String {
        let mut text = String::new();
        let mut pipe = command.take_output().unwrap();
        pipe.read_to_string(&mut text).await.unwrap();
        text
    }

    /// Proves: S12.
    #[tokio::test]
    async fn a_command_goes_through_the_launcher_with_the_profile() {
        let bench = Bench::new();
        let input = Input::Bytes(b"given".to_vec());
        let script = "cat; echo; pwd; echo e >&2; exit 3";
        let mut command = bench.spawn(script, input).await;
        let lines = output(&mut command).await;
        let lines: Vec<&str> = lines.lines().collect();
        let scope = bench.policy.scope.to_str().unwrap();
        assert_eq!((lines[0], lines[1], lines[2]), ("given", scope, "e"));
        assert_eq!(command.exited().await.unwrap().code, Some(3));
        let seen = std::fs::read_to_string(bench.base.path().join("seen")).unwrap();
        assert!(
            seen.contains("(deny default)") && seen.contains("SCOPE="),
            "{seen}"
        );
    }

    #[tokio::test]
    async fn killing_a_command_ends_its_group() {
        let bench = Bench::new();
        let script = "sleep 100 & echo $!; wait";
        let mut command = bench.spawn(script, Input::Nothing).await;
        let mut pipe = command.take_output().unwrap();
        let mut bytes = [0; 16];
        let length = pipe.read(&mut bytes).await.unwrap();
        let child = String::from_utf8_lossy(&bytes[..length]).trim().to_owned();
        command.kill();
        assert_eq!(command.exited().await.unwrap().signal, Some(9));
        command.gone().await;
        let lives = || {
            let mut shell = std::process::Command::new("sh");
            let asked = shell.args(["-c", "kill -0 \"$0\"", &child]);
            asked.stderr(Stdio::null()).status().unwrap().success()
        };
        while lives() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn where_no_sandbox_is_known_nothing_starts() {
        let bench = Bench::new();
        let refused = Sandbox::new("").unwrap().start(&bench.policy).await.err();
        assert!(
            matches!(refused, Some(StartError::UnknownPlatform)),
            "{refused:?}"
        );
    }

    /// Proves: S12.
    #[tokio::test]
    async fn without_the_launcher_nothing_starts() {
        let bench = Bench::new();
        std::fs::remove_file(bench.base.path().join("launcher")).unwrap();
        let error = bench.start().await.err().unwrap();
        assert!(
            error.to_string().contains("Seatbelt is not available"),
            "{error}"
        );
        assert!(error.hint().contains("sandbox-exec"), "{}", error.hint());
    }

    /// Proves: S12.
    #[tokio::test]
    async fn a_launcher_that_refuses_the_profile_starts_nothing() {
        let bench = Bench::new();
        let refuse = "#!/bin/sh\necho sandbox_apply: Operation not permitted >&2\nexit 71\n";
        std::fs::write(bench.base.path().join("launcher"), refuse).unwrap();
        let error = bench.start().await.err().unwrap();
        assert!(error.to_string().contains("sandbox_apply"), "{error}");
    }
}
