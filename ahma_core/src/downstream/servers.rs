//! All servers behind this one, and what they offer together.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ahma_http_mcp_client::Params;
use ahma_http_mcp_client::auth::TokenStore;
use ahma_transport::SessionHandle;
use futures_util::future::{BoxFuture, join_all};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, broadcast, watch};
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::timeout;

use super::content::Content;
use super::events::Messages;
use super::members::Members;
use super::offered;
use super::ports::PortRegistry;
use super::record;
use super::source::Source;
use super::telling::Telling;
use super::upstream::Upstream;
use crate::config::downstream::{ServerSpec, StartMode};
use crate::executor::HostPool;
use crate::registry::{
    ContentError, ContentLists, ContentRequest, ForeignDefinition, ForeignResult, ForeignServers,
    ServerConfig, ServerEvent,
};

/// How long servers of which nothing is known have to say what they offer, before the others are offered without them: a
/// little less than lists wait for it.
pub(super) const SETTLE_TIMEOUT: Duration = Duration::from_millis(4500);

/// Where tokens are, beside the records.
const TOKENS: &str = "auth";

/// Messages that wait for a client to read.
const MAX_MESSAGES: usize = 64;

/// Confined: hosts, and the variables of what runs in them.
type Confined = (Arc<HostPool>, Vec<(OsString, OsString)>);

/// Where servers work.
pub(crate) struct Places {
    /// Those that are confined, unless they say something else: where commands work.
    pub(crate) scope: PathBuf,
    /// The others: where commands cannot write. What they left in a directory could be run, unconfined, by a program that
    /// looks for its parts where it is started.
    pub(crate) trusted: PathBuf,
    /// What commands can write.
    pub(crate) writable: Vec<PathBuf>,
    /// Whether commands can write the file that names servers: then no command of it is run but those of servers.
    pub(crate) is_file_in_reach: bool,
}

/// What servers are started with.
pub(crate) struct Means {
    /// The variables of whoever started this program.
    pub(super) environment: BTreeMap<OsString, OsString>,
    /// Where records are kept: out of reach of commands.
    pub(super) records: PathBuf,
    /// Who is signed in where.
    pub(super) tokens: TokenStore,
    /// Where servers work.
    pub(super) places: Places,
    /// Hosts that confine nothing: for servers that the operator trusts.
    pub(super) unconfined: Arc<HostPool>,
    /// Where servers listen that are started to.
    pub(super) ports: PortRegistry,
    /// What happens to servers.
    pub(super) telling: Telling,
    /// What servers say for the log.
    pub(super) messages: Messages,
    /// Hosts that confine as commands are confined, once there are such.
    confined: OnceLock<Confined>,
}

impl Means {
    /// Servers are started with these variables, work in these places, and are remembered among these records.
    pub(crate) fn new(
        environment: BTreeMap<OsString, OsString>,
        places: Places,
        records: PathBuf,
        unconfined: Arc<HostPool>,
    ) -> Self {
        Means {
            environment,
            tokens: TokenStore::new(records.with_file_name(TOKENS)).with_keyring(),
            records,
            places,
            unconfined,
            ports: PortRegistry::default(),
            telling: Telling::default(),
            messages: broadcast::Sender::new(MAX_MESSAGES),
            confined: OnceLock::new(),
        }
    }

    pub(super) fn hosts(&self, is_confined: bool) -> Result<Arc<HostPool>, String> {
        if !is_confined {
            return Ok(Arc::clone(&self.unconfined));
        }
        // Never the others instead.
        let confined = self.confined.get().map(|(hosts, _)| Arc::clone(hosts));
        confined.ok_or_else(|| "there is no sandbox for it yet".to_owned())
    }

    pub(super) fn confined_environment(&self) -> Vec<(OsString, OsString)> {
        let confined = self.confined.get();
        confined
            .map(|(_, variables)| variables.clone())
            .unwrap_or_default()
    }
}

