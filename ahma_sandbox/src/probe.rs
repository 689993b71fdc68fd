//! What this machine can enforce, found out by doing it: a host of its own, and a command in it.

use std::io;
use std::path::Path;

use crate::command::{CommandRequest, Exit};
use crate::error::StartError;
use crate::input::Input;
use crate::policy::SandboxPolicy;
use crate::private_dir::PrivateDir;
use crate::report::SandboxReport;
use crate::{NoExit, Sandbox};

/// Tries every layer for a scope of its own below `base`, and that a command can be started under
/// them. Says what is enforced and which gaps remain; leaves nothing behind.
pub async fn probe(sandbox: &Sandbox, base: &Path) -> Result<SandboxReport, StartError> {
    let scope = PrivateDir::create(base).map_err(StartError::Host)?;
    let session = PrivateDir::create(base).map_err(StartError::Host)?;
    let policy = SandboxPolicy::new(scope.path(), session.path());
    let host = sandbox.start(&policy).await?;
    let request = CommandRequest {
        arguments: vec!["true".into()],
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        directory: policy.scope.clone(),
        input: Input::Nothing,
    };
    let not_started = |reason: String| StartError::Host(io::Error::other(reason));
    let mut command = host
        .spawn(request)
        .await
        .map_err(|error| not_started(error.to_string()))?;
    let exit: Result<Exit, NoExit> = command.exited().await;
    let exit = exit.map_err(|error| not_started(error.to_string()))?;
    match exit.code {
        Some(0) => Ok(host.report().clone()),
        _ => Err(not_started(format!(
            "a command that does nothing failed: {exit:?}"
        ))),
    }
}
