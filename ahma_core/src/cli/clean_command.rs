//! `ahma_mcp clean`: removes what servers have left behind and nobody uses. Must not touch what a server uses, nor keys, settings and
//! sign-ins.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ahma_contract::{STATE_FILE, UserDirectories};
use ahma_sandbox::{PrivateDir, remove_directory};

use super::output::say;
use super::startup_error::EXIT_FAILURE;
use super::state_file::is_alive;
use crate::scope::{private_base, unused_homes};

const HELP: &str = "\
Kept in any case: keys of servers, sign-ins, records of other servers, settings, and whatever a running server uses.
docs/files.md says what each file is.";

/// What is to be removed.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct CleanArgs {
    /// Say what would be removed, and remove nothing.
    #[arg(long)]
    dry_run: bool,

    /// Also the homes of commands of projects that are still there, with what was installed in them.
    #[arg(long)]
    homes: bool,

    /// Also logs, and the records of operations.
    #[arg(long)]
    logs: bool,
}

/// Removes it; the exit code.
pub(super) fn run(clean: &CleanArgs) -> ExitCode {
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let mut cleaning = Cleaning {
        is_dry: clean.dry_run,
        ..Cleaning::default()
    };
    let user = UserDirectories::of_this_user();
    if let Some(cache) = &user.cache {
        cleaning.homes(&cache.join("homes"), clean.homes);
        if clean.logs {
            cleaning.logs(cache);
        }
    }
    cleaning.state_file();
    if let Some(base) = private_base(&environment, &[]) {
        cleaning.private(&base);
    }
    match say(&cleaning.told()) {
        Ok(()) if cleaning.failed.is_empty() => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_FAILURE),
    }
}

/// What was removed, or would be.
#[derive(Default)]
struct Cleaning {
    is_dry: bool,
    removed: Vec<(PathBuf, u64, String)>,
    failed: Vec<String>,
}

#[expect(clippy::disallowed_methods, reason = "no runtime runs")]
impl Cleaning {
    fn homes(&mut self, homes: &Path, all: bool) {
        for home in unused_homes(homes) {
            let is_gone = home.scope.as_ref().is_none_or(|it| !it.exists());
            if all || is_gone {
                let scope = home.scope.as_deref().unwrap_or(Path::new("?"));
                let why = format!("home of commands in {}", scope.display());
                let path = home.path.clone();
                self.remove(&path, &why, remove_directory);
            }
        }
    }

    fn logs(&mut self, cache: &Path) {
        let entries = fs::read_dir(cache).into_iter().flatten().flatten();
        let is_log = |it: &PathBuf| {
            let name = it
                .file_name()
                .and_then(|it| it.to_str())
                .unwrap_or_default();
            name.starts_with("ahma_mcp.")
                && (name.ends_with(".log") || name.ends_with(".audit.jsonl"))
        };
        let mut logs: Vec<PathBuf> = entries.map(|it| it.path()).filter(is_log).collect();
        logs.sort();
        for log in logs {
            self.remove(&log, "log", |it| fs::remove_file(it));
        }
    }

    /// That of a server of this project that is gone.
    fn state_file(&mut self) {
        let path = PathBuf::from(STATE_FILE);
        if path.is_file() && !is_alive(&path) {
            self.remove(&path, "state file of a server that is gone", |it| {
                fs::remove_file(it)
            });
        }
    }

    /// Private directories of servers that were killed.
    fn private(&mut self, base: &Path) {
        for path in PrivateDir::abandoned(base).unwrap_or_default() {
            self.remove(&path, "private directory of a server that is gone", |it| {
                remove_directory(it)
            });
        }
    }

    fn remove(&mut self, path: &Path, what: &str, removing: impl Fn(&Path) -> std::io::Result<()>) {
        let bytes = size(path);
        if !self.is_dry
            && let Err(error) = removing(path)
        {
            let path = path.display();
            self.failed
                .push(format!("{path} cannot be removed: {error}"));
            return;
        }
        self.removed.push((path.to_owned(), bytes, what.to_owned()));
    }

    fn told(&self) -> String {
        let (verb, all) = match self.is_dry {
            true => ("would remove", "would be freed"),
            false => ("removed", "freed"),
        };
        let mut lines = Vec::new();
        for (path, bytes, what) in &self.removed {
            lines.push(format!(
                "{verb} {} ({what}, {} kB)",
                path.display(),
                bytes >> 10
            ));
        }
        lines.extend(self.failed.iter().map(|it| format!("error: {it}")));
        let bytes: u64 = self.removed.iter().map(|(_, bytes, _)| bytes).sum();
        lines.push(match self.removed.is_empty() {
            true => "there is nothing to remove".to_owned(),
            false => format!("{} MB {all}", bytes >> 20),
        });
        lines.join("\n") + "\n"
    }
}

/// Bytes on disk of a file, or of a directory with all that is in it.
#[expect(clippy::disallowed_methods, reason = "no runtime runs")]
fn size(path: &Path) -> u64 {
    let (mut bytes, mut waiting) = (0, vec![path.to_owned()]);
    while let Some(path) = waiting.pop() {
        let Ok(about) = fs::symlink_metadata(&path) else {
            continue;
        };
        bytes += about.blocks() * 512;
        if about.is_dir() {
            let inside = fs::read_dir(&path).into_iter().flatten().flatten();
            waiting.extend(inside.map(|it| it.path()));
        }
    }
    bytes
}
