//! One server: its connection while there is one, and what is known of it all the time.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ahma_http_mcp_client::{
    Client, ClientFacts, ClientOptions, Request, RequestError, ServerEvents, UrlEntry,
};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::backoff::Backoff;
use super::events::UpstreamEvents;
use super::managed;
use super::ports::LeasedPort;
use super::process::{Process, ProcessSpec};
use super::record::{self, Compared, Record};
use super::secret_values::SecretValues;
use super::servers::Means;
use super::stderr_tail::StderrTail;
use crate::audit::timestamp;
use crate::config::downstream::{
    MissingReference, PORT_PLACEHOLDER, Program, Secret, ServerSpec, TransportSpec,
};
use crate::registry::{ForeignCall, ForeignError, ForeignProgress, ForeignResult};

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
    record: Option<Record>,
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
    last_used: Mutex<Instant>,
    since: Instant,
}

/// One server.
pub(super) struct Upstream {
    spec: ServerSpec,
    means: Arc<Means>,
    state: Mutex<State>,
    /// Held while it is being connected to: nobody does it twice.
    connecting: tokio::sync::Mutex<()>,
    stderr: StderrTail,
    tools_changed: Arc<Notify>,
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
    /// A server of which this is known.
    pub(super) fn new(
        spec: ServerSpec,
        means: &Arc<Means>,
        record: Option<Record>,
        changed: &Arc<Notify>,
    ) -> Arc<Self> {
        Arc::new(Upstream {
            spec,
            means: Arc::clone(means),
            state: Mutex::new(State {
                status: Status::Stopped,
                since: SystemTime::now(),
                error: None,
                backoff: Backoff::default(),
                record,
                compared: Compared::default(),
                faults: Vec::new(),
                connection: None,
            }),
            connecting: tokio::sync::Mutex::default(),
            stderr: StderrTail::default(),
            tools_changed: Arc::default(),
            changed: Arc::clone(changed),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.spec.name
    }

    pub(super) fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing of it is left half changed by a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The definitions that are offered; none when nothing is known of it.
    pub(super) fn definitions(&self) -> Option<Vec<Value>> {
        let state = self.state();
        state.record.as_ref().map(|it| it.tools.clone())
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
        let (kind, url) = match &self.spec.transport {
            TransportSpec::Stdio(_) => ("stdio", None),
            TransportSpec::Http { url, .. } => ("http", Some(url.split('?').next())),
            TransportSpec::Managed(_) => ("managed_http", None),
        };
        let connection = state.connection.as_ref();
        let revision = connection.map(|it| it.client.peer().revision.clone());
        let port = connection
            .and_then(|it| it.port.as_ref())
            .map(|it| it.number);
        json!({
            "name": self.spec.name,
            "type": kind,
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
            "stderr": self.stderr.text(),
        })
    }

    /// Calls a tool.
    pub(super) async fn call(
        self: &Arc<Self>,
        tool: &str,
        call: ForeignCall,
    ) -> Result<ForeignResult, ForeignError> {
        let held = self.state().compared.changed.get(tool).cloned();
        if let Some(changed) = held {
            let server = self.name();
            return Err(ForeignError::Held(format!(
                "the tool `{tool}` of the server `{server}` is another one than was approved: {changed} changed. Nothing was \
                 sent. The owner can look at the difference and approve it: remove {} and start again",
                record::file(&self.means.records, server).display()
            )));
        }
        let arguments = to_raw_value(&call.arguments);
        let arguments = arguments.map_err(|error| ForeignError::Refused(error.to_string()))?;
        let (mut progress, mut is_first) = (call.progress, true);
        loop {
            let connection = self.connected().await.map_err(ForeignError::Unavailable)?;
            let _in_use = InUse::of(&connection);
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
                Ok(result) => return result_of(&result),
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

    /// A connection, made where there is none.
    async fn connected(self: &Arc<Self>) -> Result<Arc<Connection>, String> {
        if let Some(connection) = self.current() {
            return Ok(connection);
        }
        let making = async {
            let _connecting = self.connecting.lock().await;
            if let Some(connection) = self.current() {
                return Ok(connection);
            }
            let wait = self.state().backoff.wait(Instant::now());
            if wait > RESTART_WAIT {
                return Err(self.why_not(wait));
            }
            sleep(wait).await;
            self.connect().await
        };
        making.await
    }

    fn current(&self) -> Option<Arc<Connection>> {
        let state = self.state();
        let current = state.connection.clone();
        current.filter(|it| it.client.ended().is_none())
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

    fn set(&self, status: Status, error: Option<String>) {
        let mut state = self.state();
        state.status = status;
        state.since = SystemTime::now();
        state.error = error;
    }

    /// Makes a connection, and sees to it until it ends.
    async fn connect(self: &Arc<Self>) -> Result<Arc<Connection>, String> {
        self.set(Status::Starting, None);
        let connected = self.open().await;
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
            last_used: Mutex::new(Instant::now()),
            since: Instant::now(),
        });
        self.set(Status::Connected, None);
        self.state().connection = Some(Arc::clone(&connection));
        tokio::spawn(Arc::clone(self).look_after(Arc::clone(&connection)));
        // Over HTTP the answer decides about headers of later requests.
        let is_known = self.state().record.is_some();
        let must_list = matches!(self.spec.transport, TransportSpec::Http { .. });
        if !is_known || must_list {
            self.list(&connection).await;
        } else {
            self.tools_changed.notify_one();
        }
        Ok(connection)
    }

    async fn open(&self) -> Result<Opened, String> {
        let events: Arc<dyn ServerEvents> =
            Arc::new(UpstreamEvents::new(self.name(), &self.tools_changed));
        let options = ClientOptions {
            facts: ClientFacts {
                name: "ahma_mcp".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                capabilities: json!({}),
                revision: self.spec.protocol_version.clone(),
            },
            connect_timeout: CONNECT_TIMEOUT,
            timeout: self.spec.timeout,
            max_message: MAX_MESSAGE,
            events,
        };
        match &self.spec.transport {
            TransportSpec::Stdio(program) => {
                let spec = self.process_spec(program, None).await?;
                let hosts = self.means.hosts(self.spec.sandbox)?;
                let started = Process::start(&hosts, spec, self.name(), &self.stderr);
                let (process, pipes) = started.await?;
                let speaking = Client::over_streams(pipes.output, pipes.input, options);
                match speaking.await {
                    Ok(client) => Ok(Opened {
                        client,
                        process: Some(process),
                        port: None,
                    }),
                    Err(error) => Err(self.silent(&process, &error).await),
                }
            }
            TransportSpec::Http { url, headers, .. } => {
                let headers = self.values(headers.clone(), None).await?;
                let entry = UrlEntry::new(url.clone(), headers);
                let client = Client::at(&entry, options).await;
                let opened = |client| Opened {
                    client,
                    process: None,
                    port: None,
                };
                client.map(opened).map_err(|it| it.to_string())
            }
            TransportSpec::Managed(program) => {
                let hosts = self.means.hosts(self.spec.sandbox)?;
                let spec = |port| self.process_spec(program, Some(port));
                let about = (self.name(), &self.stderr);
                let started = managed::start(&self.means.ports, &hosts, about, &options, spec);
                let managed = started.await?;
                Ok(Opened {
                    client: managed.client,
                    process: Some(managed.process),
                    port: Some(managed.port),
                })
            }
        }
    }

    /// Why a process that was started does not answer.
    async fn silent(&self, process: &Process, error: &RequestError) -> String {
        let ended = timeout(QUIET, process.ended()).await;
        let said = match self.stderr.last_line() {
            Some(line) => format!("; it said: {line}"),
            None => String::new(),
        };
        match ended {
            Ok(ended) => format!("{}{said}", ended.words),
            Err(_) => format!("{error}{said}"),
        }
    }

    async fn process_spec(
        &self,
        program: &Program,
        port: Option<u16>,
    ) -> Result<ProcessSpec, String> {
        let mut environment: BTreeMap<OsString, OsString> = match self.spec.sandbox {
            true => self.means.confined_environment().into_iter().collect(),
            false => self.means.environment.clone(),
        };
        let own = self.values(program.env.clone(), port).await?;
        let own = own
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        environment.extend(own);
        let number = port.map(|port| port.to_string()).unwrap_or_default();
        let args = program.args.iter();
        let args = args.map(|it| match port {
            Some(_) => it.replace(PORT_PLACEHOLDER, &number),
            None => it.clone(),
        });
        let words = [program.command.clone()].into_iter().chain(args);
        Ok(ProcessSpec {
            words: words.map(OsString::from).collect(),
            environment: environment.into_iter().collect(),
            directory: program
                .cwd
                .clone()
                .unwrap_or_else(|| self.means.scope.clone()),
        })
    }

    /// What variables or headers hold, which may be read from files.
    async fn values(
        &self,
        secrets: BTreeMap<String, Secret>,
        port: Option<u16>,
    ) -> Result<BTreeMap<String, String>, String> {
        let means = Arc::clone(&self.means);
        let reading = spawn_blocking(move || {
            let source = SecretValues {
                environment: &means.environment,
                port,
            };
            let value = |(name, secret): (String, Secret)| match secret.resolve(&source) {
                Ok(value) => Ok((name, value)),
                Err(MissingReference(reference)) => {
                    Err(format!("{name}: there is no value for `{reference}`"))
                }
            };
            secrets.into_iter().map(value).collect()
        });
        reading.await.map_err(|error| error.to_string())?
    }

    /// Sees to a connection: asks for the tools when they have changed, ends it when nobody uses it, and notes its end.
    async fn look_after(self: Arc<Self>, connection: Arc<Connection>) {
        loop {
            let idle = self.spec.idle.map(|idle| {
                let last = *lock(&connection.last_used);
                idle.saturating_sub(last.elapsed())
            });
            tokio::select! {
                why = connection.client.closed() => return self.ended(&connection, &why).await,
                () = self.tools_changed.notified() => {
                    sleep(QUIET).await;
                    self.list(&connection).await;
                }
                () = after(idle) => {
                    let is_idle = connection.in_use.load(Ordering::Relaxed) == 0
                        && self.spec.idle.is_some_and(|it| lock(&connection.last_used).elapsed() >= it);
                    if is_idle {
                        return self.stop(&connection).await;
                    }
                    // A call is under way, or came a moment ago.
                    sleep(QUIET).await;
                }
            }
        }
    }

    /// Ends a connection that nobody uses.
    async fn stop(&self, connection: &Arc<Connection>) {
        {
            let mut state = self.state();
            if state
                .connection
                .as_ref()
                .is_some_and(|it| Arc::ptr_eq(it, connection))
            {
                state.connection = None;
            }
        }
        let process = lock(&connection.process).take();
        if let Some(process) = process {
            process.stop().await;
        }
        self.set(Status::Stopped, None);
        tracing::info!(server = self.name(), "stopped: nobody uses it");
    }

    /// Notes the end of a connection that nobody wanted to end.
    async fn ended(&self, connection: &Arc<Connection>, why: &str) {
        let process = lock(&connection.process).take();
        let why = match process {
            Some(process) => {
                let ended = timeout(RESTART_WAIT, process.ended()).await;
                let ended = ended.map_or_else(|_| why.to_owned(), |it| it.words);
                process.stop().await;
                match self.stderr.last_line() {
                    Some(line) => format!("{ended}; it said: {line}"),
                    None => ended,
                }
            }
            None => why.to_owned(),
        };
        tracing::warn!(server = self.name(), "ended: {why}");
        {
            let mut state = self.state();
            state
                .backoff
                .failed(connection.since.elapsed(), Instant::now());
            if state
                .connection
                .as_ref()
                .is_some_and(|it| Arc::ptr_eq(it, connection))
            {
                state.connection = None;
            }
        }
        self.set(Status::Error, Some(why));
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

    /// Asks what it offers now.
    async fn list(&self, connection: &Connection) {
        let listed = match connection.client.tools().await {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!(server = self.name(), "its tools cannot be listed: {error}");
                return;
            }
        };
        if let Some(cut) = &listed.cut {
            tracing::warn!(server = self.name(), "{cut}");
        }
        let tools = listed.items.iter();
        let tools: Vec<Value> = tools
            .filter_map(|it| serde_json::from_str(it.get()).ok())
            .collect();
        let to_write = {
            let mut state = self.state();
            match &state.record {
                Some(record) if self.spec.pin => {
                    let compared = record.compare(&tools);
                    for (tool, what) in &compared.changed {
                        tracing::warn!(
                            server = self.name(),
                            tool,
                            "it is another one than was approved: {what} changed"
                        );
                    }
                    state.compared = compared;
                    None
                }
                Some(record) if record.tools == tools => None,
                _ => {
                    let record = Record { tools };
                    state.record = Some(record.clone());
                    Some(record)
                }
            }
        };
        if let Some(record) = to_write {
            let path = record::file(&self.means.records, self.name());
            let writing = spawn_blocking(move || record::write(&path, &record));
            if let Ok(Err(error)) = writing.await {
                tracing::warn!(
                    server = self.name(),
                    "what it offers cannot be kept: {error}"
                );
            }
            self.changed.notify_one();
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

fn result_of(result: &RawValue) -> Result<ForeignResult, ForeignError> {
    match serde_json::from_str(result.get()) {
        Ok(Value::Object(result)) => Ok(ForeignResult(result)),
        _ => Err(ForeignError::Refused(
            "its result is not an object".to_owned(),
        )),
    }
}

async fn after(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => std::future::pending().await,
    }
}
