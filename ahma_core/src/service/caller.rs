//! The client that made a call, and what it is notified of.
//!
//! While a call with a progress token is open, its client is notified of what the command wrote last. When an operation
//! that goes on in the background ends, clients of 2025-11-25 and earlier are notified with a message, and also as progress
//! where their call gave a token for it. 2026-07-28 has no place for either; its clients can have a task instead.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ahma_transport::{RawSlot, SessionHandle};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CustomNotification, ProgressNotificationParam, ProgressToken,
    RequestMetaObject, ServerNotification,
};
use rmcp::service::{Peer, RequestContext};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::asking;
use super::context::ServiceContext;
use super::one_hop::{RESERVED, without_reserved};
use super::progress::LiveProgress;
use super::questions::{Abilities, Brought, CallingClient, OpenClient};
use super::respond::{RECORD_KEY, finished_text};
use super::revision::is_stateless;
use super::telling::Telling;
use super::wanted_level::{WantedLevel, level_of};
use crate::config::ClientNeeds;
use crate::operation::{OperationHandle, Origin};
use crate::registry::{Asking, ForeignProgress, ForeignServers};

/// A longer name of a client is cut.
const MAX_CLIENT_LEN: usize = 200;
/// The key of steps of sequences, which no client has.
const NOBODY: &str = "\0";
/// Notifications about the progress of a call that wait for its client to read.
const MAX_PROGRESS: usize = 64;
pub(crate) const SESSION_ENDED: &str = "its session has ended";

/// Hears of the progress of a call.
type OnForeignProgress = Box<dyn FnMut(ForeignProgress) + Send + Sync>;

/// The client that made a call.
pub(super) struct Caller {
    /// What the client calls itself, and what tells it apart from others.
    pub(super) origin: Origin,
    /// Its client does not want the answer any more.
    pub(super) cancelled: CancellationToken,
    /// Its client can follow what goes on in the background as a task.
    pub(super) takes_tasks: bool,
    /// Its session, where it has one that can end before the server does.
    session: Option<SessionHandle>,
    live: Option<LiveProgress>,
    listener: Option<Listener>,
    /// What of its `_meta` is for a server behind this one.
    passed_on: Map<String, Value>,
    /// How a server behind this one can ask it something.
    asking: Asking,
    /// Where a result is left that the SDK could not carry whole.
    whole: Option<RawSlot>,
    /// What it can be asked for.
    abilities: Abilities,
    /// What it answers to questions of an earlier call.
    brought: Brought,
    /// Whether it is of 2026-07-28 or later.
    is_stateless: bool,
    /// Where it is told what a command says while its call is open.
    telling: Option<Telling>,
}

/// Where notifications can be sent after the answer.
#[derive(Clone)]
struct Listener {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    /// How many progress notifications were sent.
    sent: Arc<AtomicU32>,
    wants_messages: Arc<WantedLevel>,
}

impl Caller {
    pub(super) fn of(
        context: &RequestContext<RoleServer>,
        wants_messages: &Arc<WantedLevel>,
    ) -> Self {
        let stateless = is_stateless(context);
        let token = context.meta.get_progress_token();
        let capabilities = context.client_capabilities();
        let sent = Arc::<AtomicU32>::default();
        let session = context.extensions.get::<SessionHandle>().cloned();
        let client: Arc<str> = context.client_info().map_or("unknown".into(), |client| {
            let name = format!("{} {}", client.name, client.version);
            name[..name.floor_char_boundary(MAX_CLIENT_LEN)].into()
        });
        let key = match (&session, stateless) {
            (Some(session), _) => session.id().into(),
            // One client is connected.
            (None, false) => "".into(),
            (None, true) => Arc::clone(&client),
        };
        Caller {
            origin: Origin { client, key },
            cancelled: context.ct.clone(),
            takes_tasks: stateless && capabilities.is_some_and(|it| it.supports_tasks()),
            session,
            live: token.clone().map(|token| LiveProgress {
                peer: context.peer.clone(),
                sent: Arc::clone(&sent),
                token,
            }),
            listener: (!stateless).then(|| Listener {
                peer: context.peer.clone(),
                token,
                sent,
                wants_messages: Arc::clone(wants_messages),
            }),
            passed_on: for_others(&context.meta),
            asking: Asking::Never("it can be asked while it calls a tool only"),
            whole: RawSlot::of(&context.extensions),
            abilities: Abilities::of(context.client_capabilities().as_ref()),
            brought: Brought::default(),
            is_stateless: stateless,
            telling: Some(Telling {
                peer: context.peer.clone(),
                token: context.meta.get_progress_token(),
                least: match stateless {
                    true => context.meta.log_level().map(level_of),
                    false => Some(wants_messages.get()),
                },
            }),
        }
    }

