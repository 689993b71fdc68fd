//! One server: its connection while there is one, and what is known of it all the time.

mod approval;
mod care;
mod fetching;
mod inspect;
mod listing;
mod opening;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ahma_http_mcp_client::{Client, Request, RequestError};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::backoff::Backoff;
use super::ports::LeasedPort;
use super::process::Process;
use super::record::{Compared, Record};
use super::servers::Means;
use super::stderr_tail::StderrTail;
use super::trust;
use crate::audit::timestamp;
use crate::config::downstream::{ServerSpec, TransportSpec};
use crate::registry::{ForeignCall, ForeignError, ForeignProgress, ForeignResult};

/// How long a call waits for a server that has to be started again.
const RESTART_WAIT: Duration = Duration::from_secs(5);
/// How long a server may take to answer for the first time. One that is installed by its start takes long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// A server that has said that its tools have changed is asked after so long without another word.
const QUIET: Duration = Duration::from_millis(100);
/// A longer result is read beside the runtime.
const LONG: usize = 256 * 1024;
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
    /// Whether its end has been noted.
    is_noted: AtomicBool,
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
    lists_changed: Arc<Notify>,
    /// What is offered of it may have changed.
    changed: Arc<Notify>,
}

#[derive(Deserialize)]
struct Progress {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
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
            lists_changed: Arc::default(),
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

    /// Calls a tool.
    pub(super) async fn call(
        self: &Arc<Self>,
        tool: &str,
        call: ForeignCall,
    ) -> Result<ForeignResult, ForeignError> {
        let arguments = to_raw_value(&call.arguments);
        let arguments = arguments.map_err(|error| ForeignError::Refused(error.to_string()))?;
        let (mut progress, mut is_first) = (call.progress, true);
        loop {
            let in_use = self.connected().await.map_err(ForeignError::Unavailable)?;
            let connection = &in_use.0;
            // After it has said what it offers now.
            self.refuse_held(tool, connection).await?;
            let mut request = Request::call(tool, &arguments);
            request.meta.clone_from(&call.meta);
            request.timeout = Some(self.spec.timeout);
            request.progress = progress.take().map(|mut progress| {
                let told: Box<dyn FnMut(&RawValue) + Send> = Box::new(move |params| {
                    if let Ok(now) = serde_json::from_str::<Progress>(params.get()) {
                        progress(ForeignProgress {
                            progress: now.progress,
                            total: now.total,
                            message: now.message,
                        });
                    }
                });
                told
            });
            match connection.client.request(request).await {
                Ok(result) => return result_of(result).await,
                // It was lost before it was sent; the next connection takes it, once.
                Err(error) if is_first && error.has_not_run() => is_first = false,
                Err(error) => return Err(self.explained(&error)),
            }
        }
    }

    fn explained(&self, error: &RequestError) -> ForeignError {
        let server = self.name();
        match error {
            RequestError::Refused(error) => ForeignError::Refused(format!(
                "the server `{server}` answered with error {}: {}",
                error.code, error.message
            )),
            RequestError::Unauthorized { .. } => ForeignError::Unavailable(format!(
                "the server `{server}` wants a token, or another one than it was shown; its owner has to give one in `headers`"
            )),
            error => {
                let last = self.stderr.last_line();
                let said = last
                    .map(|it| format!("; it said: {it}"))
                    .unwrap_or_default();
                ForeignError::Unavailable(format!(
                    "the server `{server}` gave no result: {error}{said}. It may have done what was asked; look before you try again"
                ))
            }
        }
    }

    /// A connection, made where there is none. Whoever waits may go; it is made all the same, and once.
    async fn connected(self: &Arc<Self>) -> Result<InUse, String> {
        if let Some(connection) = self.current() {
            return Ok(connection);
        }
        let has_failed = self.state().error.is_some();
        let upstream = Arc::clone(self);
        let making = tokio::spawn(async move {
            let _connecting = upstream.connecting.lock().await;
            if let Some(connection) = upstream.current() {
                return Ok(connection);
            }
            let last = upstream.state().connection.clone();
            if let Some((last, why)) = last.and_then(|it| it.client.ended().map(|why| (it, why))) {
                upstream.note_end(&last, &why);
            }
            let wait = upstream.state().backoff.wait(Instant::now());
            if wait > RESTART_WAIT {
                return Err(upstream.why_not(wait));
            }
            sleep(wait).await;
            upstream.connect().await?;
            let current = upstream.current();
            current.ok_or_else(|| upstream.why_not(Duration::ZERO))
        });
        // The first start may install something.
        let limit = match has_failed {
            true => RESTART_WAIT,
            false => RESTART_WAIT.max(self.spec.timeout),
        };
        match timeout(limit, making).await {
            Ok(Ok(made)) => made,
            Ok(Err(_)) => Err("the server is stopping".to_owned()),
            Err(_) => Err(format!(
                "the server `{}` is still starting; try again in a moment",
                self.name()
            )),
        }
    }

