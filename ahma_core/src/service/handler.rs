//! The handler of one client: the SDK's trait, and nothing else.

#![expect(
    deprecated,
    reason = "clients of 2025-11-25 and earlier want messages with levels"
)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ahma_transport::{RawSlot, SessionHandle};
use futures_util::FutureExt as _;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CustomRequest, CustomResult,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, GetTaskParams, GetTaskResult,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerConfig,
    SetLevelRequestParams, SubscriptionFilter, Tool, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::caller::Caller;
use super::capabilities::{no_method, server_config, unknown_request};
use super::context::ServiceContext;
use super::instructions::instructions;
use super::list_changes::{ContentChanges, ListChanges, tell_client, tell_subscriber};
use super::revision::is_stateless;
use super::scope_binding::{ScopeBinding, ScopeFactory};
use super::wanted_level::WantedLevel;
use super::{caller, capabilities, content, dispatch, respond, tasks};
use crate::registry::{ContentRequest, ToolSnapshot};

/// How long a list waits for checks that have never been made.
const CHECKS_WAIT: Duration = Duration::from_millis(200);

/// The handler of one client.
#[derive(Clone)]
pub struct AhmaService {
    /// What it lists from, and runs in where nothing else is said.
    context: Arc<ServiceContext>,
    /// The scope its calls run in.
    binding: ScopeBinding,
    /// Whether the client wants messages about ordinary events.
    wants_messages: Arc<WantedLevel>,
    /// Whether somebody sees to it that the client hears of changes of the list.
    list_changed_subscribed: Arc<AtomicBool>,
    /// The declared tools that the client has listed last, or could have seen first.
    listed: Arc<Mutex<Arc<ToolSnapshot>>>,
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
            context,
        }
    }

    /// Where a task may be. Sessions have none: tasks are of 2026-07-28.
    fn tasks_of(&self, id: &str) -> Result<&ServiceContext, ErrorData> {
        match self.binding {
            ScopeBinding::Shared => Ok(&self.context),
            ScopeBinding::PerSession(_) | ScopeBinding::None => Err(tasks::unknown(id)),
        }
    }

    fn listed(&self) -> MutexGuard<'_, Arc<ToolSnapshot>> {
        // A pointer is whole after any panic.
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes of lists after what the client has seen, or could have: its lists wait for other servers too.
    async fn changes(&self) -> (ListChanges, ContentChanges) {
        // What was not promised is not told.
        let promised = self.context.has_foreign();
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
        (tools, ContentChanges::of(foreign.filter(|_| promised)))
    }

    /// What another server has, when one has it.
    async fn fetched<T: DeserializeOwned>(
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

    fn instructions(&self) -> String {
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

/// Tasks are offered to clients of 2026-07-28; the SDK looks at capabilities only.
fn only_stateless(
    context: &RequestContext<RoleServer>,
    method: &'static str,
) -> Result<(), ErrorData> {
    match is_stateless(context) {
        true => Ok(()),
        false => Err(no_method(method)),
    }
}

impl ServerHandler for AhmaService {
    fn get_info(&self) -> ServerConfig {
        server_config(self.instructions(), self.context.has_foreign())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // A client that says it twice is notified once of each change.
        if self.list_changed_subscribed.swap(true, Ordering::Relaxed) {
            return;
        }
        self.binding.ask_for_roots(&context.peer);
        let service = self.clone();
        let binding = self.binding.clone();
        let listed = Arc::clone(&self.listed);
        let session = context.extensions.get::<SessionHandle>().cloned();
        if let (Some(foreign), None) = (&self.context.foreign, &session) {
            let wants_messages = Arc::clone(&self.wants_messages);
            caller::pass_messages_on(foreign.as_ref(), context.peer.clone(), wants_messages);
        }
        tokio::spawn(async move {
            let changes = service.changes().await;
            // What it holds would never end.
            drop(service);
            // Until its session ends: a change that would show that nobody listens may never come.
            let closed = caller::closed(session.as_ref());
            let own_tools = async {
                let scope = binding.own_tools().await;
                let known = Arc::clone(&listed.lock().unwrap_or_else(PoisonError::into_inner));
                ListChanges::since(&known, &scope.registry)
            };
            tell_client(&context.peer, changes, own_tools, closed).await;
        });
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.binding.roots_changed(&context.peer);
    }

    /// Messages exist up to 2025-11-25 only, tasks from 2026-07-28 on.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut answer = self.negotiate_initialize(&request)?;
        // What was agreed on counts, not what was asked for.
        let mut agreed = request;
        agreed.protocol_version = answer.protocol_version.clone();
        context.peer.set_peer_info(agreed);
        answer.capabilities.logging = Some(JsonObject::new());
        answer.capabilities.extensions = None;
        Ok(answer)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_stateless(&context) {
            return Err(no_method("logging/setLevel"));
        }
        self.wants_messages.set(request.level);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // The SDK leaves in it what the capabilities promise.
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let changes = self.changes().await;
        tell_subscriber(&subscription, changes).await;
        Ok(())
    }

    // Prompts and resources are those of other servers; asking for one that nobody has is a mistake with a name.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let all = content::offered(&self.context).await;
        let prompts = content::listed("prompts", &all.prompts, &context);
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let all = content::offered(&self.context).await;
        let resources = content::listed("resources", &all.resources, &context);
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let all = content::offered(&self.context).await;
        let templates = content::listed("resourceTemplates", &all.resource_templates, &context);
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let wanted = ContentRequest::Prompt {
            name: request.name.clone(),
            arguments: request.arguments,
        };
        if let Some(prompt) = self.fetched::<GetPromptResult>(wanted, &context).await? {
            return Ok(prompt.into());
        }
        let why = format!("there is no prompt `{}`", respond::cut(&request.name));
        Err(ErrorData::invalid_params(why, None))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.clone();
        let wanted = ContentRequest::Resource { uri };
        if let Some(resource) = self.fetched::<ReadResourceResult>(wanted, &context).await? {
            return Ok(resource.into());
        }
        let why = format!("there is no resource `{}`", respond::cut(&request.uri));
        let uri = serde_json::json!({ "uri": request.uri });
        Err(ErrorData::resource_not_found(why, Some(uri)))
    }

    /// Requests that the SDK does not know, or cannot read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(unknown_request(&request.method, is_stateless(&context)))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools = self.context.registry.current();
        tools.find(name).map(|entry| Tool::clone(&entry.definition))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // A list that is complete: clients that list once would never see what is found out a moment later.
        let scope = self.binding.listing(&self.context, &context).await;
        let _ = timeout(CHECKS_WAIT, scope.registry.decided()).await;
        scope.foreign_settled().await;
        let tools = scope.registry.current();
        if let Some(slot) = RawSlot::of(&context.extensions)
            && let Some(whole) = tools.whole()
        {
            slot.put(capabilities::whole_list(
                "tools",
                whole,
                is_stateless(&context),
            ));
        }
        let listed = tools.listed().iter().map(|it| Tool::clone(it)).collect();
        *self.listed() = tools;
        scope.registry.note_listed();
        Ok(ListToolsResult::with_all_items(listed))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = Caller::of_call(&context, &self.wants_messages, &request);
        let arguments = request.arguments.unwrap_or_default();
        match self.binding.context(&self.context, &context).await {
            Ok(scope) => dispatch::call(&scope, &request.name, arguments, &caller).await,
            Err(error) => Ok(respond::refused(&error).into()),
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        only_stateless(&context, "tasks/get")?;
        let task = tasks::get(self.tasks_of(&request.task_id)?, &request.task_id).await;
        task.map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        only_stateless(&context, "tasks/update")?;
        let context = self.tasks_of(&request.task_id)?;
        tasks::update(context, &request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        only_stateless(&context, "tasks/cancel")?;
        tasks::cancel(self.tasks_of(&request.task_id)?, &request.task_id)
    }
}
