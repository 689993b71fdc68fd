//! News of tasks (2026-07-28): a client that has subscribed to tasks by their ids is told whenever one of them changes.
//!
//! The SDK's subscriptions have no place for ids of tasks. A subscription that names some reaches us as a request of its own
//! (`ahma_transport::LISTEN_WITH_TASKS`), and is accepted and served here.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, SubscriptionFilter};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::context::ServiceContext;
use super::subscriber::Subscriber;
use super::tasks;
use crate::operation::{OperationEvent, OperationHandle, OperationStore};

/// Tasks that one subscription may name; of more, the first count.
const MAX_TASKS: usize = 100;

/// What a subscription asks for that names tasks.
pub(super) struct Wanted {
    pub(super) filter: SubscriptionFilter,
    tasks: Vec<Arc<OperationHandle>>,
}

impl Wanted {
    /// What its parameters say; tasks that are not there are left out, and the client is told which are there.
    pub(super) fn of(
        params: Option<&Value>,
        operations: Option<&Arc<OperationStore>>,
    ) -> Result<Self, ErrorData> {
        let wanted = params.map(|it| it["notifications"].clone());
        let ids = wanted.as_ref().map(|it| it["taskIds"].clone());
        let ids: Option<Vec<String>> = ids.and_then(|it| serde_json::from_value(it).ok());
        let filter = wanted.and_then(|it| serde_json::from_value(it).ok());
        let (Some(ids), Some(filter)) = (ids, filter) else {
            let why = "the parameters of subscriptions/listen are invalid";
            return Err(ErrorData::invalid_params(why, None));
        };
        let mut known = Vec::new();
        for id in ids.iter().take(MAX_TASKS) {
            let is_new =
                |it: &Arc<OperationHandle>| !known.iter().any(|known| Arc::ptr_eq(known, it));
            let operation = operations.and_then(|it| it.get(id));
            known.extend(operation.filter(is_new));
        }
        Ok(Wanted {
            filter,
            tasks: known,
        })
    }

    /// Accepts the subscription.
    pub(super) async fn accept(&self, request: &RequestContext<RoleServer>) -> Subscriber {
        let ids = self.tasks.iter().map(|it| it.id().to_string());
        let ids: Vec<String> = ids.collect();
        Subscriber::accepted(request, self.filter.clone(), &ids).await
    }

    /// Tells of each change of each task, until none of them changes any more.
    pub(super) async fn tell(&self, subscriber: &Subscriber, context: &ServiceContext) {
        let telling = self.tasks.iter().map(|it| follow(it, subscriber, context));
        let mut telling: FuturesUnordered<_> = telling.collect();
        while telling.next().await.is_some() {}
    }
}

async fn follow(
    operation: &Arc<OperationHandle>,
    subscriber: &Subscriber,
    context: &ServiceContext,
) {
    let mut events = context.operations().subscribe();
    let mut told = None;
    loop {
        let is_ended = operation.completion().is_some();
        let dialogue = operation.result().and_then(|it| it.dialogue());
        let version = dialogue.map(|it| it.version());
        let now = json!(tasks::detailed(operation, context).await);
        // What it has written last is asked for by whoever wants to know.
        let state = (now["status"].clone(), now["inputRequests"].clone());
        if told.as_ref() != Some(&state) {
            if !subscriber.custom("notifications/tasks", now).await {
                return;
            }
            told = Some(state);
        }
        if is_ended {
            return;
        }
        let said = async {
            match (dialogue, version) {
                (Some(dialogue), Some(version)) => dialogue.changed(version).await,
                _ => std::future::pending().await,
            }
        };
        let happened = async {
            while let Some(event) = events.next().await {
                match event {
                    OperationEvent::Changed(record) if record.operation_id != *operation.id() => {}
                    OperationEvent::Output { .. } => {}
                    OperationEvent::Changed(_) | OperationEvent::Missed(_) => return,
                }
            }
            // The store is gone, and with it everything that could happen.
            std::future::pending::<()>().await;
        };
        tokio::select! {
            _ = operation.ended() => {}
            () = said => {}
            () = happened => {}
        }
    }
}
