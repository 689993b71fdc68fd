//! Whether the programs of tools can be used.
//!
//! A check that needs a command runs it confined like any other; only its exit code counts.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ahma_sandbox::exists_beneath;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::availability_cache::AvailabilityCache;
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
    cache: AvailabilityCache,
}

impl AvailabilityProbe {
    pub(super) fn new(commands: InternalCommands, cache: AvailabilityCache) -> Self {
        AvailabilityProbe { commands, cache }
    }

    /// Whether a check is passed; none when it did not come to its end, such as when the server stops.
    async fn passes(&self, check: &AvailabilityCheck) -> Option<bool> {
        let AvailabilityCheck::Command {
            program,
            args,
            success_exit_codes,
            ..
        } = check
        else {
            return Some(false);
        };
        let words = std::iter::once(program).chain(args).map(OsString::from);
        let output = self.commands.run(words.collect()).await?;
        let code = u8::try_from(output.code).ok();
        Some(code.is_some_and(|code| success_exit_codes.contains(&code)))
    }
}

impl Prober for AvailabilityProbe {
    fn look(
        &self,
        checks: &[AvailabilityCheck],
        paths: &[String],
    ) -> (ProbeResults, BTreeSet<String>) {
        let path = self.commands.variable("PATH").unwrap_or_default();
        look(checks, paths, path, self.commands.scope())
    }

    fn probe(&self, checks: Vec<AvailabilityCheck>) -> BoxFuture<'_, ProbeResults> {
        Box::pin(async {
            let probing = checks.into_iter().map(|check| async {
                let passed = timeout(CHECK_TIMEOUT, self.passes(&check)).await;
                (check, passed.unwrap_or(Some(false)))
            });
            let probing = stream::iter(probing).buffer_unordered(MAX_AT_ONCE);
            let results: Vec<(AvailabilityCheck, Option<bool>)> = probing.collect().await;
            self.commands.rest().await;
            // Only what is known is kept for the next server.
            let known = results.iter().cloned();
            let known = known.filter_map(|(check, passed)| Some((check, passed?)));
            let (cache, known): (_, ProbeResults) = (self.cache.clone(), known.collect());
            let _ = spawn_blocking(move || cache.keep(&known)).await;
            let results = results.into_iter();
            results
                .map(|(check, passed)| (check, passed.unwrap_or(false)))
                .collect()
        })
    }
}

/// The checks that need no command, and which of these paths the project has. May block.
pub(super) fn look(
    checks: &[AvailabilityCheck],
    paths: &[String],
    path: &OsStr,
    scope: &Path,
) -> (ProbeResults, BTreeSet<String>) {
    // A link could lead outside, and tell what is there.
    let exists = |path: &&String| exists_beneath(scope, Path::new(path.as_str()));
    let looked = checks.iter().filter_map(|check| {
        let passed = match check {
            AvailabilityCheck::OnPath(program) => is_on_path(program, path, scope),
            // Only a command can say no.
            AvailabilityCheck::Command { or_exists, .. } => {
                or_exists.iter().find(exists).map(|_| true)?
            }
        };
        Some((check.clone(), passed))
    });
    let present = paths.iter().filter(exists).cloned().collect();
    (looked.collect(), present)
}

/// Whether a command would find a program.
fn is_on_path(program: &str, path: &OsStr, scope: &Path) -> bool {
    if program.contains('/') {
        let path = Path::new(program);
        let is_inside = path.is_absolute() || exists_beneath(scope, path);
        return is_inside && is_program(&scope.join(program));
    }
    let mut directories = std::env::split_paths(path);
    directories.any(|directory: PathBuf| is_program(&directory.join(program)))
}

fn is_program(path: &Path) -> bool {
    let about = path.metadata();
    about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
