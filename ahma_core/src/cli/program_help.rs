//! What programs print when they are asked for help: confined as commands are, without network and without the right to write, each
//! for a while and up to a size. Must not read what they print, beyond whether it is help.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::{CommandRequest, Input, LaunchStep, NoExit};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::timeout;

use crate::config::Restrictions;
use crate::draft::{self, Help};
use crate::executor::HostPool;

/// How long a program may take to print its help.
const TIMEOUT: Duration = Duration::from_secs(10);
/// What it prints beyond this is not read.
const MAX_LEN: usize = 1024 * 1024;
/// They are only asked.
const RESTRICTIONS: Restrictions = Restrictions {
    no_network: true,
    no_writes: true,
    memory_mb: None,
    processes: None,
    output_mb: None,
};
/// For text that one can read line by line, in English.
const VARIABLES: [(&str, &str); 10] = [
    ("COLUMNS", "120"),
    ("GIT_PAGER", "cat"),
    ("LANG", "C.UTF-8"),
    ("LANGUAGE", "C"),
    ("LC_ALL", "C.UTF-8"),
    ("MANPAGER", "cat"),
    ("MANWIDTH", "120"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("TERM", "dumb"),
];

/// Asks programs.
pub(super) struct Asker {
    hosts: Arc<HostPool>,
    environment: Vec<(OsString, OsString)>,
    directory: PathBuf,
}

/// The help of a command.
#[derive(Debug)]
pub(super) struct Answer {
    /// As it was printed.
    pub(super) text: String,
    pub(super) help: Help,
}

/// Why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoHelp {
    /// There is no such program.
    Missing,
    /// It cannot be started.
    NotStarted(String),
    /// It was not done in time.
    Slow,
    /// It only shows a page of the manual.
    Manual,
    /// It printed something else; the first line.
    Other(String),
}

/// What a program printed.
#[derive(Debug, Default)]
struct Printed {
    output: String,
    errors: String,
}

impl Asker {
    /// They run in this directory.
    pub(super) fn new(
        (hosts, mut environment): (Arc<HostPool>, Vec<(OsString, OsString)>),
        directory: PathBuf,
    ) -> Self {
        environment.retain(|(name, _)| !VARIABLES.iter().any(|(it, _)| name == it));
        let own = VARIABLES
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        environment.extend(own);
        Asker {
            hosts,
            environment,
            directory,
        }
    }

    /// Asks in the ways that are usual, one after the other, until one is answered.
    pub(super) async fn ask(&self, program: &str, command: &[String]) -> Result<Answer, NoHelp> {
        let mut why = None;
        for words in ways(program, command) {
            // What does not end by itself once will not do so the next time.
            let printed = self.run(words).await?;
            let texts = [printed.output, printed.errors];
            for text in texts.into_iter().filter(|it| !it.trim().is_empty()) {
                if draft::is_manual_page(&text) {
                    why = Some(NoHelp::Manual);
                } else if let Some(help) = draft::read(&text, command) {
                    return Ok(Answer { text, help });
                } else {
                    let first = text.lines().map(str::trim).find(|it| !it.is_empty());
                    let first = first
                        .unwrap_or_default()
                        .chars()
                        .filter(|it| !it.is_control());
                    why.get_or_insert(NoHelp::Other(first.take(120).collect()));
                }
            }
        }
        Err(why.unwrap_or(NoHelp::Other(String::new())))
    }

    async fn run(&self, words: Vec<String>) -> Result<Printed, NoHelp> {
        let not_started = |error: &dyn std::error::Error| NoHelp::NotStarted(error.to_string());
        let host = self.hosts.host(&RESTRICTIONS).await;
        let host = host.map_err(|error| not_started(&error))?;
        let request = CommandRequest {
            arguments: words.into_iter().map(OsString::from).collect(),
            environment: self.environment.clone(),
            directory: self.directory.clone(),
            input: Input::Nothing,
        };
        let started = host.spawn_apart(request).await;
        let (mut command, errors) = started.map_err(|error| not_started(&error))?;
        let Some(output) = command.take_output() else {
            return Ok(Printed::default());
        };
        let output = tokio::spawn(read(output));
        let errors = tokio::spawn(read(errors));
        let exit = timeout(TIMEOUT, command.exited()).await;
        // What it has left running would keep its output open.
        command.kill();
        command.gone().await;
        match exit {
            Err(_) => return Err(NoHelp::Slow),
            Ok(Err(NoExit::NotStarted {
                step: LaunchStep::Execute,
                errno,
            })) if io::Error::from_raw_os_error(errno).kind() == io::ErrorKind::NotFound => {
                return Err(NoHelp::Missing);
            }
            Ok(Err(error)) => return Err(not_started(&error)),
            Ok(Ok(_)) => {}
        }
        Ok(Printed {
            output: output.await.unwrap_or_default(),
            errors: errors.await.unwrap_or_default(),
        })
    }
}

/// `--help` first: of some programs `-h` is another flag.
fn ways(program: &str, command: &[String]) -> Vec<Vec<String>> {
    let line = |before: &[&str], after: &[&str]| -> Vec<String> {
        let own = command.iter().map(String::as_str);
        let words = std::iter::once(program).chain(before.iter().copied());
        let words = words.chain(own).chain(after.iter().copied());
        words.map(str::to_owned).collect()
    };
    let mut ways = vec![line(&[], &["--help"]), line(&[], &["-h"])];
    if !command.is_empty() {
        ways.push(line(&["help"], &[]));
    }
    ways
}

/// The beginning of it. The rest is read too, so that nobody waits for a reader.
async fn read(mut from: impl AsyncRead + Unpin) -> String {
    let (mut kept, mut buffer) = (Vec::new(), vec![0; 16 * 1024]);
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let room = MAX_LEN - kept.len();
        kept.extend_from_slice(&buffer[..length.min(room)]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}
