//! The process of a server: started through a sandbox host, and ended with everything that it started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::{CommandRequest, Exit, Input, InputPipe};
use tokio::net::unix::pipe;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::ports::LeasedPort;
use super::stderr_tail::StderrTail;
use crate::config::Restrictions;
use crate::executor::HostPool;

/// How long a process may take to end by itself once it is asked to.
const GRACE: Duration = Duration::from_secs(2);

/// What is to be started.
pub(super) struct ProcessSpec {
    pub(super) words: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) directory: PathBuf,
    /// What it has to do without.
    pub(super) restrictions: Restrictions,
    /// Where it is to listen: nobody else is given that while it runs.
    pub(super) port: Option<Arc<LeasedPort>>,
}

/// A process that runs, or ran. Ends, with everything it started, when dropped.
pub(super) struct Process {
    /// Says that it is to end; dropping it says so too.
    stop: Option<oneshot::Sender<()>>,
    /// The number of the pipe of its standard error, which what it starts has too, and nobody else.
    pipe: u64,
    exited: Exited,
}

/// Hears of the end of a process.
#[derive(Debug, Clone)]
pub(super) struct Exited(watch::Receiver<Option<Ended>>);

impl Exited {
    /// How it ended, once no process of it is left.
    pub(super) fn now(&self) -> Option<Ended> {
        self.0.borrow().clone()
    }

    /// Waits until no process of it is left, and says how it ended.
    pub(super) async fn wait(&self) -> Ended {
        let mut exited = self.0.clone();
        let ended = exited.wait_for(Option::is_some).await;
        let ended = ended.ok().and_then(|it| it.clone());
        ended.unwrap_or_else(|| Ended {
            code: None,
            words: "it was ended".to_owned(),
        })
    }
}

/// How it ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    /// Its exit code, where it had one.
    pub(super) code: Option<i32>,
    /// In words.
    pub(super) words: String,
}

/// Its standard input and output.
pub(super) struct Pipes {
    pub(super) input: pipe::Sender,
    pub(super) output: pipe::Receiver,
}

impl Process {
    /// Starts a program in a host of this pool; what it says on standard error is kept and logged.
    pub(super) async fn start(
        hosts: &Arc<HostPool>,
        spec: ProcessSpec,
        server: &str,
        stderr: &StderrTail,
    ) -> Result<(Process, Pipes), String> {
        let why = |error: &dyn std::fmt::Display| error.to_string();
        let (reading, input) = InputPipe::new().map_err(|error| why(&error))?;
        let request = CommandRequest {
            arguments: spec.words,
            environment: spec.environment,
            directory: spec.directory,
            input: Input::Pipe(reading.clone()),
        };
        let host = hosts.host(&spec.restrictions).await;
        let host = host.map_err(|error| why(&error))?;
        let started = host.spawn_apart(request).await;
        let (mut command, errors) = started.map_err(|error| why(&error))?;
        reading.release();
        let output = command.take_output().ok_or("it has no output")?;
        let pipe = rustix::fs::fstat(&errors).map_err(|error| why(&error))?;
        tokio::spawn(stderr.clone().read(server.to_owned(), errors));
        let (stop, stopped) = oneshot::channel();
        let (tell, exited) = watch::channel(None);
        tokio::spawn(async move {
            // The host is kept for as long as the process runs, and its port.
            let (_host, _port) = (host, spec.port);
            let exit = tokio::select! {
                exit = command.exited() => Some(exit),
                _ = stopped => None,
            };
            if exit.is_none() {
                command.terminate();
                let _ = timeout(GRACE, command.exited()).await;
            }
            command.kill();
            command.gone().await;
            let exit = match exit {
                Some(exit) => Some(exit),
                None => Some(command.exited().await),
            };
            let ended = exit.map(|exit| match exit {
                Ok(exit) => Ended {
                    code: exit.code,
                    words: described(exit),
                },
                Err(error) => Ended {
                    code: None,
                    words: error.to_string(),
                },
            });
            tell.send_replace(ended);
        });
        let process = Process {
            stop: Some(stop),
            pipe: pipe.st_ino,
            exited: Exited(exited),
        };
        Ok((process, Pipes { input, output }))
    }

    /// The number of the pipe of its standard error.
    pub(super) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Waits until no process of it is left, and says how it ended.
    pub(super) async fn ended(&self) -> Ended {
        self.exited.wait().await
    }

    /// What hears of its end.
    pub(super) fn exit(&self) -> Exited {
        self.exited.clone()
    }

    /// Asks it to end, and waits until it has; what does not end by itself is killed.
    pub(super) async fn stop(mut self) {
        self.stop.take();
        self.ended().await;
    }
}

fn described(exit: Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("it ended with exit code {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    }
}
