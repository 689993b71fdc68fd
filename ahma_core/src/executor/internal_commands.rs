//! Commands of the server itself: confined like any other, and no operations, because nobody called them.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use ahma_sandbox::{CommandRequest, Input};
use tokio::io::AsyncReadExt as _;

use super::host_pool::HostPool;
use super::plan::Environment;
use crate::config::Restrictions;

/// Output beyond this is read and forgotten.
const MAX_OUTPUT: usize = 64 * 1024;

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
    /// The beginning of what it wrote.
    pub output: Vec<u8>,
}

impl InternalCommands {
    /// They run with this environment, in the scope.
    pub(crate) fn new(hosts: Arc<HostPool>, environment: Environment) -> Self {
        InternalCommands { hosts, environment }
    }

    /// Where they run.
    pub(crate) fn scope(&self) -> &PathBuf {
        &self.hosts.policy().scope
    }

    /// A variable they get.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut all = self.environment.iter();
        all.find(|(it, _)| it == name)
            .map(|(_, value)| value.as_os_str())
    }

    /// Runs one. Dropping the future ends it.
    pub(crate) async fn run(&self, arguments: Vec<OsString>) -> Option<CommandOutput> {
        let host = self.hosts.host(&Restrictions::default()).await.ok()?;
        let request = CommandRequest {
            arguments,
            environment: self.environment.to_vec(),
            directory: self.scope().clone(),
            input: Input::Nothing,
        };
        let mut command = host.spawn(request).await.ok()?;
        let mut pipe = command.take_output()?;
        let mut output = Vec::new();
        let mut buffer = vec![0; 4096];
        let mut is_open = true;
        loop {
            tokio::select! {
                // The output first: all of it is there when the exit is known.
                biased;
                length = pipe.read(&mut buffer), if is_open => {
                    let length = length.unwrap_or(0);
                    is_open = length > 0;
                    let room = MAX_OUTPUT - output.len();
                    output.extend_from_slice(&buffer[..length.min(room)]);
                }
                exit = command.exited() => {
                    let code = exit.ok()?.code?;
                    return Some(CommandOutput { code, output });
                }
            }
        }
    }
}
