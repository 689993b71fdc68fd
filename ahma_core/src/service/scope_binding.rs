//! Which scope the calls of a client run in: one that it shares, one that its session has to itself, or none.
//!
//! A session with a scope of its own gets it from the first roots that its client names when it is asked. That is
//! decided once and for good, whatever it is: a client whose first root is another one later loses its session.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ahma_transport::SessionHandle;
use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::service::{Peer, RequestContext, ServiceError};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;
use url::Url;

use super::call_error::CallError;
use super::caller;
use super::context::ServiceContext;
use super::respond::cut;

/// How long a call waits for the client to name its roots.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(10);

const NO_ROOTS: &str = "this server gives every session a scope of its own and asks the client for it, but this client \
                        does not declare the capability `roots`, so nothing can run. Use a client that does, or a \
                        workspace that the operator has declared (/mcp/w/NAME)";
const UNANSWERED: &str = "this server gives every session a scope of its own, but the client has not answered `roots/list` \
                          within 10 seconds, so nothing can run yet. The request is on its event stream (GET), and on \
                          the stream of a call that accepts text/event-stream";
const NO_SESSION: &str = "this server gives every session a scope of its own, and this request has no session, so nothing \
                          can run. Start a session with `initialize`, or use a workspace that the operator has \
                          declared (/mcp/w/NAME)";

/// What is said where the server has no scope and its client names none.
const NO_ROOTS_HERE: &str = "this server was started where no project is, so it asks the client for one, but this client \
                             does not declare the capability `roots`, so nothing can run. Start the server in the \
                             directory of a project, or name one with --sandbox-scope";
const UNANSWERED_HERE: &str = "this server was started where no project is, so it has asked the client for one, but the \
                               client has not answered `roots/list` within 10 seconds, so nothing can run yet. Open a \
                               project in the client, or name one with --sandbox-scope";

/// Opens scopes for sessions.
pub(crate) trait ScopeFactory: Send + Sync {
    /// Opens the scope that the first of these roots names, until the session ends.
    fn open(
        &self,
        roots: Vec<String>,
        session: SessionHandle,
    ) -> BoxFuture<'static, Result<Arc<ServiceContext>, CallError>>;

    /// Whether the tools are those of the scope, which are known only then, and not those that all sessions share.
    fn has_own_tools(&self) -> bool {
        false
    }

    /// The client cannot name roots.
    fn no_roots(&self) {}
}

/// Where the calls of a client run.
#[derive(Clone)]
pub(super) enum ScopeBinding {
    /// In the scope that all share.
    Shared,
    /// In one of its own.
    PerSession(Arc<SessionScope>),
    /// It belongs to no session, where each has its own.
    None,
}

/// The scope of a session.
pub(super) struct SessionScope {
    session: SessionHandle,
    factory: Arc<dyn ScopeFactory>,
    /// The first answer counts; others wait until it is clear what came of it, and are dropped.
    deciding: Mutex<()>,
    decided: watch::Sender<Option<Decided>>,
    /// The first root, by which it was decided.
    root: OnceLock<String>,
    /// How often the client has said that its roots changed.
    changes: AtomicUsize,
    /// It is being asked whether that one did.
    asking_again: AtomicBool,
}

type Decided = Result<Arc<ServiceContext>, CallError>;

impl ScopeBinding {
    pub(super) fn per_session(session: &SessionHandle, factory: Arc<dyn ScopeFactory>) -> Self {
        ScopeBinding::PerSession(Arc::new(SessionScope {
            session: session.clone(),
            factory,
            deciding: Mutex::default(),
            decided: watch::Sender::new(None),
            root: OnceLock::new(),
            changes: AtomicUsize::new(0),
            asking_again: AtomicBool::new(false),
        }))
    }

    /// Asks a client that is ready for its roots, without waiting.
    pub(super) fn ask_for_roots(&self, peer: &Peer<RoleServer>) {
        let ScopeBinding::PerSession(own) = self else {
            return;
        };
        if !has_roots(peer) {
            own.factory.no_roots();
        } else {
            let (own, peer) = (Arc::clone(own), peer.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = own.ask(&peer) => {}
                    () = caller::closed(Some(&own.session)) => {}
                }
            });
        }
    }

    /// Asks a client that says its roots have changed for them. The session ends when the first one did.
    pub(super) fn roots_changed(&self, peer: &Peer<RoleServer>) {
        let ScopeBinding::PerSession(own) = self else {
            return;
        };
        // Before the scope is decided nothing can have changed.
        if own.root.get().is_none() {
            return;
        }
        own.changes.fetch_add(1, Ordering::Relaxed);
        // One question at a time; whoever asks asks again when there was another change meanwhile.
        if own.asking_again.swap(true, Ordering::Relaxed) {
            return;
        }
        let (own, peer) = (Arc::clone(own), peer.clone());
        tokio::spawn(async move {
            loop {
                let before = own.changes.load(Ordering::Relaxed);
                let asking = timeout(ROOTS_TIMEOUT, own.has_other_root(&peer));
                let has_changed = tokio::select! {
                    // A client that does not answer has changed nothing: its commands stay where they are.
                    has_changed = asking => has_changed.unwrap_or(false),
                    () = caller::closed(Some(&own.session)) => return,
                };
                if has_changed {
                    tracing::warn!(
                        session = own.session.id(),
                        "its first root changed after its scope was set"
                    );
                    own.session.revoke();
                    return;
                }
                // Nothing is awaited between the two, so no change is missed.
                if own.changes.load(Ordering::Relaxed) == before {
                    own.asking_again.store(false, Ordering::Relaxed);
                    return;
                }
            }
        });
    }

    /// Where tools are listed from: where the scope decides about them, from it, as soon as it is known.
    pub(super) async fn listing(
        &self,
        shared: &Arc<ServiceContext>,
        request: &RequestContext<RoleServer>,
    ) -> Arc<ServiceContext> {
        match self {
            ScopeBinding::PerSession(own) if own.factory.has_own_tools() => {
                let decided = self.context(shared, request).await;
                decided.unwrap_or_else(|_| Arc::clone(shared))
            }
            _ => Arc::clone(shared),
        }
    }

    /// Waits until the scope has tools of its own; for ever where it has none.
    pub(super) async fn own_tools(&self) -> Arc<ServiceContext> {
        if let ScopeBinding::PerSession(own) = self
            && own.factory.has_own_tools()
        {
            let mut changes = own.decided.subscribe();
            let decided = changes.wait_for(|it| matches!(it, Some(Ok(_)))).await;
            if let Some(Ok(context)) = decided.ok().and_then(|it| it.clone()) {
                return context;
            }
        }
        std::future::pending().await
    }

    /// The scope that a call runs in.
    pub(super) async fn context(
        &self,
        shared: &Arc<ServiceContext>,
        request: &RequestContext<RoleServer>,
    ) -> Decided {
        match self {
            ScopeBinding::Shared => Ok(Arc::clone(shared)),
            ScopeBinding::PerSession(own) => tokio::select! {
                decided = own.context(&request.peer) => decided,
                () = request.ct.cancelled() => Err(CallError::cancelled()),
            },
            ScopeBinding::None => Err(CallError::refused(NO_SESSION)),
        }
    }
}

