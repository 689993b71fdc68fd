//! What command lines of the operator's file print: for references `${command:…}`. Runs them without a shell, as whoever started
//! this program, where commands cannot write. Must not show or keep what they print, on whichever stream.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::time::Duration;

use ahma_sandbox::{CommandRequest, Exit, Input, LaunchStep, NoExit};
use futures_util::future::join_all;
use tokio::io::{AsyncRead, AsyncReadExt as _, copy, sink};
use tokio::time::timeout;

use super::servers::Means;
use crate::config::Restrictions;
use crate::config::downstream::{Reference, Secret};

/// How long a command may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A longer line is no value.
const MAX_LEN: usize = 64 * 1024;

/// What command lines printed, or why they did not.
pub(super) type Printed = BTreeMap<String, Result<String, CommandFault>>;

/// Why a command has no value. Repeats nothing that it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandFault {
    /// Commands can write the file that names it.
    FileInReach,
    /// It could not be started.
    NotStarted(String),
    /// It takes too long.
    Slow,
    /// There is no such program.
    Missing,
    Failed(Exit),
    /// Its first line is empty.
    Nothing,
    /// Its first line is too long.
    Long,
    /// Its first line is not UTF-8.
    NotText,
}

impl fmt::Display for CommandFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandFault::FileInReach => formatter.write_str(
                "commands can write the file that names it, so that it is not run; move the file out of their reach, or use a \
                 variable or a file",
            ),
            CommandFault::NotStarted(why) => write!(formatter, "it could not be started: {why}"),
            CommandFault::Slow => {
                write!(formatter, "it did not end within {} s", TIMEOUT.as_secs())
            }
            CommandFault::Missing => formatter.write_str("there is no such program"),
            CommandFault::Failed(exit) => match (exit.code, exit.signal) {
                (Some(code), _) => write!(formatter, "it ended with exit code {code}"),
                (None, Some(signal)) => write!(formatter, "it was ended by signal {signal}"),
                (None, None) => formatter.write_str("it ended"),
            },
            CommandFault::Nothing => formatter.write_str("its first line is empty"),
            CommandFault::Long => {
                write!(formatter, "its first line has more than {} KiB", MAX_LEN >> 10)
            }
            CommandFault::NotText => formatter.write_str("its first line is not UTF-8"),
        }
    }
}

/// Runs each command line of these values once, side by side.
pub(super) async fn printed(means: &Means, values: &BTreeMap<String, Secret>) -> Printed {
    let references = values.values().flat_map(Secret::references);
    let mut lines: Vec<&str> = references
        .filter_map(|it| match it {
            Reference::Command(line) => Some(line.as_str()),
            Reference::Env(_) | Reference::File(_) | Reference::Port => None,
        })
        .collect();
    lines.sort_unstable();
    lines.dedup();
    let running = lines.into_iter().map(async |line| {
        let value = match means.places.is_file_in_reach {
            true => Err(CommandFault::FileInReach),
            false => run(means, line).await,
        };
        (line.to_owned(), value)
    });
    join_all(running).await.into_iter().collect()
}

async fn run(means: &Means, line: &str) -> Result<String, CommandFault> {
    let not_started = |error: &dyn fmt::Display| CommandFault::NotStarted(error.to_string());
    let words = shell_words::split(line).map_err(|error| not_started(&error))?;
    let mut environment = means.environment.clone();
    // What was meant for us, keys among it.
    environment.retain(|name, _| !name.as_encoded_bytes().starts_with(b"AHMA_"));
    let request = CommandRequest {
        arguments: words.into_iter().map(OsString::from).collect(),
        environment: environment.into_iter().collect(),
        directory: means.places.trusted.clone(),
        input: Input::Nothing,
    };
    let host = means.unconfined.host(&Restrictions::default()).await;
    let host = host.map_err(|error| not_started(&error))?;
    let started = host.spawn_apart(request).await;
    let (mut command, mut errors) = started.map_err(|error| not_started(&error))?;
    let output = command.take_output().ok_or(CommandFault::Nothing)?;
    let said = tokio::spawn(first_line(output));
    // What it says there may hold what nobody should read.
    tokio::spawn(async move { copy(&mut errors, &mut sink()).await });
    let exit = timeout(TIMEOUT, command.exited()).await;
    // What it has left running would keep its output open.
    command.kill();
    command.gone().await;
    let exit = exit.map_err(|_| CommandFault::Slow)?;
    let exit = exit.map_err(|error| match error {
        NoExit::NotStarted {
            step: LaunchStep::Execute,
            errno,
        } if io::Error::from_raw_os_error(errno).kind() == io::ErrorKind::NotFound => {
            CommandFault::Missing
        }
        error => not_started(&error),
    })?;
    let said = said.await.map_err(|error| not_started(&error))?;
    if exit.code != Some(0) {
        return Err(CommandFault::Failed(exit));
    }
    value(said)
}

/// The first line, or a little more than may be one. The rest is read too, so that nobody waits for a reader.
async fn first_line(mut output: impl AsyncRead + Unpin) -> Vec<u8> {
    let (mut line, mut buffer) = (Vec::new(), vec![0; 4096]);
    let mut is_whole = false;
    while let Ok(length @ 1..) = output.read(&mut buffer).await {
        let read = &buffer[..length];
        if !is_whole {
            let end = read.iter().position(|it| *it == b'\n');
            line.extend_from_slice(&read[..end.unwrap_or(length)]);
            is_whole = end.is_some() || line.len() > MAX_LEN;
        }
    }
    line
}

fn value(line: Vec<u8>) -> Result<String, CommandFault> {
    if line.len() > MAX_LEN {
        return Err(CommandFault::Long);
    }
    let text = String::from_utf8(line).map_err(|_| CommandFault::NotText)?;
    match text.trim() {
        "" => Err(CommandFault::Nothing),
        text => Ok(text.to_owned()),
    }
}
