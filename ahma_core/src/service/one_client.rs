//! What the handler of one client knows of it: the scope its calls run in, what it has seen of lists, what it wants to hear of. Must not
//! answer requests: `handler` does.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahma_transport::SessionHandle;
use futures_util::FutureExt as _;
use rmcp::model::{PaginatedRequestParams, SubscriptionFilter};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;

use super::caller::Caller;
use super::content::{ContentKind, MAX_SUBSCRIPTIONS, Subscriptions};
use super::context::ServiceContext;
use super::instructions::instructions;
use super::list_changes::{ContentChanges, ListChanges, tell_subscriber};
use super::revision::is_stateless;
use super::scope_binding::{ScopeBinding, ScopeFactory};
use super::subscriber::Subscriber;
use super::wanted_level::WantedLevel;
use super::{content, tasks};
use crate::registry::{ContentRequest, ToolSnapshot};

/// The handler of one client.
#[derive(Clone)]
pub struct AhmaService {
    /// What it lists from, and runs in where nothing else is said.
    pub(super) context: Arc<ServiceContext>,
    /// The scope its calls run in.
    pub(super) binding: ScopeBinding,
    /// Whether the client wants messages about ordinary events.
    pub(super) wants_messages: Arc<WantedLevel>,
    /// Whether somebody sees to it that the client hears of changes of the list.
    pub(super) list_changed_subscribed: Arc<AtomicBool>,
    /// The declared tools that the client has listed last, or could have seen first.
    pub(super) listed: Arc<Mutex<Arc<ToolSnapshot>>>,
    /// The resources whose changes it wants to hear of.
    pub(super) subscriptions: Arc<Subscriptions>,
    /// Whether somebody sees to it that it does.
    pub(super) watches_resources: Arc<AtomicBool>,
}

impl AhmaService {
    /// Serves from a scope that others use too.
    pub(crate) fn new(context: Arc<ServiceContext>) -> Self {
        Self::bound(context, ScopeBinding::Shared)
    }

    /// Serves a session that gets a scope of its own.
    pub(crate) fn per_session(
        shared: Arc<ServiceContext>,
        session: &SessionHandle,
        factory: Arc<dyn ScopeFactory>,
    ) -> Self {
        Self::bound(shared, ScopeBinding::per_session(session, factory))
    }

    /// Serves a request that may run nothing.
    pub(crate) fn without_scope(shared: Arc<ServiceContext>) -> Self {
        Self::bound(shared, ScopeBinding::None)
    }

    fn bound(context: Arc<ServiceContext>, binding: ScopeBinding) -> Self {
        AhmaService {
            binding,
            listed: Arc::new(Mutex::new(context.registry.current())),
            wants_messages: Arc::default(),
            list_changed_subscribed: Arc::default(),
            subscriptions: Arc::default(),
            watches_resources: Arc::default(),
            context,
        }
    }

    /// Where a task may be. Sessions have none: tasks are of 2026-07-28.
    pub(super) fn tasks_of(&self, id: &str) -> Result<&ServiceContext, ErrorData> {
        match self.binding {
            ScopeBinding::Shared => Ok(&self.context),
            ScopeBinding::PerSession(_) | ScopeBinding::None => Err(tasks::unknown(id)),
        }
    }

    pub(super) fn listed(&self) -> MutexGuard<'_, Arc<ToolSnapshot>> {
        // A pointer is whole after any panic.
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes of lists after what the client has seen, or could have: its lists wait for other servers too.
    pub(super) async fn changes(&self) -> (ListChanges, ContentChanges) {
        let foreign = self.context.foreign.as_ref();
        let first = Arc::clone(&self.listed());
        if foreign.is_some_and(|it| it.settled().now_or_never().is_none()) {
            self.context.foreign_settled().await;
            let mut listed = self.listed();
            if Arc::ptr_eq(&first, &listed) {
                *listed = self.context.registry.current();
            }
        }
        let tools = ListChanges::since(&self.listed(), &self.context.registry);
        (tools, ContentChanges::of(&self.context.registry, foreign))
    }

    /// What another server has, when one has it.
    pub(super) async fn fetched<T: DeserializeOwned>(
        &self,
        wanted: ContentRequest,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<T>, ErrorData> {
        let caller = Caller::of(context, &self.wants_messages);
        // Who may call no tool may start no server either.
        let may_run = async {
            let scope = self.binding.context(&self.context, context).await;
            scope.map(drop)
        };
        let form = is_stateless(context);
        content::fetched(&self.context, wanted, (&caller, form), may_run).await
    }

    /// The scope whose files are offered, and that they are read in; whoever may run nothing may read nothing either.
    pub(super) async fn scope_of_content(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Arc<ServiceContext>, ErrorData> {
        let scope = self.binding.context(&self.context, context).await;
        scope.map_err(|error| ErrorData::invalid_request(error.to_string(), None))
    }

    /// A page of a list.
    pub(super) async fn page<T: DeserializeOwned>(
        &self,
        kind: ContentKind,
        request: Option<PaginatedRequestParams>,
        context: &RequestContext<RoleServer>,
    ) -> Result<(Vec<T>, Option<String>), ErrorData> {
        let scope = self.binding.listing(&self.context, context).await;
        let all = content::offered(&scope, kind).await;
        content::page(kind, &all, request.as_ref(), context)
    }

    /// Whether its calls run in the scope that all share.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self.binding, ScopeBinding::Shared)
    }

    /// What is accepted of a subscription: resources that are there.
    pub(super) fn accepted(&self, mut filter: SubscriptionFilter) -> SubscriptionFilter {
        if let Some(uris) = &mut filter.resource_subscriptions {
            // Those of a scope that it has no part in are nobody's.
            let is_known = |uri: &String| self.is_shared() && content::is_known(&self.context, uri);
            uris.retain(is_known);
            uris.truncate(MAX_SUBSCRIPTIONS);
        }
        filter
    }

    /// Tells a subscriber what it wants to hear of.
    pub(super) async fn tell(&self, subscriber: &Subscriber) {
        let uris = subscriber.wanted.resource_subscriptions.clone();
        let subscriptions = Arc::new(Subscriptions::to(uris.unwrap_or_default()));
        let scope = Arc::clone(&self.context);
        let updated = |uri: String| subscriber.resource_updated(uri);
        let resources = content::watch(scope, subscriptions, updated);
        let lists = async { tell_subscriber(subscriber, self.changes().await).await };
        tokio::select! {
            () = lists => {}
            () = resources => {}
        }
    }

    pub(super) fn instructions(&self) -> String {
        instructions(
            self.context.hosts.policy(),
            matches!(self.binding, ScopeBinding::Shared),
            self.context.commands.unconfined,
            self.context.style.always_sync,
            !self.context.registry.current().hidden().is_empty(),
            self.context
                .hosts
                .gaps()
                .filter(|_| !self.context.commands.unconfined)
                .as_deref(),
        )
    }
}
