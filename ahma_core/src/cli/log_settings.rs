//! What the operator decided about the log and the audit log.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use ahma_contract::UserDirectories;

use super::args::{Args, LogLevel};
use crate::scope::in_reach;

/// What is logged usually. The SDK warns of every wrong call, with all it holds.
const USUAL_LOG: &str = "info,rmcp=error";
/// More is logged of everything else: what the SDK says then is whole messages, which can hold anything.
const DEBUG_LOG: &str = "debug,rmcp=error";
const TRACE_LOG: &str = "trace,rmcp=error";

/// What is logged where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogSettings {
    /// To stderr instead of a file.
    pub(super) to_stderr: bool,
    /// In colours there. A file never is.
    pub(super) colours: bool,
    /// What every line begins with besides the time: all servers of a user write one file.
    pub(super) stamp: String,
    /// What, in the language of `RUST_LOG`.
    pub(super) filter: String,
    /// Whether messages are shown too. They can hold anything, so both flags have to say so.
    pub(super) traces: bool,
    /// The user's cache directory; none when that is not known or commands can write there.
    pub(super) cache: Option<PathBuf>,
}

/// Where the audit log goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AuditSettings {
    /// Nowhere.
    Off,
    /// To this file.
    File(PathBuf),
    /// To a file a day in the user's cache directory.
    Daily,
}

impl LogSettings {
    /// A flag beats a variable, a variable beats the default. Commands can write these places.
    pub(super) fn resolve(
        args: &Args,
        environment: &BTreeMap<OsString, OsString>,
        user: &UserDirectories,
        writable: &[PathBuf],
        scope: &Path,
    ) -> Self {
        let variable = |name: &str| environment.get(OsStr::new(name));
        let no_colours = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        LogSettings {
            to_stderr: args.log_to_stderr,
            stamp: format!("{} {}", std::process::id(), scope.display()),
            colours: args.log_to_stderr && !no_colours && io::stderr().is_terminal(),
            traces: args.debug && args.log_to_stderr,
            filter: log_filter(args, variable("RUST_LOG")),
            cache: user
                .cache
                .clone()
                .filter(|cache| !in_reach(cache, writable)),
        }
    }
}

impl AuditSettings {
    /// Seen from a directory. A file that commands can write is refused.
    pub(super) fn resolve(
        args: &Args,
        directory: &Path,
        writable: &[PathBuf],
    ) -> Result<Self, PathBuf> {
        match &args.audit_log {
            None => Ok(AuditSettings::Daily),
            Some(word) if word == Path::new("off") => Ok(AuditSettings::Off),
            Some(file) => {
                let file = from(directory, file);
                if in_reach(&file, writable) {
                    return Err(file);
                }
                Ok(AuditSettings::File(file))
            }
        }
    }
}

/// A flag beats `RUST_LOG`. What the SDK says about each message is of use only when asked for.
fn log_filter(args: &Args, variable: Option<&OsString>) -> String {
    let flag = match (args.debug, args.log_level) {
        (true, _) => Some(DEBUG_LOG),
        (false, level) => level.map(|level| match level {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => USUAL_LOG,
            LogLevel::Debug => DEBUG_LOG,
            LogLevel::Trace => TRACE_LOG,
        }),
    };
    let variable = variable.map(|value| value.to_string_lossy().into_owned());
    flag.map(str::to_owned)
        .or(variable.filter(|value| !value.is_empty()))
        .unwrap_or_else(|| USUAL_LOG.to_owned())
}

/// A path as seen from a directory that is no link.
fn from(directory: &Path, path: &Path) -> PathBuf {
    let (mut directory, mut path) = (directory, path);
    while let Ok(rest) = path.strip_prefix("..") {
        directory = directory.parent().unwrap_or(directory);
        path = rest;
    }
    directory.join(path)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn log(arguments: &[&str], variables: &[(&str, &str)]) -> LogSettings {
        let args = Args::parse_from([&["ahma_mcp"], arguments].concat());
        let pairs = variables.iter();
        let environment = pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        LogSettings::resolve(
            &args,
            &environment,
            &UserDirectories::default(),
            &[],
            Path::new("/scope"),
        )
    }

    /// Proves: P7.
    #[test]
    fn how_much_is_logged_follows_flag_and_variable() {
        let filter =
            |arguments: &[&str], variables: &[(&str, &str)]| log(arguments, variables).filter;
        assert_eq!(filter(&[], &[]), "info,rmcp=error");
        assert_eq!(filter(&[], &[("RUST_LOG", "warn")]), "warn");
        assert_eq!(
            filter(&["--debug"], &[("RUST_LOG", "warn")]),
            "debug,rmcp=error"
        );
        let error = ["--log-level", "error"];
        assert_eq!(filter(&error, &[("RUST_LOG", "warn")]), "error");
    }

    /// Proves: P20.
    #[test]
    fn logs_are_kept_where_commands_cannot_write() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        let scope = root.join("scope");
        std::fs::create_dir(&scope).unwrap();
        let writable = [scope.clone()];
        let cache = |cache: PathBuf| {
            let args = Args::parse_from(["ahma_mcp"]);
            let user = UserDirectories {
                config: None,
                state: None,
                cache: Some(cache),
            };
            LogSettings::resolve(
                &args,
                &BTreeMap::new(),
                &user,
                &writable,
                Path::new("/scope"),
            )
            .cache
        };
        let outside = root.join("cache/ahma_mcp");
        assert_eq!(cache(outside.clone()), Some(outside));
        assert_eq!(cache(scope.join("cache")), None);

        let audit = |file: &str| {
            let args = Args::parse_from(["ahma_mcp", "--audit-log", file]);
            AuditSettings::resolve(&args, &scope, &writable)
        };
        assert_eq!(audit("off"), Ok(AuditSettings::Off));
        let outside = root.join("audit.jsonl");
        assert_eq!(
            audit("../audit.jsonl"),
            Ok(AuditSettings::File(root.join("audit.jsonl")))
        );
        assert_eq!(
            audit(outside.to_str().unwrap()),
            Ok(AuditSettings::File(outside))
        );
        // What leads into the scope, or through it, is in reach.
        std::os::unix::fs::symlink(scope.join("later"), root.join("into")).unwrap();
        std::os::unix::fs::symlink(&root, scope.join("out")).unwrap();
        for way in ["../into", "out/audit.jsonl"] {
            assert!(audit(way).is_err(), "{way}");
        }
        assert_eq!(audit("audit.jsonl"), Err(scope.join("audit.jsonl")));
    }
}
