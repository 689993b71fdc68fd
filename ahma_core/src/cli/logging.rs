//! Where the log and the audit log go.
//!
//! Both are written by threads of their own, so that a slow disk delays no call. Nothing here ever writes to
//! stdout: that belongs to the protocol.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use ahma_transport::MessageTrace;
use rustix::fs::OFlags;
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

use super::batch_writer::{BatchGuard, BatchWriter};
use super::log_settings::{AuditSettings, LogSettings};
use crate::audit::AuditLog;
use crate::owner_warnings::SayWarning;

/// Log files that are kept, one a day.
const LOGS_KEPT: usize = 7;
/// Lines that wait to be written; more are dropped. Room for them is taken when the log begins.
const LINES_WAITING: usize = 1000;
/// The same for warnings on stderr.
const WARNINGS_WAITING: usize = 100;
/// Audit logs that are kept, one a day.
const AUDIT_LOGS_KEPT: usize = 30;

/// What must live as long as the server: dropping it writes what is still to be written.
pub(super) struct Logging {
    guards: Vec<WorkerGuard>,
    batches: Vec<BatchGuard>,
    /// What the operator should know.
    pub(super) warnings: Vec<String>,
    /// Where messages are shown, when they are.
    trace: Option<NonBlocking>,
}

impl Logging {
    /// Begins to log. Where a file cannot be written, stderr is used.
    pub(super) fn start(settings: &LogSettings) -> Self {
        let mut logging = Logging {
            guards: Vec::new(),
            batches: Vec::new(),
            warnings: Vec::new(),
            trace: None,
        };
        let file = match (settings.to_stderr, &settings.cache) {
            (true, _) => None,
            (false, Some(cache)) => match daily_file(cache, "log", LOGS_KEPT) {
                Ok(file) => Some(file),
                Err(error) => {
                    let cache = cache.display();
                    logging.warn(format!("there is no log file in {cache}: {error}"));
                    None
                }
            },
            (false, None) => {
                logging
                    .warn("there is no place for a log file out of reach of commands".to_owned());
                None
            }
        };
        let colours = settings.colours && file.is_none();
        let filter = EnvFilter::builder().parse_lossy(&settings.filter);
        // Nobody may read stderr, and a disk may hang: lines are dropped then, calls are not.
        let builder = NonBlockingBuilder::default().buffered_lines_limit(LINES_WAITING);
        let (writer, guard) = match file {
            Some(file) => builder.finish(file),
            None => builder.finish(io::stderr()),
        };
        logging.guards.push(guard);
        logging.trace = settings.traces.then(|| writer.clone());
        subscribe(writer, filter, colours, settings.stamp.clone());
        for warning in &logging.warnings {
            tracing::warn!("{warning}; logging to stderr");
        }
        logging
    }

    /// Opens the audit log. One that was asked for must be writable; the usual one may be missing.
    pub(super) fn audit_log(
        &mut self,
        audit: &AuditSettings,
        log: &LogSettings,
    ) -> Result<Option<AuditLog>, String> {
        match audit {
            AuditSettings::Off => Ok(None),
            AuditSettings::File(path) => {
                let opened = own_file(path);
                let file = opened.map_err(|error| {
                    format!(
                        "the audit log {} cannot be written: {error}",
                        path.display()
                    )
                })?;
                Ok(Some(self.audited(file)))
            }
            AuditSettings::Daily => {
                let Some(cache) = &log.cache else {
                    self.warn(
                        "there is no place for an audit log out of reach of commands".to_owned(),
                    );
                    return Ok(None);
                };
                match daily_file(cache, "audit.jsonl", AUDIT_LOGS_KEPT) {
                    Ok(file) => Ok(Some(self.audited(file))),
                    Err(error) => {
                        let cache = cache.display();
                        let warning = format!("there is no audit log in {cache}: {error}");
                        tracing::warn!("{warning}");
                        self.warn(warning);
                        Ok(None)
                    }
                }
            }
        }
    }

    /// Shows messages among the lines of the log, when that was asked for.
    pub(super) fn trace(&self, settings: &LogSettings) -> Option<MessageTrace> {
        let writer = self.trace.clone()?;
        let colours = settings.colours && io::stderr().is_terminal();
        Some(MessageTrace::new(colours, move |text| {
            // What cannot be shown is not: a call does not wait for its message to be seen.
            let _ = writer.clone().write_all(text.as_bytes());
        }))
    }

    /// Says warnings on stderr while the log goes to a file. Nobody may read stderr: a warning is dropped then, and stands in
    /// the log.
    pub(super) fn say_on_stderr(&mut self, settings: &LogSettings) -> Option<SayWarning> {
        if settings.to_stderr {
            return None;
        }
        let builder = NonBlockingBuilder::default().buffered_lines_limit(WARNINGS_WAITING);
        let (writer, guard) = builder.finish(io::stderr());
        self.guards.push(guard);
        Some(Arc::new(move |warning: &str| {
            let _ = writeln!(writer.clone(), "warning: {warning}");
        }))
    }

    fn audited(&mut self, writer: impl io::Write + Send + 'static) -> AuditLog {
        let (writer, guard) = BatchWriter::start(writer);
        self.batches.push(guard);
        AuditLog::new(writer)
    }

    fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }
}

/// The time, the process and the scope, at the beginning of a line.
struct Stamp(String);

impl FormatTime for Stamp {
    fn format_time(&self, line: &mut Writer<'_>) -> std::fmt::Result {
        SystemTime.format_time(line)?;
        write!(line, " {}", self.0)
    }
}

fn subscribe<W>(writer: W, filter: EnvFilter, colours: bool, stamp: String)
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_timer(Stamp(stamp))
        .with_ansi(colours);
    // Somebody who uses this as a library may log already.
    let _ = subscriber.try_init();
}

/// A file a day, in a directory that only the user can read.
fn daily_file(directory: &Path, suffix: &str, kept: usize) -> io::Result<RollingFileAppender> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("ahma_mcp")
        .filename_suffix(suffix)
        .max_log_files(kept)
        .build(directory)
        .map_err(io::Error::other)
}

fn own_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    // A link could lead elsewhere next time; a pipe that nobody reads would keep the server from starting.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    options.open(path)
}