impl SessionScope {
    async fn context(self: &Arc<Self>, peer: &Peer<RoleServer>) -> Decided {
        if let Some(decided) = self.decided.borrow().clone() {
            return decided;
        }
        if !has_roots(peer) {
            return Err(CallError::refused(self.said(NO_ROOTS, NO_ROOTS_HERE)));
        }
        let mut changes = self.decided.subscribe();
        let decided = async {
            let decided = changes.wait_for(Option::is_some).await;
            decided.ok().and_then(|it| it.clone())
        };
        // A client without an event stream of its own gets the request on the stream of its call.
        let asking = async {
            self.ask(peer).await;
            std::future::pending().await
        };
        let waited = timeout(ROOTS_TIMEOUT, async {
            tokio::select! {
                decided = decided => decided,
                never = asking => never,
            }
        });
        let unanswered = self.said(UNANSWERED, UNANSWERED_HERE);
        let nothing = || Err(CallError::refused(unanswered));
        waited.await.ok().flatten().unwrap_or_else(nothing)
    }

    /// What is said where each session has a scope, or where the server has none.
    fn said(&self, per_session: &'static str, here: &'static str) -> &'static str {
        match self.factory.has_own_tools() {
            true => here,
            false => per_session,
        }
    }

    /// Whether the first root of the client is another one now.
    async fn has_other_root(&self, peer: &Peer<RoleServer>) -> bool {
        #[expect(deprecated, reason = "clients of 2025-11-25 and earlier name roots")]
        let Ok(answer) = peer.list_roots().await else {
            return false;
        };
        let now = uris(answer).into_iter().next();
        match (self.root.get(), now) {
            (Some(before), Some(now)) => !is_same(before, &now),
            (before, _) => before.is_some(),
        }
    }

    async fn ask(self: &Arc<Self>, peer: &Peer<RoleServer>) {
        #[expect(deprecated, reason = "clients of 2025-11-25 and earlier name roots")]
        let answer = peer.list_roots().await;
        let roots = match answer {
            Ok(answer) => Ok(uris(answer)),
            Err(ServiceError::McpError(error)) => {
                let why = cut(&error.message);
                Err(CallError::new(format!(
                    "the client could not list its roots: {why:?}"
                )))
            }
            Err(ServiceError::UnexpectedResponse) => Err(CallError::new(
                "the answer of the client to `roots/list` is not a list of roots",
            )),
            // Nobody is there to answer.
            Err(_) => return,
        };
        // In a task of its own: it runs to its end even when the call that waits for it is dropped.
        let own = Arc::clone(self);
        let deciding = tokio::spawn(async move { own.decide(roots).await });
        let _ = deciding.await;
    }

    async fn decide(&self, roots: Result<Vec<String>, CallError>) {
        let _one = self.deciding.lock().await;
        if self.decided.borrow().is_some() {
            return;
        }
        if let Some(first) = roots.as_ref().ok().and_then(|it| it.first()) {
            let _ = self.root.set(first.clone());
        }
        let decided = match roots {
            Ok(roots) => self.factory.open(roots, self.session.clone()).await,
            Err(why) => Err(why),
        };
        if let Err(why) = &decided {
            tracing::warn!(session = self.session.id(), "no scope: {why}");
        }
        self.decided.send_replace(Some(decided));
    }
}

/// Whether two roots are written differently at most.
fn is_same(one: &str, other: &str) -> bool {
    let path = |uri: &str| {
        let path = Url::parse(uri).ok()?.to_file_path().ok()?;
        Some(path.components().collect::<PathBuf>())
    };
    one == other || path(one).is_some() && path(one) == path(other)
}

#[expect(deprecated, reason = "clients of 2025-11-25 and earlier name roots")]
fn uris(answer: rmcp::model::ListRootsResult) -> Vec<String> {
    answer.roots.into_iter().map(|root| root.uri).collect()
}

fn has_roots(peer: &Peer<RoleServer>) -> bool {
    let client = peer.peer_info();
    client.is_some_and(|client| client.capabilities.roots.is_some())
}
