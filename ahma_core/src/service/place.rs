//! Where the calls of a client run: in a scope that it shares, in one that its session has to itself, or nowhere.
//!
//! A session with a scope of its own gets it from the first roots that its client names when it is asked. That
//! is decided once and for good, whatever it is.

use std::sync::Arc;
use std::time::Duration;

use ahma_http_bridge::SessionHandle;
use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::service::{Peer, RequestContext, ServiceError};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use super::{ServiceState, caller, calls};

/// What nobody reads: the SDK drops answers to calls that were cancelled.
const CANCELLED: &str = "the call was cancelled";
/// How long a call waits for the client to name its roots.
const TIMEOUT: Duration = Duration::from_secs(10);

const NO_ROOTS: &str = "this server gives every session a scope of its own, which it asks the client for; this client does \
                        not declare the capability `roots`, so nothing can run. Use a client that does, or a workspace \
                        that the operator has declared (/mcp/w/NAME)";
const UNANSWERED: &str = "this server gives every session a scope of its own, but the client has not answered `roots/list` \
                          within 10 seconds, so nothing can run yet. It is asked on its event stream (GET), and on the \
                          stream of a call that accepts text/event-stream";
const NO_SESSION: &str = "this server gives every session a scope of its own, and a request without a session has none, so \
                          nothing can run. Begin a session with `initialize`, or use a workspace that the operator has \
                          declared (/mcp/w/NAME)";

/// Opens the scope that a root names, for as long as a session lives.
pub type OpenScope = Arc<
    dyn Fn(Vec<String>, SessionHandle) -> BoxFuture<'static, Result<Arc<ServiceState>, String>>
        + Send
        + Sync,
>;

/// Where the calls of a client run.
#[derive(Clone)]
pub(super) enum Place {
    /// In the scope that all share.
    Shared,
    /// In one of its own.
    Own(Arc<OwnScope>),
    /// It belongs to no session, where each has its own.
    Nowhere,
}

/// The scope of a session.
pub(super) struct OwnScope {
    life: SessionHandle,
    open: OpenScope,
    /// The first answer counts; others wait until it is clear what came of it, and are dropped.
    deciding: Mutex<()>,
    decided: watch::Sender<Option<Decided>>,
}

type Decided = Result<Arc<ServiceState>, String>;

impl Place {
    pub(super) fn own(life: &SessionHandle, open: &OpenScope) -> Self {
        Place::Own(Arc::new(OwnScope {
            life: life.clone(),
            open: Arc::clone(open),
            deciding: Mutex::default(),
            decided: watch::Sender::new(None),
        }))
    }

    /// The client is ready: it is asked for its roots beside everything else.
    pub(super) fn ask(&self, peer: &Peer<RoleServer>) {
        if let Place::Own(own) = self
            && has_roots(peer)
        {
            let (own, peer) = (Arc::clone(own), peer.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = own.ask(&peer) => {}
                    () = caller::over(Some(&own.life)) => {}
                }
            });
        }
    }

    /// What a call runs in.
    pub(super) async fn state(
        &self,
        shared: &Arc<ServiceState>,
        context: &RequestContext<RoleServer>,
    ) -> Decided {
        match self {
            Place::Shared => Ok(Arc::clone(shared)),
            Place::Own(own) => tokio::select! {
                decided = own.state(&context.peer) => decided,
                () = context.ct.cancelled() => Err(CANCELLED.to_owned()),
            },
            Place::Nowhere => Err(NO_SESSION.to_owned()),
        }
    }
}

impl OwnScope {
    async fn state(self: &Arc<Self>, peer: &Peer<RoleServer>) -> Decided {
        if let Some(decided) = self.decided.borrow().clone() {
            return decided;
        }
        if !has_roots(peer) {
            return Err(NO_ROOTS.to_owned());
        }
        let mut news = self.decided.subscribe();
        let decided = async {
            let decided = news.wait_for(Option::is_some).await;
            decided.ok().and_then(|it| it.clone())
        };
        // A client without an event stream of its own hears the question on that of its call.
        let asking = async {
            self.ask(peer).await;
            std::future::pending().await
        };
        let waited = timeout(TIMEOUT, async {
            tokio::select! {
                decided = decided => decided,
                never = asking => never,
            }
        });
        let nothing = || Err(UNANSWERED.to_owned());
        waited.await.ok().flatten().unwrap_or_else(nothing)
    }

    async fn ask(self: &Arc<Self>, peer: &Peer<RoleServer>) {
        #[expect(deprecated, reason = "clients of the older lifecycle name roots")]
        let answer = peer.list_roots().await;
        let roots = match answer {
            Ok(answer) => Ok(answer.roots.into_iter().map(|root| root.uri).collect()),
            Err(ServiceError::McpError(error)) => {
                let why = calls::cut(&error.message);
                Err(format!("the client could not name its roots: {why:?}"))
            }
            Err(ServiceError::UnexpectedResponse) => {
                Err("what the client answered to `roots/list` are no roots".to_owned())
            }
            // Nobody is there to answer.
            Err(_) => return,
        };
        // In a task of its own: what has begun comes to its end, whoever waits for it.
        let own = Arc::clone(self);
        let deciding = tokio::spawn(async move { own.decide(roots).await });
        let _ = deciding.await;
    }

    async fn decide(&self, roots: Result<Vec<String>, String>) {
        let _one = self.deciding.lock().await;
        if self.decided.borrow().is_some() {
            return;
        }
        self.life.lock_roots();
        let decided = match roots {
            Ok(roots) => (self.open)(roots, self.life.clone()).await,
            Err(why) => Err(why),
        };
        if let Err(why) = &decided {
            tracing::warn!(session = self.life.id(), "no scope: {why}");
        }
        self.decided.send_replace(Some(decided));
    }
}

fn has_roots(peer: &Peer<RoleServer>) -> bool {
    let client = peer.peer_info();
    client.is_some_and(|client| client.capabilities.roots.is_some())
}
