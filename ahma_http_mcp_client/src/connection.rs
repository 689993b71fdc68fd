//! One connection to one server.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, Tool};
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceExt as _};
use tokio::io::AsyncReadExt as _;
use tokio::process::{ChildStderr, Command};
use tokio::time::timeout;

use crate::config::ServerEntry;
use crate::error::ConnectError;

/// What is kept of a server's stderr.
const STDERR_KEPT: usize = 4096;

/// A server that answers.
pub struct Connection {
    service: RunningService<RoleClient, ClientConfig>,
    stderr: Stderr,
    patience: Duration,
}

impl Connection {
    /// Starts a server and agrees with it on a protocol version. Every answer has to come within `patience`.
    pub async fn open(entry: &ServerEntry, patience: Duration) -> Result<Self, ConnectError> {
        if let Some(path) = &entry.cwd
            && let Err(error) = tokio::fs::read_dir(path).await
        {
            let path = path.clone();
            return Err(ConnectError::Directory { path, error });
        }
        let (transport, stderr) = start(entry)?;
        let stderr = Stderr::collect(stderr);
        let ours = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        let client = ClientConfig::new(ClientCapabilities::default(), ours);
        let serving = timeout(patience, client.serve(transport)).await;
        let service = match serving {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => return Err(stderr.protocol(error.to_string()).await),
            Err(_) => return Err(stderr.silent(patience).await),
        };
        Ok(Connection {
            service,
            stderr,
            patience,
        })
    }

    /// Everything the server offers as a tool.
    pub async fn tools(&self) -> Result<Vec<Tool>, ConnectError> {
        match timeout(self.patience, self.service.list_all_tools()).await {
            Ok(Ok(tools)) => Ok(tools),
            Ok(Err(error)) => Err(self.stderr.protocol(error.to_string()).await),
            Err(_) => Err(self.stderr.silent(self.patience).await),
        }
    }

    /// Ends the connection, and the server with it.
    pub async fn close(self) {
        // A server that does not end by itself is killed.
        let _ = self.service.cancel().await;
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "whoever runs this program has named the command"
)]
fn start(entry: &ServerEntry) -> Result<(TokioChildProcess, Option<ChildStderr>), ConnectError> {
    let mut command = Command::new(&entry.command);
    command.args(&entry.args).envs(&entry.env);
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

/// The end of what a server says on stderr.
#[derive(Clone, Default)]
struct Stderr(Arc<Mutex<Vec<u8>>>);

impl Stderr {
    fn collect(pipe: Option<ChildStderr>) -> Self {
        let kept = Stderr::default();
        if let Some(mut pipe) = pipe {
            let kept = kept.clone();
            tokio::spawn(async move {
                let mut buffer = [0; 1024];
                while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
                    kept.add(&buffer[..length]);
                }
            });
        }
        kept
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

    async fn protocol(&self, what: String) -> ConnectError {
        let stderr = self.said().await;
        ConnectError::Protocol { what, stderr }
    }

    async fn silent(&self, patience: Duration) -> ConnectError {
        let stderr = self.said().await;
        ConnectError::Silent { patience, stderr }
    }
}
