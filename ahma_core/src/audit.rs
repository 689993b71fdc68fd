//! The audit log: one record when an operation begins and one when it has ended, and one for every warning.
//!
//! For whoever answers for what agents do on a machine: when, which client, what ran, where, and how it
//! ended. It never holds output. A record is one line of JSON.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::denial::Denial;
use crate::operation::{Completion, OperationHandle, OperationId, OperationState};

/// A longer word of a command line is cut; its length and hash stand for the rest.
const MAX_ARG_LEN: usize = 1024;
/// Words of one operation that are written down.
const MAX_ARGS: usize = 256;
/// What is hashed before others have their turn.
const HASHED_AT_ONCE: usize = 64 * 1024;

/// Where records go.
pub struct AuditLog {
    writer: Mutex<Box<dyn Write + Send>>,
}

/// A command line that an operation will run, and what the command will read.
#[derive(Debug, Clone)]
pub struct CommandLine<'c> {
    /// Program and arguments.
    pub words: Vec<&'c str>,
    /// Standard input, when it is not empty.
    pub input: Option<&'c [u8]>,
}

impl CommandLine<'_> {
    /// Its bytes.
    pub(crate) fn len(&self) -> usize {
        let words: usize = self.words.iter().map(|word| word.len()).sum();
        words + self.input.map_or(0, <[u8]>::len)
    }
}

/// What is known when an operation begins.
#[derive(Debug, Clone)]
pub(crate) struct AuditContext {
    client: Arc<str>,
    scope: String,
    argv: Vec<Vec<String>>,
    stdin: Vec<Option<Hashed>>,
}

/// What stands for something too long to be written down.
#[derive(Debug, Clone, Serialize)]
struct Hashed {
    bytes: usize,
    sha256: String,
}

#[derive(Debug, Serialize)]
struct Record<'r> {
    time: String,
    event: &'static str,
    server_pid: u32,
    scope: &'r str,
    client: &'r str,
    operation_id: &'r OperationId,
    tool: &'r str,
    /// A command line per step.
    argv: &'r [Vec<String>],
    /// Standard input per step.
    #[serde(skip_serializing_if = "nothing")]
    stdin: &'r [Option<Hashed>],
    directory: &'r str,
    #[serde(flatten)]
    end: Option<End<'r>>,
}

#[derive(Debug, Serialize)]
struct End<'r> {
    state: OperationState,
    exit_code: Option<i32>,
    signal: Option<i32>,
    duration_ms: u64,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'r [String],
    /// What the sandbox probably refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    denial: Option<&'r Denial>,
}

#[derive(Debug, Serialize)]
struct Warning<'r> {
    time: String,
    event: &'static str,
    server_pid: u32,
    scope: &'r Path,
    warning: &'r str,
}

fn nothing(stdin: &&[Option<Hashed>]) -> bool {
    stdin.iter().all(Option::is_none)
}

impl AuditLog {
    /// Writes a line per record.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        AuditLog {
            writer: Mutex::new(Box::new(writer)),
        }
    }

    /// Writes down an operation that begins.
    pub(crate) fn started(&self, context: &AuditContext, operation: &OperationHandle) {
        self.operation(context, operation, "started", operation.created_at(), None);
    }

    /// Writes down an operation that has ended.
    pub(crate) fn ended(
        &self,
        context: &AuditContext,
        operation: &OperationHandle,
        completion: &Completion,
    ) {
        let end = End {
            state: completion.state,
            exit_code: completion.exit_code,
            signal: completion.signal,
            duration_ms: operation.record().duration_ms,
            warnings: &completion.warnings,
            denial: completion.denial.as_deref(),
        };
        self.operation(context, operation, "ended", SystemTime::now(), Some(end));
    }

    /// Writes down what the owner of a scope is warned of.
    pub(crate) fn warning(&self, scope: &Path, warning: &str) {
        self.write(&Warning {
            time: timestamp(SystemTime::now()),
            event: "warning",
            server_pid: std::process::id(),
            scope,
            warning,
        });
    }

    fn operation(
        &self,
        context: &AuditContext,
        operation: &OperationHandle,
        event: &'static str,
        time: SystemTime,
        end: Option<End<'_>>,
    ) {
        let about = operation.record();
        self.write(&Record {
            time: timestamp(time),
            event,
            server_pid: std::process::id(),
            scope: &context.scope,
            client: &context.client,
            operation_id: &about.operation_id,
            tool: &about.tool,
            argv: &context.argv,
            stdin: &context.stdin,
            directory: &about.working_directory,
            end,
        });
    }

    fn write(&self, record: &impl Serialize) {
        if let Ok(mut line) = serde_json::to_vec(record) {
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
    pub(crate) async fn new(
        client: Arc<str>,
        scope: &Path,
        command_lines: &[CommandLine<'_>],
    ) -> Self {
        let mut left = MAX_ARGS;
        let (mut argv, mut stdin) = (Vec::new(), Vec::new());
        for line in command_lines {
            let mut words = Vec::new();
            for word in line.words.iter().take(left) {
                words.push(cut(word).await);
            }
            left -= words.len();
            let rest = &line.words[words.len()..];
            if !rest.is_empty() {
                let Hashed { bytes, sha256 } = hashed(rest.join("\0").as_bytes()).await;
                let count = rest.len();
                words.push(format!("… {count} more words ({bytes} bytes with a zero byte between, SHA-256 {sha256})"));
            }
            argv.push(words);
            stdin.push(match line.input {
                Some(input) => Some(hashed(input).await),
                None => None,
            });
        }
        AuditContext {
            client,
            scope: scope.to_string_lossy().into_owned(),
            argv,
            stdin,
        }
    }
}

async fn cut(word: &str) -> String {
    if word.len() <= MAX_ARG_LEN {
        return word.to_owned();
    }
    let cut = word.floor_char_boundary(MAX_ARG_LEN);
    let Hashed { bytes, sha256 } = hashed(word.as_bytes()).await;
    format!("{}… ({bytes} bytes, SHA-256 {sha256})", &word[..cut])
}

/// A client decides how much that is; so others have their turn in between.
async fn hashed(data: &[u8]) -> Hashed {
    let mut hash = Sha256::new();
    for piece in data.chunks(HASHED_AT_ONCE) {
        hash.update(piece);
        if piece.len() == HASHED_AT_ONCE {
            tokio::task::yield_now().await;
        }
    }
    let hash = hash.finalize();
    Hashed {
        bytes: data.len(),
        sha256: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// A moment as programs and people read it.
pub(crate) fn timestamp(moment: SystemTime) -> String {
    let moment = chrono::DateTime::<chrono::Utc>::from(moment);
    moment.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
