//! The audit log: one record per operation, when it has ended.
//!
//! For whoever answers for what agents do on a machine: when, which client, what ran, where, and how it
//! ended. It never holds output. A record is one line of JSON.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::Serialize;

use crate::operation::{OperationHandle, OperationId, OperationState};

/// A longer word of a command line is cut.
const MAX_ARG_LEN: usize = 1024;
/// Words of one operation that are written down.
const MAX_ARGS: usize = 256;

/// Where records go.
pub struct AuditLog {
    writer: Mutex<Box<dyn Write + Send>>,
}

/// What is known when an operation begins.
#[derive(Debug, Clone)]
pub struct AuditContext {
    client: Arc<str>,
    argv: Vec<Vec<String>>,
}

#[derive(Debug, Serialize)]
struct Record<'r> {
    time: String,
    client: &'r str,
    operation_id: &'r OperationId,
    tool: &'r str,
    /// A command line per step.
    argv: &'r [Vec<String>],
    directory: &'r str,
    state: OperationState,
    exit_code: Option<i32>,
    signal: Option<i32>,
    duration_ms: u64,
}

impl AuditLog {
    /// Writes a line per record.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        AuditLog {
            writer: Mutex::new(Box::new(writer)),
        }
    }

    /// Writes down an operation that has ended.
    pub fn write(&self, context: &AuditContext, operation: &OperationHandle) {
        let about = operation.record();
        let record = Record {
            time: timestamp(operation.created_at()),
            client: &context.client,
            operation_id: &about.operation_id,
            tool: &about.tool,
            argv: &context.argv,
            directory: &about.working_directory,
            state: about.state,
            exit_code: about.exit_code,
            signal: about.signal,
            duration_ms: about.duration_ms,
        };
        if let Ok(mut line) = serde_json::to_vec(&record) {
            line.push(b'\n');
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = writer.write_all(&line) {
                tracing::error!(%error, "a record of the audit log could not be written");
            }
        }
    }
}

impl AuditContext {
    /// For a client, and the command lines it has asked for.
    pub fn new(client: Arc<str>, command_lines: &[Vec<&str>]) -> Self {
        let mut left = MAX_ARGS;
        let argv = command_lines.iter().map(|words| {
            let taken: Vec<String> = words.iter().take(left).map(|word| cut(word)).collect();
            left -= taken.len();
            taken
        });
        AuditContext {
            argv: argv.collect(),
            client,
        }
    }
}

fn cut(word: &str) -> String {
    if word.len() <= MAX_ARG_LEN {
        return word.to_owned();
    }
    let cut = word.floor_char_boundary(MAX_ARG_LEN);
    format!("{}… ({} bytes)", &word[..cut], word.len())
}

/// A moment as programs and people read it.
pub(crate) fn timestamp(moment: SystemTime) -> String {
    let moment = chrono::DateTime::<chrono::Utc>::from(moment);
    moment.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
