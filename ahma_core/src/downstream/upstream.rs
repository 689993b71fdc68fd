//! One server: its connection while there is one, and what is known of it all the time.

mod approval;
mod calling;
mod care;
mod connecting;
mod fetching;
mod inspect;
mod listing;
mod opening;
mod retiring;
mod signing_in;
mod state_told;

pub(super) use retiring::Retired;

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ahma_http_mcp_client::Client;
use ahma_http_mcp_client::auth::SignInStatus;
use serde_json::{Value, json};
use tokio::sync::{Notify, OwnedSemaphorePermit, watch};
use tokio_util::sync::CancellationToken;

use super::backoff::Backoff;
use super::packed_record::PackedRecord;
use super::ports::LeasedPort;
use super::process::{Exited, Process};
use super::questions::OpenCalls;
use super::record::{Compared, Record};
use super::servers::Means;
use super::sessions::{Seats, Sessions};
use super::shared_record::SharedRecord;
use super::sign_in_desk::SignInDesk;
use super::stderr_tail::StderrTail;
use super::tool_changes::ToolChanges;
use super::trust;
use crate::audit::timestamp;
use crate::config::downstream::ServerSpec;

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
    /// Somebody has to sign in.
    NeedsSignIn,
}

/// Why there is no connection.
#[derive(Debug, Clone)]
enum NoConnection {
    Failed(String),
    /// The server wants to know who asks; with its challenge.
    Unauthorized(Option<String>),
}

impl From<String> for NoConnection {
    fn from(why: String) -> Self {
        NoConnection::Failed(why)
    }
}

struct State {
    status: Status,
    since: SystemTime,
    error: Option<String>,
    backoff: Backoff,
    /// What a server said that wants somebody to sign in, and who was signed in then.
    refused: Option<(Option<String>, Option<SignInStatus>)>,
    /// What differs from what is approved.
    compared: Compared,
    /// The record that this differs from.
    compared_with: Option<Arc<PackedRecord>>,
    /// Whether it has said which tools it offers since it was started.
    has_listed: bool,
    faults: Vec<String>,
    connection: Option<Arc<Connection>>,
}

/// A server that has answered.
struct Opened {
    client: Client,
    process: Option<Process>,
    port: Option<Arc<LeasedPort>>,
}

/// A server that answers.
struct Connection {
    client: Client,
    process: Mutex<Option<Process>>,
    /// How its process ended, once it has.
    exit: Option<Exited>,
    /// Where it listens, when we have chosen that.
    port: Option<Arc<LeasedPort>>,
    /// Calls that are under way.
    in_use: AtomicUsize,
    /// Whether a call of a tool has got its result.
    has_worked: AtomicBool,
    /// For as long as it runs, where there may be only so many.
    _seat: Option<OwnedSemaphorePermit>,
    /// It is being ended by us.
    is_stopping: AtomicBool,
    /// Whether its end has been noted.
    is_noted: AtomicBool,
    /// Another one is made in its place.
    given_up: Notify,
    last_used: Mutex<Instant>,
    since: Instant,
}

/// One server.
pub(super) struct Upstream {
    spec: Arc<ServerSpec>,
    /// What its owner should know before it runs.
    warnings: Vec<String>,
    means: Arc<Means>,
    state: Mutex<State>,
    record: Arc<SharedRecord>,
    /// The processes of sessions, of a server that has such.
    pub(super) sessions: Sessions,
    /// For the process of a session: how many there may be.
    seats: Option<Seats>,
    /// It is not to be started any more.
    pub(super) over: CancellationToken,
    /// Held while it is being connected to: nobody does it twice.
    connecting: tokio::sync::Mutex<()>,
    /// Why it is there no more, when it is not.
    retired: watch::Sender<Option<Retired>>,
    stderr: StderrTail,
    /// Calls whose clients it may ask something.
    calls: Arc<OpenCalls>,
    /// Where somebody signs in to it, for all of its sessions.
    sign_ins: Arc<SignInDesk>,
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
            ..Self::of(Arc::new(spec), means, SharedRecord::new(record), changed)
        })
    }

    /// The same server once more, for one session; what is known of it is known of both.
    pub(super) fn for_session(&self, seats: Seats) -> Arc<Self> {
        let record = Arc::clone(&self.record);
        Arc::new(Upstream {
            seats: Some(seats),
            sign_ins: Arc::clone(&self.sign_ins),
            ..Self::of(Arc::clone(&self.spec), &self.means, record, &self.changed)
        })
    }

    fn of(
        spec: Arc<ServerSpec>,
        means: &Arc<Means>,
        record: Arc<SharedRecord>,
        changed: &Arc<Notify>,
    ) -> Self {
        Upstream {
            warnings: Vec::new(),
            spec,
            means: Arc::clone(means),
            record,
            sessions: Sessions::default(),
            seats: None,
            over: CancellationToken::new(),
            state: Mutex::new(State {
                status: Status::Stopped,
                since: SystemTime::now(),
                error: None,
                backoff: Backoff::default(),
                refused: None,
                compared: Compared::default(),
                compared_with: None,
                has_listed: false,
                faults: Vec::new(),
                connection: None,
            }),
            connecting: tokio::sync::Mutex::default(),
            retired: watch::Sender::default(),
            stderr: StderrTail::default(),
            calls: Arc::default(),
            sign_ins: Arc::default(),
            lists_changed: Arc::default(),
            tool_changes: Arc::default(),
            looking: tokio::sync::Mutex::default(),
            changed: Arc::clone(changed),
        }
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

    /// What is offered of it; nothing when nothing is known of it. How long that takes, the server decides.
    pub(super) fn record(&self) -> Option<Record> {
        self.record.get().map(|it| it.open())
    }

    /// Whether something is known of it.
    pub(super) fn is_known(&self) -> bool {
        self.record.get().is_some()
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
            Status::NeedsSignIn => "needs_sign_in",
        };
        let of_sessions = self.sessions.all();
        let mut held = state.compared.changed.clone();
        held.extend(of_sessions.iter().flat_map(|it| it.held()));
        let running = of_sessions.iter().filter(|it| it.is_connected()).count();
        let connection = state.connection.as_ref();
        let revision = connection.map(|it| it.client.peer().revision.clone());
        let port = connection
            .and_then(|it| it.port.as_ref())
            .map(|it| it.number);
        let record = self.record.get();
        let count = |of: fn(&PackedRecord) -> usize| record.as_deref().map_or(0, of);
        json!({
            "name": self.spec.name,
            "type": self.spec.transport.kind(),
            "url": self.url(connection.map(Arc::as_ref)),
            "port": port,
            "status": status,
            "sessions": self.spec.per_session.then_some(running),
            "since": timestamp(state.since),
            "error": state.error,
            "revision": revision,
            "tools": count(PackedRecord::tools),
            "prompts": count(PackedRecord::prompts),
            "resources": count(PackedRecord::resources),
            "held": held,
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

    /// Ends it for good, with the processes of its sessions.
    pub(super) async fn shut_down(&self, why: &'static str) {
        // Nothing that is being started is kept after this.
        self.over.cancel();
        let connection = self.state().connection.take();
        let own = async {
            if let Some(connection) = connection {
                self.stop(&connection, why).await;
            }
        };
        // Boxed: a session has no sessions, which the compiler cannot know.
        tokio::join!(own, Box::pin(self.sessions.shut_down(why)));
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing of it is left half changed by a panic.
    it.lock().unwrap_or_else(PoisonError::into_inner)
}
