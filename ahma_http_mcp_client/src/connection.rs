//! One connection to one server that somebody has named: started where it is given by a command, and ended with the connection.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::Tool;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

use crate::client::{Client, ClientOptions};
use crate::config::{CommandEntry, ServerEntry, UrlEntry};
use crate::error::ConnectError;
use crate::process_group::ProcessGroup;
use crate::request_error::RequestError;

/// What is kept of a server's stderr.
const STDERR_KEPT: usize = 4096;
/// How long a server that was started here has to end by itself, once its input has ended.
const GRACE: Duration = Duration::from_secs(3);

/// A server that answers.
pub struct Connection {
    /// First: a server that still writes must find nobody before it is killed.
    client: Client,
    process: Option<Started>,
    diagnostics: PeerDiagnostics,
    timeout: Duration,
}

/// A process that was started here.
struct Started {
    child: Child,
    /// Ends what it leaves behind.
    _group: Option<ProcessGroup>,
}

impl Connection {
    /// Reaches a server, starting it where that is needed, and agrees with it on a protocol version. Every answer
    /// has to come within `timeout`.
    pub async fn open(entry: &ServerEntry, timeout: Duration) -> Result<Self, ConnectError> {
        let options = ClientOptions {
            connect_timeout: timeout,
            timeout,
            ..ClientOptions::default()
        };
        let (client, process, diagnostics) = match entry {
            ServerEntry::Url(entry) => {
                let diagnostics = PeerDiagnostics::Url(entry.clone());
                (Client::at(entry, options).await, None, diagnostics)
            }
            ServerEntry::Command(entry) => {
                let (mut process, stderr) = started(entry).await?;
                let diagnostics = PeerDiagnostics::Stderr(stderr);
                let pipes = process.child.stdout.take().zip(process.child.stdin.take());
                let Some((output, input)) = pipes else {
                    let error = RequestError::not_sent("it has no input or output");
                    return Err(diagnostics.explained(error).await);
                };
                let client = Client::over_streams(output, input, options).await;
                (client, Some(process), diagnostics)
            }
        };
        match client {
            Ok(client) => Ok(Connection {
                client,
                process,
                diagnostics,
                timeout,
            }),
            Err(error) => Err(diagnostics.explained(error).await),
        }
    }

    /// Everything the server offers as a tool, as far as it can be read.
    pub async fn tools(&self) -> Result<Vec<Tool>, ConnectError> {
        let listed = match timeout(self.timeout, self.client.tools()).await {
            Ok(Ok(listed)) => listed,
            Ok(Err(error)) => return Err(self.diagnostics.explained(error).await),
            Err(_) => {
                let error = RequestError::Timeout(self.timeout);
                return Err(self.diagnostics.explained(error).await);
            }
        };
        let tools = listed.items.iter();
        let tools: Result<Vec<Tool>, _> = tools.map(|it| serde_json::from_str(it.get())).collect();
        match tools {
            Ok(tools) => Ok(tools),
            Err(error) => {
                let error = RequestError::BadAnswer(format!("a tool of it is wrong: {error}"));
                Err(self.diagnostics.explained(error).await)
            }
        }
    }

    /// Ends the connection, and the server with it where it was started here.
    pub async fn close(self) {
        self.client.close().await;
        if let Some(mut process) = self.process {
            // What does not end by itself is killed.
            let _ = timeout(GRACE, process.child.wait()).await;
        }
    }
}

/// Starts a server whose complaints are heard.
async fn started(entry: &CommandEntry) -> Result<(Started, Stderr), ConnectError> {
    if let Some(path) = &entry.cwd
        && let Err(error) = tokio::fs::read_dir(path).await
    {
        let path = path.clone();
        return Err(ConnectError::Directory { path, error });
    }
    let mut child = start(entry)?;
    let stderr = Stderr::default();
    stderr.collect(child.stderr.take());
    let group = ProcessGroup::of(child.id());
    let started = Started {
        child,
        _group: group,
    };
    Ok((started, stderr))
}

#[expect(
    clippy::disallowed_methods,
    reason = "whoever runs this program has named the command"
)]
fn start(entry: &CommandEntry) -> Result<Child, ConnectError> {
    let mut command = Command::new(&entry.command);
    command.args(&entry.args).envs(&entry.env);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // A group of its own, to be ended as a whole.
    command.process_group(0).kill_on_drop(true);
    if let Some(directory) = &entry.cwd {
        command.current_dir(directory);
    }
    command.spawn().map_err(|error| ConnectError::Start {
        program: entry.command.clone(),
        error,
    })
}

/// What is known of a server that does not do as it should.
enum PeerDiagnostics {
    Stderr(Stderr),
    Url(UrlEntry),
}

impl PeerDiagnostics {
    async fn explained(&self, error: RequestError) -> ConnectError {
        match (self, error) {
            (PeerDiagnostics::Stderr(kept), RequestError::Timeout(timeout)) => {
                ConnectError::Silent {
                    timeout,
                    stderr: kept.said().await,
                }
            }
            (PeerDiagnostics::Url(entry), RequestError::Timeout(timeout)) => ConnectError::Silent {
                timeout,
                stderr: format!(": {}", entry.place()),
            },
            (PeerDiagnostics::Stderr(kept), error) => ConnectError::Protocol {
                what: error.to_string(),
                stderr: kept.said().await,
            },
            (PeerDiagnostics::Url(entry), RequestError::Unauthorized { .. }) => ConnectError::Url {
                url: entry.place().to_owned(),
                what: "it wants a token, or another one than it was shown".to_owned(),
            },
            (PeerDiagnostics::Url(entry), error) => ConnectError::Url {
                url: entry.place().to_owned(),
                what: error.to_string(),
            },
        }
    }
}

/// The end of what a server says on stderr.
#[derive(Clone, Default)]
struct Stderr(Arc<Mutex<Vec<u8>>>);

impl Stderr {
    fn collect(&self, pipe: Option<ChildStderr>) {
        if let Some(mut pipe) = pipe {
            let kept = self.clone();
            tokio::spawn(async move {
                let mut buffer = [0; 1024];
                while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
                    kept.add(&buffer[..length]);
                }
            });
        }
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        let excess = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..excess);
    }

    /// What was said, ready to be put behind a message.
    async fn said(&self) -> String {
        // A server that has just ended may have said why a moment ago.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        match text.trim_end() {
            "" => String::new(),
            text => format!("\nit said:\n{text}"),
        }
    }
}
