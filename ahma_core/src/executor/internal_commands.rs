//! Commands of the server itself: confined, without network and without the right to write, and no operations, because
//! nobody called them.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use ahma_sandbox::{CommandRequest, Input, NoExit};
use tokio::io::{AsyncRead, AsyncReadExt as _, copy, sink};
use tokio::join;

use super::host_pool::HostPool;
use super::plan::Environment;
use crate::config::Restrictions;

/// Output beyond this is read and forgotten.
const MAX_OUTPUT: usize = 64 * 1024;

/// They only ask: what a project could make them run must not do anything.
const RESTRICTIONS: Restrictions = Restrictions {
    no_network: true,
    no_writes: true,
    memory_mb: None,
    processes: None,
    output_mb: None,
};
/// The exit code of a command that is not there.
const NOT_FOUND: i32 = 127;
/// A directory in which no project is.
const NO_PROJECT: &str = "/";

/// Runs commands that answer a question of the server.
#[derive(Clone)]
pub(crate) struct InternalCommands {
    hosts: Arc<HostPool>,
    environment: Environment,
}

/// How such a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandOutput {
    /// Its exit code.
    pub code: i32,
    /// The beginning of what it wrote to its standard output.
    pub output: Vec<u8>,
    /// Whether that is all of it.
    pub is_whole: bool,
}

impl InternalCommands {
    /// They run with this environment.
    pub(crate) fn new(hosts: Arc<HostPool>, environment: Environment) -> Self {
        InternalCommands { hosts, environment }
    }

    /// The directory they ask about.
    pub(crate) fn scope(&self) -> &PathBuf {
        &self.hosts.policy().scope
    }

    /// A variable they get.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut all = self.environment.iter();
        all.find(|(it, _)| it == name)
            .map(|(_, value)| value.as_os_str())
    }

    /// Ends the host they ran in; the next one starts another.
    pub(crate) async fn rest(&self) {
        self.hosts.release(&RESTRICTIONS).await;
    }

    /// Runs one where no project is, so that none decides what it does. Dropping the future ends it. None when it did not
    /// come to an end of its own.
    pub(crate) async fn run(&self, arguments: Vec<OsString>) -> Option<CommandOutput> {
        self.run_in(PathBuf::from(NO_PROJECT), arguments).await
    }

    /// Runs one in the scope.
    pub(crate) async fn run_in_scope(&self, arguments: Vec<OsString>) -> Option<CommandOutput> {
        self.run_in(self.scope().clone(), arguments).await
    }

    async fn run_in(&self, directory: PathBuf, arguments: Vec<OsString>) -> Option<CommandOutput> {
        let host = self.hosts.host(&RESTRICTIONS).await.ok()?;
        let request = CommandRequest {
            arguments,
            environment: self.environment.to_vec(),
            directory,
            input: Input::Nothing,
        };
        // What it complains of is no answer.
        let (mut command, mut errors) = host.spawn_apart(request).await.ok()?;
        let mut pipe = command.take_output()?;
        let exiting = async {
            let exit = command.exited().await;
            // What it has left running would keep its output open.
            command.kill();
            exit
        };
        let mut nowhere = sink();
        let complaining = copy(&mut errors, &mut nowhere);
        let (exit, (output, is_whole), _) = join!(exiting, beginning(&mut pipe), complaining);
        let code = match exit {
            Ok(exit) => exit.code?,
            // As a shell would say it.
            Err(NoExit::NotStarted { .. }) => NOT_FOUND,
            Err(_) => return None,
        };
        Some(CommandOutput {
            code,
            output,
            is_whole,
        })
    }
}

/// The beginning of what comes, once its end has come, and whether that is all of it.
async fn beginning(pipe: &mut (impl AsyncRead + Unpin)) -> (Vec<u8>, bool) {
    let (mut output, mut is_whole) = (Vec::new(), true);
    let mut buffer = vec![0; 4096];
    while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
        let room = MAX_OUTPUT - output.len();
        output.extend_from_slice(&buffer[..length.min(room)]);
        is_whole = is_whole && length <= room;
    }
    (output, is_whole)
}