/// All of them.
pub(crate) struct DownstreamServers {
    pub(super) means: Arc<Means>,
    pub(super) members: Members,
    /// What is offered may have changed.
    pub(super) changed: Arc<Notify>,
    offered: watch::Sender<Arc<[ForeignDefinition]>>,
    content: Mutex<Arc<Content>>,
    content_offered: watch::Sender<Arc<ContentLists>>,
    /// Whether something was known of each from the beginning.
    were_known: bool,
    /// Whether every server has said what it offers, or has not been able to.
    pub(super) settled: watch::Sender<bool>,
    /// Where they are named, and what is wrong there.
    pub(super) source: Mutex<Option<Source>>,
    tasks: Vec<AbortHandle>,
}

impl DownstreamServers {
    /// Gets servers ready. Nothing is started yet; what is known of them is offered.
    pub(crate) async fn prepare(specs: Vec<ServerSpec>, means: Means) -> Arc<Self> {
        let means = Arc::new(means);
        let changed = Arc::new(Notify::new());
        let (of_reading, tell) = (Arc::clone(&means), Arc::clone(&changed));
        let reading = spawn_blocking(move || {
            let read = |spec: ServerSpec| {
                let record = record::read(&record::file(&of_reading.records, &spec.name));
                Upstream::new(spec, &of_reading, record, &tell)
            };
            let upstreams: Vec<Arc<Upstream>> = specs.into_iter().map(read).collect();
            let offered = offer(&upstreams);
            (upstreams, offered)
        });
        let (upstreams, (tools, mut content)) = reading.await.unwrap_or_default();
        let offered = std::mem::take(&mut content.offered);
        let content_offered = watch::Sender::new(Arc::new(offered));
        Arc::new_cyclic(|servers: &std::sync::Weak<DownstreamServers>| {
            let (servers, told) = (servers.clone(), Arc::clone(&changed));
            let offering = tokio::spawn(async move {
                loop {
                    told.notified().await;
                    let Some(servers) = servers.upgrade() else {
                        return;
                    };
                    // What they say at the beginning is offered together, and so is what a changed file brings.
                    if *servers.settled.borrow() && !servers.members.is_changing() {
                        servers.publish().await;
                    }
                }
            });
            DownstreamServers {
                means,
                were_known: upstreams.iter().all(|it| it.is_known()),
                members: Members::new(upstreams),
                changed,
                offered: watch::Sender::new(tools),
                content: Mutex::new(Arc::new(content)),
                content_offered,
                settled: watch::Sender::new(false),
                source: Mutex::default(),
                tasks: vec![offering.abort_handle()],
            }
        })
    }

    /// Says where servers are confined that have to be. Nothing is started.
    pub(crate) fn confine(&self, confined: Confined) {
        let _ = self.means.confined.set(confined);
    }

    /// Starts what is to be started at once, side by side, now that commands are confined.
    pub(crate) fn begin(self: &Arc<Self>, confined: Confined) {
        self.confine(confined);
        if self.is_empty() {
            self.settled.send_replace(true);
            return;
        }
        let servers = Arc::clone(self);
        tokio::spawn(async move {
            let is_due =
                |it: &&Arc<Upstream>| !it.is_known() || it.spec().start == StartMode::Eager;
            let upstreams = servers.members.current();
            let due = upstreams.iter().filter(is_due);
            let all = join_all(due.map(Upstream::begin));
            tokio::pin!(all);
            let in_time = timeout(SETTLE_TIMEOUT, &mut all).await;
            servers.publish().await;
            servers.settled.send_replace(true);
            if in_time.is_err() {
                // Together, so that clients are told once.
                all.await;
                servers.publish().await;
            }
        });
    }