    /// A client that calls a tool, and can be asked something meanwhile.
    pub(super) fn of_call(
        context: &RequestContext<RoleServer>,
        wants_messages: &Arc<WantedLevel>,
        request: &CallToolRequestParams,
    ) -> Self {
        let mut caller = Caller::of(context, wants_messages);
        caller.asking = asking::of(context, &caller.origin.key, request);
        caller.brought = Brought::of(request);
        caller
    }

    /// What it can be asked for, by the names of the methods.
    pub(super) fn answers(&self) -> Vec<&'static str> {
        self.abilities.methods()
    }

    /// What it can be asked for.
    pub(super) fn abilities(&self) -> Abilities {
        self.abilities
    }

    /// What of a tool's needs it does not have.
    pub(super) fn lacks(&self, needs: ClientNeeds) -> ClientNeeds {
        self.abilities.lack(needs)
    }

    /// It as a client that is asked while a command waits.
    pub(super) fn open_client(&self) -> Option<OpenClient> {
        let telling = self.telling.as_ref().filter(|_| !self.is_stateless)?;
        Some(OpenClient {
            peer: telling.peer.clone(),
            abilities: self.abilities,
        })
    }

    /// It as a client that is asked by the results of its calls, and what this call brings.
    pub(super) fn calling_client(&self, tool: &str) -> Option<(CallingClient, Brought)> {
        let client = CallingClient {
            tool: tool.to_owned(),
            abilities: self.abilities,
            answers: BTreeMap::new(),
        };
        self.is_stateless.then(|| (client, self.brought.clone()))
    }

    /// Where it is told what a command says.
    pub(super) fn telling(&self) -> Option<&Telling> {
        self.telling.as_ref()
    }

    /// How a server behind this one can ask it something.
    pub(super) fn asking(&self) -> Asking {
        self.asking.clone()
    }

    /// What of its `_meta` is for a server behind this one.
    pub(super) fn passed_on(&self) -> Map<String, Value> {
        self.passed_on.clone()
    }

    /// Its session, where it has one that can end before the server does.
    pub(super) fn session(&self) -> Option<SessionHandle> {
        self.session.clone()
    }

    /// Has a result sent as it is, where the transport can do that; says whether it can.
    pub(super) fn leave_whole(&self, result: Value) -> bool {
        let slot = self.whole.as_ref();
        slot.map(|slot| slot.put(result)).is_some()
    }

    /// Passes on what another server says of the progress of a call, in its order. The task has ended when all of it was
    /// passed on, and nobody can say more.
    pub(super) fn foreign_progress(&self) -> Option<(OnForeignProgress, JoinHandle<()>)> {
        let live = self.live.as_ref()?;
        let (peer, token) = (live.peer.clone(), live.token.clone());
        let (tell, mut told) = mpsc::channel::<ForeignProgress>(MAX_PROGRESS);
        let passing_on = tokio::spawn(async move {
            while let Some(now) = told.recv().await {
                let mut params = ProgressNotificationParam::new(token.clone(), now.progress);
                params.total = now.total;
                params.message = now.message;
                if peer.notify_progress(params).await.is_err() {
                    return;
                }
            }
        });
        // Who does not read fast enough is told of less.
        let tell: OnForeignProgress = Box::new(move |now| drop(tell.try_send(now)));
        Some((tell, passing_on))
    }

    /// A step of a sequence: nobody is notified.
    pub(super) fn nobody() -> Self {
        Caller {
            origin: Origin {
                client: "".into(),
                key: NOBODY.into(),
            },
            cancelled: CancellationToken::new(),
            takes_tasks: false,
            session: None,
            live: None,
            listener: None,
            passed_on: Map::new(),
            asking: Asking::Never("a step of a sequence has no client"),
            whole: None,
            abilities: Abilities::default(),
            brought: Brought::default(),
            is_stateless: false,
            telling: None,
        }
    }

    /// Waits, and notifies the client meanwhile of what operations write; not after the wait has ended.
    pub(super) async fn notified_while<T>(
        &self,
        operations: &[Arc<OperationHandle>],
        wait: impl Future<Output = T>,
    ) -> T {
        match &self.live {
            Some(live) => live.notify_while(operations, wait).await,
            None => wait.await,
        }
    }

    /// Waits until the client gives up: the call is cancelled, or its session ends.
    pub(super) async fn gives_up(&self) -> &'static str {
        tokio::select! {
            () = self.cancelled.cancelled() => "the client cancelled the call",
            () = closed(self.session.as_ref()) => SESSION_ENDED,
        }
    }

    /// Ends an operation that goes on after the answer when the session ends, which it keeps open until then.
    pub(super) fn end_with_session(&self, operation: &Arc<OperationHandle>) {
        if let Some(session) = self.session.clone() {
            let (operation, guard) = (Arc::clone(operation), session.guard());
            tokio::spawn(async move {
                tokio::select! {
                    _ = operation.ended() => {}
                    () = session.closed().cancelled() => operation.cancel(SESSION_ENDED),
                }
                drop(guard);
            });
        }
    }

    /// Notifies the client of the end of an operation that goes on after the answer.
    pub(super) fn notify_at_end(
        &self,
        operation: &Arc<OperationHandle>,
        context: &Arc<ServiceContext>,
    ) {
        if let Some(listener) = self.listener.clone() {
            let (operation, context) = (Arc::clone(operation), Arc::clone(context));
            let answered = self.cancelled.clone();
            tokio::spawn(async move {
                operation.ended().await;
                // The SDK uses the same token to say that the answer is on its way; the notification comes after it.
                answered.cancelled().await;
                listener.notify(&operation, &context).await;
            });
        }
    }
}

