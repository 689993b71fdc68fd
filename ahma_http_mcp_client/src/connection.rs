//! One connection to one server.

use std::error::Error;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, Tool};
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceExt as _};
use tokio::io::AsyncReadExt as _;
use tokio::process::{ChildStderr, Command};

use crate::config::{CommandEntry, ServerEntry, UrlEntry};
use crate::error::ConnectError;
use crate::http;
use crate::process_group::ProcessGroup;

/// What is kept of a server's stderr.
const STDERR_KEPT: usize = 4096;

/// A server that answers.
pub struct Connection {
    /// Ends what a server that was started here leaves behind.
    group: Option<ProcessGroup>,
    service: RunningService<RoleClient, ClientConfig>,
    diagnostics: PeerDiagnostics,
    timeout: Duration,
}

impl Connection {
    /// Reaches a server, starting it where that is needed, and agrees with it on a protocol version. Every answer
    /// has to come within `timeout`.
    pub async fn open(entry: &ServerEntry, timeout: Duration) -> Result<Self, ConnectError> {
        let diagnostics = match entry {
            ServerEntry::Command(_) => PeerDiagnostics::Stderr(Stderr::default()),
            ServerEntry::Url(entry) => PeerDiagnostics::Url(entry.clone()),
        };
        let ours = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        let client = ClientConfig::new(ClientCapabilities::default(), ours);
        let mut group = None;
        let serving = async {
            let served = match entry {
                ServerEntry::Command(entry) => {
                    let server = started(entry, &diagnostics).await?;
                    group = ProcessGroup::of(server.id());
                    client.serve(server).await
                }
                ServerEntry::Url(entry) => client.serve(http::transport(entry)?).await,
            };
            match served {
                Ok(service) => Ok(service),
                Err(ClientInitializeError::TransportError { error, .. }) => {
                    Err(diagnostics.protocol(&*error.error).await)
                }
                Err(error) => Err(diagnostics.protocol(&error).await),
            }
        };
        let service = match tokio::time::timeout(timeout, serving).await {
            Ok(served) => served?,
            Err(_) => return Err(diagnostics.silent(timeout).await),
        };
        Ok(Connection {
            group,
            service,
            diagnostics,
            timeout,
        })
    }

    /// Everything the server offers as a tool.
    pub async fn tools(&self) -> Result<Vec<Tool>, ConnectError> {
        match tokio::time::timeout(self.timeout, self.service.list_all_tools()).await {
            Ok(Ok(tools)) => Ok(tools),
            Ok(Err(error)) => Err(self.diagnostics.protocol(&error).await),
            Err(_) => Err(self.diagnostics.silent(self.timeout).await),
        }
    }

    /// Ends the connection, and the server with it where it was started here.
    pub async fn close(self) {
        // A server that does not end by itself is killed.
        let _ = self.service.cancel().await;
        drop(self.group);
    }
}

/// Starts a server whose complaints are heard.
async fn started(
    entry: &CommandEntry,
    diagnostics: &PeerDiagnostics,
) -> Result<TokioChildProcess, ConnectError> {
    if let Some(path) = &entry.cwd
        && let Err(error) = tokio::fs::read_dir(path).await
    {
        let path = path.clone();
        return Err(ConnectError::Directory { path, error });
    }
    let (transport, stderr) = start(entry)?;
    if let PeerDiagnostics::Stderr(kept) = diagnostics {
        kept.collect(stderr);
    }
    Ok(transport)
}

#[expect(
    clippy::disallowed_methods,
    reason = "whoever runs this program has named the command"
)]
fn start(entry: &CommandEntry) -> Result<(TokioChildProcess, Option<ChildStderr>), ConnectError> {
    let mut command = Command::new(&entry.command);
    command.args(&entry.args).envs(&entry.env);
    // A group of its own, to be ended as a whole.
    command.process_group(0);
    if let Some(directory) = &entry.cwd {
        command.current_dir(directory);
    }
    let started = TokioChildProcess::builder(command)
        .stderr(Stdio::piped())
        .spawn();
    started.map_err(|error| ConnectError::Start {
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
    async fn protocol(&self, error: &(dyn Error + Send + Sync + 'static)) -> ConnectError {
        match self {
            PeerDiagnostics::Stderr(kept) => ConnectError::Protocol {
                what: error.to_string(),
                stderr: kept.said().await,
            },
            PeerDiagnostics::Url(entry) => ConnectError::Url {
                url: entry.place().to_owned(),
                what: http::explained(error, entry),
            },
        }
    }

    async fn silent(&self, timeout: Duration) -> ConnectError {
        let stderr = match self {
            PeerDiagnostics::Stderr(kept) => kept.said().await,
            PeerDiagnostics::Url(entry) => format!(": {}", entry.place()),
        };
        ConnectError::Silent { timeout, stderr }
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
