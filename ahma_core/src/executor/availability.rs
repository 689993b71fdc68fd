//! Finding out whether the programs of tools can be used.
//!
//! A check runs confined like any command; only its exit code counts.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::InternalCommands;
use crate::config::AvailabilityCheck;

/// A check that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Checks that run at the same time.
const AT_ONCE: usize = 4;

/// Makes checks.
#[derive(Clone)]
pub struct AvailabilityProbe {
    commands: InternalCommands,
}

impl AvailabilityProbe {
    /// Checks are such commands.
    pub fn new(commands: InternalCommands) -> Self {
        AvailabilityProbe { commands }
    }

    /// Makes all checks and says which were passed.
    pub async fn probe(&self, checks: Vec<AvailabilityCheck>) -> Vec<(AvailabilityCheck, bool)> {
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        let mut running = JoinSet::new();
        for check in checks {
            let (probe, slots) = (self.clone(), Arc::clone(&slots));
            running.spawn(async move {
                let _slot = slots.acquire().await;
                let passed = timeout(TIMEOUT, probe.passes(&check)).await;
                (check, passed.unwrap_or(false))
            });
        }
        running.join_all().await
    }

    async fn passes(&self, check: &AvailabilityCheck) -> bool {
        match check {
            AvailabilityCheck::OnPath(program) => self.is_on_path(program).await,
            AvailabilityCheck::Command {
                program,
                args,
                success_exit_codes,
            } => {
                let words = std::iter::once(program).chain(args).map(OsString::from);
                let answer = self.commands.run(words.collect()).await;
                let code = answer.and_then(|answer| u8::try_from(answer.code).ok());
                code.is_some_and(|code| success_exit_codes.contains(&code))
            }
        }
    }

    /// Where a command would find it.
    async fn is_on_path(&self, program: &str) -> bool {
        let scope = self.commands.scope();
        if program.contains('/') {
            return is_program(&scope.join(program)).await;
        }
        let path = self.commands.variable("PATH").unwrap_or_default();
        let directories: Vec<PathBuf> = std::env::split_paths(path).collect();
        for directory in directories {
            if is_program(&directory.join(program)).await {
                return true;
            }
        }
        false
    }
}

async fn is_program(path: &Path) -> bool {
    let about = tokio::fs::metadata(path).await;
    about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