    /// Offers what is known now. Looked at beside the runtime: how much it is, the servers decide.
    pub(super) async fn publish(&self) {
        let upstreams = self.members.current();
        let before = Arc::clone(&self.content_offered.borrow());
        let looking = spawn_blocking(move || {
            let (tools, mut content) = offer(&upstreams);
            let offered = std::mem::take(&mut content.offered);
            let other = (offered != *before).then(|| Arc::new(offered));
            (tools, content, other)
        });
        if let Ok((tools, content, other)) = looking.await {
            *self.content.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(content);
            self.offered.send_replace(tools);
            if let Some(other) = other {
                self.content_offered.send_replace(other);
            }
        }
    }

    /// What their owner should know before they run.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let upstreams = self.members.current();
        let of_each = upstreams.iter().map(|it| it.warnings());
        of_each.flatten().cloned().collect()
    }

    /// Ends them all.
    pub(crate) async fn shut_down(&self) {
        let upstreams = self.members.all();
        join_all(upstreams.iter().map(|it| it.shut_down("ahma_mcp ends"))).await;
    }
}

impl Drop for DownstreamServers {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl ForeignServers for DownstreamServers {
    fn tools(&self) -> watch::Receiver<Arc<[ForeignDefinition]>> {
        self.offered.subscribe()
    }

    fn content(&self) -> watch::Receiver<Arc<ContentLists>> {
        self.content_offered.subscribe()
    }

    fn fetch(
        &self,
        request: ContentRequest,
        meta: Map<String, Value>,
        session: Option<SessionHandle>,
    ) -> Option<BoxFuture<'static, Result<ForeignResult, ContentError>>> {
        // A pointer is whole after any panic.
        let content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        let (upstream, method, params) = match request {
            ContentRequest::Prompt { name, arguments } => {
                let (upstream, theirs) = content.prompt(&name)?;
                let params = Params::new().with("name", theirs);
                let params = match arguments {
                    Some(arguments) => params.with("arguments", &arguments),
                    None => params,
                };
                (Arc::clone(upstream), "prompts/get", params)
            }
            ContentRequest::Resource { uri } => {
                let upstream = content.resource(&uri)?;
                let params = Params::new().with("uri", &uri);
                (Arc::clone(upstream), "resources/read", params)
            }
        };
        let upstream = upstream.serving(session.as_ref());
        Some(Box::pin(async move {
            upstream.fetch(method, params, meta).await
        }))
    }

    fn messages(&self) -> broadcast::Receiver<Arc<Map<String, Value>>> {
        self.means.messages.subscribe()
    }

    fn events(&self) -> broadcast::Receiver<ServerEvent> {
        self.means.telling.listen()
    }

    fn server_configs(&self) -> BTreeMap<String, ServerConfig> {
        let upstreams = self.members.current();
        let configs = upstreams.iter().filter_map(|it| {
            let url = it.running_at()?;
            Some((it.name().to_owned(), ServerConfig { kind: "http", url }))
        });
        configs.collect()
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        // What is known of each of them is enough.
        Box::pin(async {
            if !self.were_known {
                let _ = self.settled.subscribe().wait_for(|settled| *settled).await;
            }
        })
    }

    fn describe(&self) -> Value {
        let upstreams = self.members.current();
        json!(upstreams.iter().map(|it| it.describe()).collect::<Vec<_>>())
    }

    fn is_empty(&self) -> bool {
        self.members.current().is_empty()
    }

    fn describe_source(&self) -> Value {
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        source.as_ref().map_or(Value::Null, |it| json!(it))
    }
}

/// What they offer together. Prefixes differ, so that names of different servers seldom are the same; where they are, the
/// registry offers the first and reports the other.
fn offer(upstreams: &[Arc<Upstream>]) -> (Arc<[ForeignDefinition]>, Content) {
    let (mut tools, mut content) = (Vec::new(), Content::default());
    for upstream in upstreams {
        let record = upstream.record().unwrap_or_default();
        let mut offered = offered::of(upstream, &record.tools);
        offered.faults.extend(content.add(upstream, &record));
        upstream.note_faults(offered.faults);
        tools.extend(offered.tools);
    }
    (tools.into(), content)
}
