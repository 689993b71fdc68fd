//! Finding out whether the programs of tools can be used.
//!
//! A check runs confined like any command, and is no operation: nobody called it, and only its exit code
//! counts.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::{CommandRequest, Input};
use tokio::io::AsyncReadExt as _;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::HostKeeper;
use crate::config::{AvailabilityCheck, Narrowing};

/// A check that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(10);
/// Checks that run at the same time.
const AT_ONCE: usize = 4;

/// Makes checks.
#[derive(Clone)]
pub struct AvailabilityJudge {
    hosts: Arc<HostKeeper>,
    environment: Arc<Vec<(OsString, OsString)>>,
}

impl AvailabilityJudge {
    /// Checks run with this environment.
    pub fn new(hosts: Arc<HostKeeper>, environment: Vec<(OsString, OsString)>) -> Self {
        AvailabilityJudge {
            hosts,
            environment: Arc::new(environment),
        }
    }

    /// Makes all checks and says which were passed.
    pub async fn judge(&self, checks: Vec<AvailabilityCheck>) -> Vec<(AvailabilityCheck, bool)> {
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        let mut running = JoinSet::new();
        for check in checks {
            let (judge, slots) = (self.clone(), Arc::clone(&slots));
            running.spawn(async move {
                let _slot = slots.acquire().await;
                let passed = timeout(PATIENCE, judge.passes(&check)).await;
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
                let code = self.exit_code(words.collect()).await;
                let code = code.and_then(|code| u8::try_from(code).ok());
                code.is_some_and(|code| success_exit_codes.contains(&code))
            }
        }
    }

    async fn exit_code(&self, arguments: Vec<OsString>) -> Option<i32> {
        let host = self.hosts.host(&Narrowing::default()).await.ok()?;
        let request = CommandRequest {
            arguments,
            environment: self.environment.to_vec(),
            directory: self.hosts.policy().scope.clone(),
            input: Input::Nothing,
        };
        let mut command = host.spawn(request).await.ok()?;
        let mut output = command.take_output()?;
        // Read and forgotten, so that the program is not kept from ending.
        let drained = async {
            let mut buffer = vec![0; 4096];
            while output
                .read(&mut buffer)
                .await
                .is_ok_and(|length| length > 0)
            {}
            std::future::pending::<()>().await;
        };
        tokio::select! {
            exit = command.exited() => exit.ok()?.code,
            () = drained => None,
        }
    }

    /// Where a command would find it.
    async fn is_on_path(&self, program: &str) -> bool {
        let scope = &self.hosts.policy().scope;
        if program.contains('/') {
            return is_program(&scope.join(program)).await;
        }
        let path = self.environment.iter().find(|(name, _)| name == "PATH");
        let path = path.map_or(OsStr::new(""), |(_, path)| path);
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
