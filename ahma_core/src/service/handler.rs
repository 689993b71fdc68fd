//! The handler of one client: the SDK's trait, and nothing else.

#![expect(
    deprecated,
    reason = "clients of 2025-11-25 and earlier want messages with levels"
)]

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use ahma_transport::{LISTEN_WITH_TASKS, RawSlot, SessionHandle};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult,
    JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourceUpdatedNotificationParam, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use tokio::time::timeout;

use super::caller::Caller;
use super::capabilities::{no_method, server_config, unknown_request};
use super::content::{ContentKind, PromptClient};
use super::list_changes::{ListChanges, tell_client};
use super::one_client::AhmaService;
use super::questions::Brought;
use super::revision::is_stateless;
use super::subscriber::Subscriber;
use super::{caller, capabilities, content, dispatch, pages, respond, task_news, tasks};
use crate::registry::ContentRequest;

/// How long a list waits for checks that have never been made.
const CHECKS_WAIT: Duration = Duration::from_millis(200);

fn no_resource(uri: &str) -> ErrorData {
    let why = format!("there is no resource `{}`", respond::cut(uri));
    ErrorData::resource_not_found(why, Some(serde_json::json!({ "uri": uri })))
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
        server_config(self.instructions())
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
                let changes = ListChanges::since(&known, &scope.registry);
                (changes, Arc::clone(&scope.registry))
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
        Some(self.accepted(requested.clone()))
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let subscriber = Subscriber::of(&subscription);
        tokio::select! {
            () = self.tell(&subscriber) => {}
            () = subscription.cancelled() => {}
        }
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let scope = self.scope_of_content(&context).await?;
        if !content::is_known(&scope, &request.uri) {
            return Err(no_resource(&request.uri));
        }
        let added = self.subscriptions.add(request.uri);
        added.map_err(|why| ErrorData::invalid_params(why, None))?;
        if !self.watches_resources.swap(true, Ordering::Relaxed) {
            let (peer, subscriptions) = (context.peer.clone(), Arc::clone(&self.subscriptions));
            let session = context.extensions.get::<SessionHandle>().cloned();
            tokio::spawn(async move {
                let tell = |uri: String| {
                    let updated = ResourceUpdatedNotificationParam::new(uri);
                    let telling = peer.notify_resource_updated(updated);
                    async { telling.await.is_ok() }
                };
                tokio::select! {
                    () = content::watch(scope, subscriptions, tell) => {}
                    () = caller::closed(session.as_ref()) => {}
                }
            });
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&request.uri);
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let scope = self.scope_of_content(&context).await?;
        let completion = content::complete(&scope, request).await?;
        Ok(CompleteResult::new(completion))
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let (prompts, next) = self.page(ContentKind::Prompts, request, &context).await?;
        let mut result = ListPromptsResult::with_all_items(prompts);
        result.next_cursor = next;
        Ok(result)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (resources, next) = self.page(ContentKind::Resources, request, &context).await?;
        let mut result = ListResourcesResult::with_all_items(resources);
        result.next_cursor = next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let (templates, next) = self.page(ContentKind::Templates, request, &context).await?;
        let mut result = ListResourceTemplatesResult::with_all_items(templates);
        result.next_cursor = next;
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let scope = self.scope_of_content(&context).await?;
        let own = scope
            .registry
            .content()
            .borrow()
            .prompt(&request.name)
            .cloned();
        if let Some(spec) = own {
            let caller = Caller::of(&context, &self.wants_messages);
            let client = PromptClient::of(&caller, Brought::of_prompt(&request));
            return content::filled(&scope, &spec, request.arguments, (client, &caller)).await;
        }
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
        let scope = self.scope_of_content(&context).await?;
        if let Some(resource) = content::read(&scope, &request.uri).await? {
            return Ok(resource.into());
        }
        let uri = request.uri.clone();
        let wanted = ContentRequest::Resource { uri };
        if let Some(resource) = self.fetched::<ReadResourceResult>(wanted, &context).await? {
            return Ok(resource.into());
        }
        Err(no_resource(&request.uri))
    }

    /// Requests that the SDK does not know, or cannot read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != LISTEN_WITH_TASKS || !is_stateless(&context) {
            return Err(unknown_request(&request.method, is_stateless(&context)));
        }
        let operations = self.is_shared().then(|| self.context.operations());
        let mut wanted = task_news::Wanted::of(request.params.as_ref(), operations)?;
        wanted.filter = self.accepted(wanted.filter);
        let subscriber = wanted.accept(&context).await;
        let telling = async {
            tokio::join!(
                self.tell(&subscriber),
                wanted.tell(&subscriber, &self.context)
            );
        };
        tokio::select! {
            () = telling => {}
            () = context.ct.cancelled() => {}
        }
        Ok(CustomResult(subscriber.last_word()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools = self.context.registry.current();
        tools.find(name).map(|entry| Tool::clone(&entry.definition))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // A list that is complete: clients that list once would never see what is found out a moment later.
        let scope = self.binding.listing(&self.context, &context).await;
        let _ = timeout(CHECKS_WAIT, scope.registry.decided()).await;
        scope.foreign_settled().await;
        let tools = scope.registry.current();
        let cursor = request.as_ref().and_then(|it| it.cursor.as_deref());
        let all = tools.listed();
        let page = pages::page("tools", all, |it| it.name.to_string(), cursor)?;
        if let Some(slot) = RawSlot::of(&context.extensions)
            && let Some(mut whole) = tools.whole()
        {
            let whole = whole.drain(page.range.clone()).collect();
            let mut list = capabilities::whole_list("tools", whole, is_stateless(&context));
            pages::name_next(&mut list, page.next.as_deref());
            slot.put(list);
        }
        let listed = all.get(page.range).unwrap_or_default();
        let listed = listed.iter().map(|it| Tool::clone(it)).collect();
        *self.listed() = tools;
        scope.registry.note_listed();
        let mut result = ListToolsResult::with_all_items(listed);
        result.next_cursor = page.next;
        Ok(result)
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