/// Waits until a session ends; for ever where there is none.
pub(super) async fn closed(session: Option<&SessionHandle>) {
    match session {
        Some(session) => session.closed().cancelled().await,
        None => std::future::pending().await,
    }
}

/// Passes on what other servers say for the log, to a client that has this server to itself: a message does not say whose
/// call it is about, and clients that share a server may not read what is meant for others.
pub(super) fn pass_messages_on(
    foreign: &dyn ForeignServers,
    peer: Peer<RoleServer>,
    wants_messages: Arc<WantedLevel>,
) {
    let mut messages = foreign.messages();
    tokio::spawn(async move {
        loop {
            match messages.recv().await {
                Ok(message) if wants_messages.wants_ordinary() => {
                    let mut message = Map::clone(&message);
                    without_reserved(&mut message);
                    let params = Some(Value::Object(message));
                    let message = CustomNotification::new("notifications/message", params);
                    let message = ServerNotification::CustomNotification(message);
                    if peer.send_notification(message).await.is_err() {
                        return;
                    }
                }
                // Who does not read fast enough is told of less.
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    });
}

impl Listener {
    async fn notify(&self, operation: &OperationHandle, context: &ServiceContext) {
        let record = operation.record();
        let text = finished_text(operation, context);
        let meta = json!({ RECORD_KEY: record });
        // Only on a token that the call gave: clients report any other as an error.
        if let Some(token) = &self.token {
            let last = self.sent.load(Ordering::Relaxed) + 1;
            let progress = json!({
                "progressToken": token, "progress": last, "total": last, "message": text, "_meta": meta
            });
            self.send("notifications/progress", progress).await;
        }
        if self.wants_messages.wants_ordinary() {
            let message = json!({
                "level": "info", "logger": "ahma_mcp", "data": text, "_meta": meta
            });
            self.send("notifications/message", message).await;
        }
    }

    /// A client that is gone needs no notification.
    async fn send(&self, method: &str, params: Value) {
        let notification = CustomNotification::new(method, Some(params));
        let notification = ServerNotification::CustomNotification(notification);
        let _ = self.peer.send_notification(notification).await;
    }
}

/// What of a request's `_meta` is for a server behind this one: everything but what belongs to this hop.
fn for_others(meta: &RequestMetaObject) -> Map<String, Value> {
    let is_ours =
        |key: &str| key.starts_with(RESERVED) || key.starts_with("ahma/") || key == "progressToken";
    let all = meta.iter().filter(|(key, _)| !is_ours(key));
    all.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