    /// The connection that there is. It is not ended for want of use while this is held.
    fn current(&self) -> Option<InUse> {
        let state = self.state();
        let current = state.connection.as_ref();
        let current = current.filter(|it| it.client.ended().is_none());
        current.map(InUse::of)
    }

    fn why_not(&self, wait: Duration) -> String {
        let state = self.state();
        let (server, since) = (self.name(), timestamp(state.since));
        let why = state.error.clone().unwrap_or_default();
        let seconds = wait.as_secs().max(1);
        format!(
            "the server `{server}` does not run since {since}: {why}. It is started again in {seconds} s; \
             `get_server_info` shows what it said"
        )
    }

    /// What its entry asks for and is not offered: it is not used without that.
    fn not_offered(&self) -> Option<&'static str> {
        let signs_in = matches!(
            &self.spec.transport,
            TransportSpec::Http { oauth: Some(_), .. }
        );
        if signs_in {
            return Some("signing in is not offered yet; give a token in `headers`");
        }
        let per_session = "a process for each session is not offered yet; leave out `per_session`";
        self.spec.per_session.then_some(per_session)
    }

    fn set(&self, status: Status, error: Option<String>) {
        let mut state = self.state();
        state.status = status;
        state.since = SystemTime::now();
        state.error = error;
    }

    /// Makes a connection, and sees to it until it ends.
    async fn connect(self: &Arc<Self>) -> Result<(), String> {
        self.set(Status::Starting, None);
        let connected = match self.not_offered() {
            Some(why) => Err(why.to_owned()),
            None => self.open().await,
        };
        let opened = match connected {
            Ok(connected) => connected,
            Err(why) => {
                tracing::warn!(server = self.name(), "it cannot be used: {why}");
                let mut state = self.state();
                state.backoff.failed(Duration::ZERO, Instant::now());
                drop(state);
                self.set(Status::Error, Some(why.clone()));
                return Err(format!(
                    "the server `{}` cannot be used: {why}",
                    self.name()
                ));
            }
        };
        let connection = Arc::new(Connection {
            client: opened.client,
            process: Mutex::new(opened.process),
            port: opened.port,
            in_use: AtomicUsize::new(0),
            is_noted: AtomicBool::new(false),
            last_used: Mutex::new(Instant::now()),
            since: Instant::now(),
        });
        self.set(Status::Connected, None);
        self.state().connection = Some(Arc::clone(&connection));
        tokio::spawn(Arc::clone(self).look_after(Arc::clone(&connection)));
        // Over HTTP the answer decides about headers of later requests.
        let must_list = !matches!(self.spec.transport, TransportSpec::Stdio(_));
        if !self.is_known() {
            self.list(&connection).await;
        } else if must_list || self.spec.pin {
            // What has to be approved is compared before anything is called.
            self.list_tools_first(&connection).await;
        } else {
            self.lists_changed.notify_one();
        }
        Ok(())
    }

    /// Starts it to learn what it offers.
    pub(super) async fn begin(self: &Arc<Self>) {
        // Why not is noted already.
        let _ = self.connected().await;
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

/// A connection while a call uses it.
struct InUse(Arc<Connection>);

impl InUse {
    fn of(connection: &Arc<Connection>) -> Self {
        connection.in_use.fetch_add(1, Ordering::Relaxed);
        InUse(Arc::clone(connection))
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        *lock(&self.0.last_used) = Instant::now();
        self.0.in_use.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing of it is left half changed by a panic.
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a result holds. A long one is read beside the runtime: its length, the server decides.
async fn result_of(result: Box<RawValue>) -> Result<ForeignResult, ForeignError> {
    let read = |result: &RawValue| match serde_json::from_str(result.get()) {
        Ok(Value::Object(result)) => Ok(ForeignResult(result)),
        _ => Err(ForeignError::Refused(
            "its result is not an object".to_owned(),
        )),
    };
    if result.get().len() <= LONG {
        return read(&result);
    }
    let reading = spawn_blocking(move || read(&result));
    let stopping = |_| ForeignError::Unavailable("the server is stopping".to_owned());
    reading.await.map_err(stopping)?
}
