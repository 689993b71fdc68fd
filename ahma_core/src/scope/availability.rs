//! Whether the programs of tools can be used.
//!
//! A check that needs a command runs it confined like any other; only its exit code counts.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::config::AvailabilityCheck;
use crate::executor::InternalCommands;
use crate::registry::{ProbeResults, Prober};

/// A check that takes longer has failed.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);
/// Checks that run at the same time.
const MAX_AT_ONCE: usize = 4;

/// Makes checks with the commands of a scope.
#[derive(Clone)]
pub(super) struct AvailabilityProbe {
    commands: InternalCommands,
}

impl AvailabilityProbe {
    pub(super) fn new(commands: InternalCommands) -> Self {
        AvailabilityProbe { commands }
    }

    async fn passes(&self, check: &AvailabilityCheck) -> bool {
        match check {
            AvailabilityCheck::OnPath(program) => {
                let path = self.commands.variable("PATH").unwrap_or_default();
                let (program, path) = (program.clone(), path.to_owned());
                let scope = self.commands.scope().clone();
                let looking = spawn_blocking(move || is_on_path(&program, &path, &scope));
                looking.await.unwrap_or(false)
            }
            AvailabilityCheck::Command {
                program,
                args,
                success_exit_codes,
            } => {
                let words = std::iter::once(program).chain(args).map(OsString::from);
                let output = self.commands.run(words.collect()).await;
                let code = output.and_then(|output| u8::try_from(output.code).ok());
                code.is_some_and(|code| success_exit_codes.contains(&code))
            }
        }
    }
}

impl Prober for AvailabilityProbe {
    fn probe(&self, checks: Vec<AvailabilityCheck>) -> BoxFuture<'_, ProbeResults> {
        Box::pin(async {
            let probing = checks.into_iter().map(|check| async {
                let passed = timeout(CHECK_TIMEOUT, self.passes(&check)).await;
                (check, passed.unwrap_or(false))
            });
            let probing = stream::iter(probing).buffer_unordered(MAX_AT_ONCE);
            probing.collect().await
        })
    }
}

/// The results of the checks that need no command. May block.
pub(super) fn results_without_commands(
    checks: Vec<AvailabilityCheck>,
    environment: &[(OsString, OsString)],
    scope: &Path,
) -> ProbeResults {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value.as_os_str()).unwrap_or_default();
    let simple = checks.into_iter().filter_map(|check| match &check {
        AvailabilityCheck::OnPath(program) => {
            let is_there = is_on_path(program, path, scope);
            Some((check, is_there))
        }
        AvailabilityCheck::Command { .. } => None,
    });
    simple.collect()
}

/// Whether a command would find a program.
fn is_on_path(program: &str, path: &OsStr, scope: &Path) -> bool {
    if program.contains('/') {
        return is_program(&scope.join(program));
    }
    let mut directories = std::env::split_paths(path);
    directories.any(|directory: PathBuf| is_program(&directory.join(program)))
}

fn is_program(path: &Path) -> bool {
    let about = path.metadata();
    about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
