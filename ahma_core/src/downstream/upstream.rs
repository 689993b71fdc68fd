//! One server: its connection while there is one, and what is known of it all the time.

mod approval;
mod calling;
mod care;
mod connecting;
mod fetching;
mod inspect;
mod listing;
mod opening;

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ahma_http_mcp_client::Client;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::backoff::Backoff;
use super::ports::LeasedPort;
use super::process::Process;
use super::questions::OpenCalls;
use super::record::{Compared, Record};
use super::servers::Means;
use super::stderr_tail::StderrTail;
use super::tool_changes::ToolChanges;
use super::trust;
use crate::audit::timestamp;
use crate::config::downstream::{ServerSpec, TransportSpec};

/// How long a call waits for a server that has to be started again.
const RESTART_WAIT: Duration = Duration::from_secs(5);
/// How long a server may take to answer for the first time. One that is installed by its start takes long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// A server that has said that its tools have changed is asked after so long without another word.
const QUIET: Duration = Duration::from_millis(100);
/// Messages may not be longer.
const MAX_MESSAGE: usize = 16 << 20;

/// How a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Stopped,
    Starting,
    Connected,
    Error,
}

struct State {
    status: Status,
    since: SystemTime,
    error: Option<String>,
    backoff: Backoff,
    record: Option<Arc<Record>>,
    /// What differs from what is approved.
    compared: Compared,
    faults: Vec<String>,
    connection: Option<Arc<Connection>>,
}

/// A server that has answered.
struct Opened {
    client: Client,
    process: Option<Process>,
    port: Option<LeasedPort>,
}

/// A server that answers.
struct Connection {
    client: Client,
    process: Mutex<Option<Process>>,
    /// Where it listens, when we have chosen that.
    port: Option<LeasedPort>,
    /// Calls that are under way.
    in_use: AtomicUsize,
    /// Whether a call of a tool has got its result.
    has_worked: AtomicBool,
    /// Whether its end has been noted.
    is_noted: AtomicBool,
    /// Another one is made in its place.
    given_up: Notify,
    last_used: Mutex<Instant>,
    since: Instant,
}

/// One server.
pub(super) struct Upstream {
    spec: ServerSpec,
    /// What its owner should know before it runs.
    warnings: Vec<String>,
    means: Arc<Means>,
    state: Mutex<State>,
    /// Held while it is being connected to: nobody does it twice.
    connecting: tokio::sync::Mutex<()>,
    /// Held while what it offers is being noted.
    keeping: tokio::sync::Mutex<()>,
    stderr: StderrTail,
    /// Calls whose clients it may ask something.
    calls: Arc<OpenCalls>,
    lists_changed: Arc<Notify>,
    tool_changes: Arc<ToolChanges>,
    /// Held while somebody looks at what has changed: a call that needs to know waits, and does not look again.
    looking: tokio::sync::Mutex<()>,
    /// What is offered of it may have changed.
    changed: Arc<Notify>,
}

impl Upstream {
    /// A server of which this is known. May block.
    pub(super) fn new(
        spec: ServerSpec,
        means: &Arc<Means>,
        record: Option<Record>,
        changed: &Arc<Notify>,
    ) -> Arc<Self> {
        Arc::new(Upstream {
            warnings: trust::warnings(&spec, &means.places),
            spec,
            means: Arc::clone(means),
            state: Mutex::new(State {
                status: Status::Stopped,
                since: SystemTime::now(),
                error: None,
                backoff: Backoff::default(),
                record: record.map(Arc::new),
                compared: Compared::default(),
                faults: Vec::new(),
                connection: None,
            }),
            connecting: tokio::sync::Mutex::default(),
            keeping: tokio::sync::Mutex::default(),
            stderr: StderrTail::default(),
            calls: Arc::default(),
            lists_changed: Arc::default(),
            tool_changes: Arc::default(),
            looking: tokio::sync::Mutex::default(),
            changed: Arc::clone(changed),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.spec.name
    }

    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(super) fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing of it is left half changed by a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is offered of it; nothing when nothing is known of it.
    pub(super) fn record(&self) -> Option<Arc<Record>> {
        self.state().record.clone()
    }

    /// Whether something is known of it.
    pub(super) fn is_known(&self) -> bool {
        self.state().record.is_some()
    }

    pub(super) fn note_faults(&self, faults: Vec<String>) {
        for fault in &faults {
            tracing::warn!(server = self.name(), "{fault}");
        }
        self.state().faults = faults;
    }

    /// What the operator should know of it.
    pub(super) fn describe(&self) -> Value {
        let state = self.state();
        let status = match state.status {
            Status::Stopped => "stopped",
            Status::Starting => "starting",
            Status::Connected => "connected",
            Status::Error => "error",
        };
        let url = match &self.spec.transport {
            TransportSpec::Http { url, .. } => Some(url.split('?').next()),
            TransportSpec::Stdio(_) | TransportSpec::Managed(_) => None,
        };
        let connection = state.connection.as_ref();
        let revision = connection.map(|it| it.client.peer().revision.clone());
        let port = connection
            .and_then(|it| it.port.as_ref())
            .map(|it| it.number);
        json!({
            "name": self.spec.name,
            "type": self.spec.transport.kind(),
            "url": url,
            "port": port,
            "status": status,
            "since": timestamp(state.since),
            "error": state.error,
            "revision": revision,
            "tools": state.record.as_ref().map_or(0, |it| it.tools.len()),
            "held": state.compared.changed,
            "new": state.compared.new,
            "gone": state.compared.gone,
            "rejected": state.faults,
            "warnings": self.warnings,
            "stderr": self.stderr.text(),
        })
    }
    fn set(&self, status: Status, error: Option<String>) {
        let mut state = self.state();
        state.status = status;
        state.since = SystemTime::now();
        state.error = error;
    }

    /// Ends it for good.
    pub(super) async fn shut_down(&self) {
        let connection = self.state().connection.take();
        if let Some(connection) = connection {
            let process = lock(&connection.process).take();
            if let Some(process) = process {
                process.stop().await;
            }
        }
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing of it is left half changed by a panic.
    it.lock().unwrap_or_else(PoisonError::into_inner)
}
