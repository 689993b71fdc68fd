//! The streams and signals of a command that is run from a terminal or a script: what it writes is passed on as it comes, apart, and a
//! part of it is kept for whoever explains why it failed. Must not decide what is run.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use ahma_sandbox::{CommandRequest, Exit, Input, InputPipe, NoExit, RunningCommand};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use super::startup_error::StartupError;
use crate::config::Restrictions;
use crate::scope::Scope;

/// Bytes that are kept of what it wrote last.
const KEPT: usize = 256 * 1024;
/// How long it has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);
const BUFFER: usize = 64 * 1024;
/// What a shell adds to the number of a signal.
const BY_SIGNAL: i32 = 128;

/// A command that has run.
pub(super) struct Ran {
    pub(super) exit: Exit,
    kept: VecDeque<u8>,
    /// How much it wrote in all.
    written: usize,
}

impl Ran {
    /// What a shell would say of it.
    pub(super) fn exit_code(&self) -> u8 {
        let code = match (self.exit.code, self.exit.signal) {
            (Some(code), _) => code,
            (None, Some(signal)) => BY_SIGNAL + signal,
            (None, None) => 1,
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }

    /// The end of what it wrote.
    pub(super) fn output(&self) -> String {
        let (first, second) = self.kept.as_slices();
        String::from_utf8_lossy(&[first, second].concat()).into_owned()
    }

    /// Whether more was written than is kept.
    pub(super) fn is_cut(&self) -> bool {
        self.written > self.kept.len()
    }
}

/// Runs a script in a scope that is ready, with the streams of this process, until it and all that it started has ended. Without input
/// where somebody else wants to read what is typed.
pub(super) async fn run_and_show(
    scope: &Scope,
    script: &str,
    has_input: bool,
) -> Result<Ran, StartupError> {
    let failed = |error: &dyn std::fmt::Display| StartupError::Other(error.to_string());
    let (hosts, environment) = scope.confined();
    let host = hosts.host(&Restrictions::default()).await;
    let host = host.map_err(|error| failed(&error))?;
    let pipe = has_input.then(InputPipe::new).transpose()?;
    let (reading, writing) = pipe.unzip();
    let request = CommandRequest {
        arguments: vec![scope.shell(), "-c".into(), "--".into(), script.into()],
        environment,
        directory: scope.directory().to_owned(),
        input: reading.clone().map_or(Input::Nothing, Input::Pipe),
    };
    let mut signals = Signals::listen()?;
    let started = host.spawn_apart(request).await;
    let (mut command, errors) = started.map_err(|error| failed(&error))?;
    if let (Some(reading), Some(writing)) = (reading, writing) {
        reading.release();
        tokio::spawn(pass_input_on(writing));
    }
    let mut streams = Streams {
        output: command.take_output(),
        errors: Some(errors),
        kept: VecDeque::new(),
        written: 0,
    };
    let exit = streams.until_the_end(&mut command, &mut signals).await;
    let exit = exit.map_err(|error| failed(&error))?;
    Ok(Ran {
        exit,
        kept: streams.kept,
        written: streams.written,
    })
}

/// Passes on what is typed or piped, until either side has enough.
async fn pass_input_on(mut writing: Sender) {
    let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut writing).await;
}

/// What happens to a command next.
enum Next {
    Exited(Result<Exit, NoExit>),
    /// Nothing of it is left.
    Gone,
}

async fn next_of(command: &mut RunningCommand, has_exited: bool, is_all_read: bool) -> Next {
    match (has_exited, is_all_read) {
        (false, _) => Next::Exited(command.exited().await),
        (true, true) => {
            command.gone().await;
            Next::Gone
        }
        (true, false) => std::future::pending().await,
    }
}

struct Streams {
    output: Option<Receiver>,
    errors: Option<Receiver>,
    kept: VecDeque<u8>,
    written: usize,
}

impl Streams {
    async fn until_the_end(
        &mut self,
        command: &mut RunningCommand,
        signals: &mut Signals,
    ) -> Result<Exit, NoExit> {
        let (mut output, mut errors) = (vec![0; BUFFER], vec![0; BUFFER]);
        let (mut ended, mut kill_at) = (None, None);
        loop {
            let are_closed = self.output.is_none() && self.errors.is_none();
            let time_is_up = async {
                match kill_at {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // What it wrote first: all of it is shown when it has ended.
                biased;
                length = read(&mut self.output, &mut output) => {
                    let piece = output.get(..length).unwrap_or_default();
                    self.keep(piece);
                    let mut stdout = tokio::io::stdout();
                    if show(&mut stdout, piece).await.is_err() {
                        // Nobody reads any more, as with `| head`.
                        command.kill();
                    }
                }
                length = read(&mut self.errors, &mut errors) => {
                    let piece = errors.get(..length).unwrap_or_default();
                    self.keep(piece);
                    let _ = show(&mut tokio::io::stderr(), piece).await;
                }
                next = next_of(command, ended.is_some(), are_closed) => match next {
                    Next::Exited(exit) => {
                        ended = Some(exit?);
                        // What it left behind ends with it, as with an agent's command.
                        command.kill();
                    }
                    Next::Gone => {
                        let unknown = Exit { code: None, signal: None };
                        return Ok(ended.unwrap_or(unknown));
                    }
                },
                () = signals.next() => {
                    match kill_at {
                        Some(_) => command.kill(),
                        None => command.terminate(),
                    }
                    kill_at.get_or_insert(Instant::now() + GRACE);
                }
                () = time_is_up => {
                    command.kill();
                    kill_at = Some(Instant::now() + GRACE);
                }
            }
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        self.written += piece.len();
        self.kept.extend(piece);
        let surplus = self.kept.len().saturating_sub(KEPT);
        self.kept.drain(..surplus);
    }
}

/// Reads from a stream, which is closed where nothing more comes; waits for ever on a closed one.
async fn read(stream: &mut Option<Receiver>, buffer: &mut [u8]) -> usize {
    let Some(open) = stream else {
        return std::future::pending().await;
    };
    let length = open.read(buffer).await.unwrap_or(0);
    if length == 0 {
        *stream = None;
    }
    length
}

async fn show(to: &mut (impl tokio::io::AsyncWrite + Unpin), piece: &[u8]) -> io::Result<()> {
    to.write_all(piece).await?;
    to.flush().await
}

/// Signals that are meant for the command.
struct Signals([Signal; 3]);

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Signals([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
