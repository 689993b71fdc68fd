//! A scope to work in, a place outside it, and commands run in a sandbox.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ahma_sandbox::{
    CommandRequest, Exit, Input, Layer, Network, NoExit, PrivateDir, RunningCommand, Sandbox,
    SandboxHost, SandboxPolicy, SpawnError, command_environment,
};
pub(crate) use ahma_tests::{children, patiently, unique_mark};
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;

/// The program that hosts are started from: an example, built with the tests.
pub(crate) fn host_program() -> PathBuf {
    ahma_tests::example("confined")
}

/// A sandbox with a scope and, beside it, things that must stay out of reach.
pub(crate) struct Bench {
    pub(crate) scope: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) host: SandboxHost,
    pub(crate) policy: SandboxPolicy,
    sandbox: Sandbox,
    _session: PrivateDir,
    _base: TempDir,
}

/// What a command left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) output: String,
    pub(crate) exit: Exit,
}

impl Done {
    pub(crate) fn succeeded(&self) -> bool {
        self.exit.code == Some(0)
    }
}

impl Bench {
    /// Every layer, with network.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn without(layers: &[Layer]) -> Self {
        Self::with(|policy| policy.without = layers.to_vec()).await
    }

    pub(crate) async fn without_network() -> Self {
        Self::with(|policy| policy.network = Network::Off).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut SandboxPolicy)) -> Self {
        let base = TempDir::new().unwrap();
        let root = base.path().canonicalize().unwrap();
        let (scope, outside) = (root.join("scope"), root.join("outside"));
        fs::create_dir(&scope).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "the secret\n").unwrap();
        let sessions = root.join("sessions");
        fs::create_dir(&sessions).unwrap();
        let session = PrivateDir::create(&sessions).unwrap();
        let mut policy = SandboxPolicy::new(&scope, session.path());
        change(&mut policy);
        let sandbox = Sandbox::new(host_program()).unwrap();
        let host = sandbox.start(&policy).await.unwrap();
        Bench {
            scope,
            outside,
            host,
            policy,
            sandbox,
            _session: session,
            _base: base,
        }
    }

    /// What started its host.
    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// What limits leave open.
    pub(crate) fn gaps(&self) -> String {
        let layers = self.host.report().layers.iter();
        let mut hygiene = layers.filter(|it| it.layer == Layer::Hygiene);
        hygiene.find_map(|it| it.gap.clone()).unwrap_or_default()
    }

    /// Another host for the same policy.
    pub(crate) async fn another_host(&self) -> SandboxHost {
        self.sandbox.start(&self.policy).await.unwrap()
    }

    /// A host for another policy, with the same scope and private directories.
    pub(crate) async fn another_policy(
        &self,
        change: impl FnOnce(&mut SandboxPolicy),
    ) -> SandboxHost {
        let mut policy = self.policy.clone();
        change(&mut policy);
        self.sandbox.start(&policy).await.unwrap()
    }

    pub(crate) fn request(&self, arguments: &[&str]) -> CommandRequest {
        let server: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        CommandRequest {
            arguments: arguments.iter().map(OsString::from).collect(),
            environment: command_environment(&self.policy, &server, &[])
                .into_iter()
                .collect(),
            directory: self.scope.clone(),
            input: Input::Nothing,
        }
    }

    pub(crate) async fn spawn(&self, arguments: &[&str]) -> Result<RunningCommand, SpawnError> {
        patiently(self.host.spawn(self.request(arguments))).await
    }

    /// How a command ends, or why it has no exit.
    pub(crate) async fn exit_of(&self, arguments: &[&str]) -> Result<Exit, NoExit> {
        let mut command = self.spawn(arguments).await.unwrap();
        let exit = patiently(command.exited()).await;
        patiently(command.gone()).await;
        exit
    }

    /// Runs a shell script to the end of its output and its processes.
    pub(crate) async fn sh(&self, script: &str) -> Done {
        self.run(&["sh", "-c", script]).await
    }

    pub(crate) async fn python(&self, script: &str) -> Done {
        self.run(&["/usr/bin/python3", "-c", script]).await
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Done {
        let command = self
            .spawn(arguments)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        finish(command).await
    }

    /// The same script without any sandbox: the positive control.
    pub(crate) fn unconfined(&self, script: &str) -> std::process::Output {
        std::process::Command::new("sh")
            .args(["-c", script])
            .current_dir(&self.scope)
            .output()
            .unwrap()
    }

    pub(crate) fn outside(&self, name: &str) -> String {
        self.outside.join(name).to_str().unwrap().to_owned()
    }
}

/// Waits for a command's output, exit, and the end of its last process.
pub(crate) async fn finish(command: RunningCommand) -> Done {
    finish_or_not(command).await.unwrap()
}

/// The same of one that may not have begun.
pub(crate) async fn finish_or_not(mut command: RunningCommand) -> Result<Done, NoExit> {
    let output = patiently(read_output(&mut command)).await;
    let exit = patiently(command.exited()).await;
    patiently(command.gone()).await;
    exit.map(|exit| Done { output, exit })
}

pub(crate) async fn read_output(command: &mut RunningCommand) -> String {
    let mut bytes = Vec::new();
    command
        .take_output()
        .unwrap()
        .read_to_end(&mut bytes)
        .await
        .unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits for output until it holds a line.
pub(crate) async fn read_line(pipe: &mut tokio::net::unix::pipe::Receiver) -> String {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        let length = patiently(pipe.read(&mut byte)).await.unwrap();
        if length == 0 || byte[0] == b'\n' {
            return String::from_utf8_lossy(&line).into_owned();
        }
        line.push(byte[0]);
    }
}

pub(crate) use ahma_tests::processes_marked;

/// Waits, without a fixed time, until no process with the mark is left.
pub(crate) async fn until_none_marked(mark: &str) {
    patiently(async {
        while !processes_marked(mark).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Waits until there are that many: between fork and exec a process has no command line of its own.
pub(crate) async fn until_marked(mark: &str, count: usize) {
    patiently(async {
        while processes_marked(mark).len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

pub(crate) fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// The threads of a process of the machine.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"));
    let names = entries.into_iter().flatten().flatten();
    names
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}
