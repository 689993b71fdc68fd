//! The MCP server: tools listed, calls answered.
//!
//! Turns a call into a [`CommandPlan`](crate::executor::CommandPlan), an operation into a result.
//! It starts no process and writes no operation state. A wrong argument or a failed command is an
//! error *result*, which the model reads; only what no model could have meant, such as a tool that
//! does not exist, is a protocol error.

#![expect(
    deprecated,
    reason = "clients of the older lifecycle want messages with levels"
)]

mod arguments;
mod built_in;
mod caller;
mod calls;
mod declared;
mod denial;
mod lists;
mod operations;
mod place;
mod progress;
mod respond;
mod sequence;
mod server_info;
mod serving;
mod tasks;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use ahma_http_bridge::SessionHandle;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CustomRequest, CustomResult,
    ErrorCode, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
    Implementation, InitializeRequestParams, InitializeResult, JsonObject, ListToolsResult,
    LoggingLevel, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscriptionFilter, Tool,
    UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};

use self::arguments::ExecutionMode;
use self::caller::Caller;
use self::lists::ListChanges;
pub use self::lists::ListedTools;
pub use self::place::OpenScope;
use self::place::Place;
pub use self::serving::{CountSessions, EndpointInfo, HttpEndpoint};
use crate::executor::{Executor, HostPool, InternalCommands};
use crate::registry::{Registry, ToolSnapshot};

/// The tools that every server has, with or without a shell, whose calls wait or not.
pub fn built_in_tools(no_shell: bool, always_sync: bool) -> Vec<Tool> {
    let mut tools = built_in::tools(always_sync);
    tools.retain(|tool| !(no_shell && tool.name == "sandboxed_shell"));
    tools
}

/// What every call needs.
pub struct ServiceState {
    /// Runs commands.
    pub executor: Executor,
    /// The sandbox they run in.
    pub hosts: Arc<HostPool>,
    /// Variables every command starts with.
    pub environment: Vec<(OsString, OsString)>,
    /// The shell of `sandboxed_shell`.
    pub shell: PathBuf,
    /// Deadline of a command unless the call says otherwise.
    pub default_deadline: Duration,
    /// Whether the operator switched the sandbox off.
    pub sandbox_is_off: bool,
    /// When the server started.
    pub started: SystemTime,
    /// Answers the server's own internal.
    pub internal: InternalCommands,
    /// What the operator should know, such as a log that cannot be written.
    pub warnings: Vec<String>,
    /// The declared tools.
    pub registry: Arc<Registry>,
    /// Whether every call waits for its command.
    pub always_sync: bool,
    /// Whether there is no `sandboxed_shell`.
    pub no_shell: bool,
    /// How it is reached.
    pub serving: EndpointInfo,
    /// The built-in tools, made once: every call looks its tool up.
    pub built_in: Vec<Tool>,
    /// The declared ones, likewise.
    pub listed: ListedTools,
}

impl ServiceState {
    fn declared(&self, tools: &Arc<ToolSnapshot>) -> Arc<[Tool]> {
        self.listed.of(tools, self.always_sync)
    }

    /// How a call relates to its command: the operator decides before the caller, who decides before the
    /// tool.
    fn mode(&self, asked: Option<ExecutionMode>, usual: ExecutionMode) -> ExecutionMode {
        match self.always_sync {
            true => ExecutionMode::Sync,
            false => asked.unwrap_or(usual),
        }
    }
}

/// The handler of one client.
#[derive(Clone)]
pub struct AhmaService {
    /// What it lists from, and runs in where nothing else is said.
    state: Arc<ServiceState>,
    /// Where its calls run.
    place: Place,
    /// Whether the client wants messages about ordinary events.
    wants_messages: Arc<AtomicBool>,
    /// Whether somebody sees to it that the client hears of changes of the list.
    list_changed_subscribed: Arc<AtomicBool>,
    /// The declared tools that the client has listed last, or could have seen first.
    listed: Arc<Mutex<Arc<ToolSnapshot>>>,
}

impl AhmaService {
    /// Serves from a scope that others use too.
    pub fn new(state: Arc<ServiceState>) -> Self {
        Self::at(state, Place::Shared)
    }

    /// Serves a session that gets a scope of its own.
    pub fn with_own_scope(
        shared: Arc<ServiceState>,
        life: &SessionHandle,
        open: &OpenScope,
    ) -> Self {
        Self::at(shared, Place::own(life, open))
    }

    /// Serves a request that may run nothing.
    pub fn nowhere(shared: Arc<ServiceState>) -> Self {
        Self::at(shared, Place::Nowhere)
    }

    fn at(state: Arc<ServiceState>, place: Place) -> Self {
        AhmaService {
            place,
            listed: Arc::new(Mutex::new(state.registry.current())),
            wants_messages: Arc::new(AtomicBool::new(true)),
            list_changed_subscribed: Arc::default(),
            state,
        }
    }

    /// Where a task may be. Sessions have none: tasks are of the newer lifecycle.
    fn tasks_of(&self, id: &str) -> Result<&ServiceState, ErrorData> {
        match self.place {
            Place::Shared => Ok(&self.state),
            Place::Own(_) | Place::Nowhere => Err(tasks::unknown(id)),
        }
    }

    fn listed(&self) -> MutexGuard<'_, Arc<ToolSnapshot>> {
        // A pointer is whole after any panic.
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn list_changes(&self) -> ListChanges {
        let seen = Arc::clone(&self.listed());
        ListChanges::since(self.state.declared(&seen), &self.state)
    }

    fn instructions(&self) -> String {
        let scope = match self.place {
            Place::Shared => self.state.hosts.policy().scope.display().to_string(),
            Place::Own(_) | Place::Nowhere => "the client's first root".to_owned(),
        };
        let confinement = if self.state.sandbox_is_off {
            "The sandbox is switched off by the operator.".to_owned()
        } else {
            format!(
                "Commands are confined by the kernel: they can write below {scope} and to their temporary directory."
            )
        };
        if self.state.always_sync {
            return format!(
                "{confinement} A call that runs a command answers with its result. `read_output` reads output that \
                 was too long to show."
            );
        }
        format!(
            "{confinement} A call that runs a command answers at once with an operation id, and the command goes on in \
             the background; `await` waits for its result, `status` lists operations, `cancel` stops one, and \
             `read_output` reads output that was too long to show. With `execution_mode` `sync` a call answers \
             with the result itself."
        )
    }
}

/// Methods that are answered when their parameters are right.
const KNOWN_METHODS: [&str; 15] = [
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
    "tools/call",
    "tools/list",
];

/// Those among them that the newer lifecycle has not.
const OLDER_METHODS: [&str; 2] = ["initialize", "logging/setLevel"];

/// What is not offered is not answered, not even with nothing.
fn not_offered<T>(method: &'static str) -> Result<T, ErrorData> {
    Err(no_method(method))
}

fn no_method(name: &str) -> ErrorData {
    let why = format!("there is no method `{}`", calls::cut(name));
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None)
}

/// Tasks are offered to clients of the newer lifecycle; the SDK looks at capabilities only.
fn offered_to(context: &RequestContext<RoleServer>, method: &'static str) -> Result<(), ErrorData> {
    match caller::is_stateless(context) {
        true => Ok(()),
        false => not_offered(method),
    }
}

impl ServerHandler for AhmaService {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_prompts()
            .enable_completions()
            .enable_tasks()
            .build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("ahma_mcp", env!("CARGO_PKG_VERSION"));
        info.with_instructions(self.instructions())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // A client that says it twice is told once of each change.
        if self.list_changed_subscribed.swap(true, Ordering::Relaxed) {
            return;
        }
        self.place.ask(&context.peer);
        let mut list = self.list_changes();
        let session = context.extensions.get::<SessionHandle>().cloned();
        tokio::spawn(async move {
            // With its session: a change that would show that nobody listens may never come.
            let over = caller::over(session.as_ref());
            tokio::pin!(over);
            loop {
                let goes_on = tokio::select! {
                    goes_on = list.next() => goes_on,
                    () = &mut over => false,
                };
                if !goes_on || context.peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }

    /// Messages exist in the older lifecycle only, tasks in the newer one.
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
        if caller::is_stateless(&context) {
            return not_offered("logging/setLevel");
        }
        let wants = matches!(request.level, LoggingLevel::Debug | LoggingLevel::Info);
        self.wants_messages.store(wants, Ordering::Relaxed);
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
        let mut list = self.list_changes();
        let wants_tools = subscription.accepted().tools_list_changed == Some(true);
        loop {
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                goes_on = list.next(), if wants_tools => {
                    let told = subscription.sink().notify_tool_list_changed().await;
                    if !goes_on || told.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    // There are no prompts and no resources; asking for one is a mistake with a name.

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let why = format!("there is no prompt `{}`", calls::cut(&request.name));
        Err(ErrorData::invalid_params(why, None))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let why = format!("there is no resource `{}`", calls::cut(&request.uri));
        let uri = serde_json::json!({ "uri": request.uri });
        Err(ErrorData::resource_not_found(why, Some(uri)))
    }

    /// What the SDK does not know, or cannot read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let name = request.method.as_str();
        let is_gone = caller::is_stateless(&context) && OLDER_METHODS.contains(&name);
        if is_gone || !KNOWN_METHODS.contains(&name) {
            return Err(no_method(name));
        }
        let why = format!("the parameters of {} are not what it takes", request.method);
        Err(ErrorData::invalid_params(why, None))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let built_in = self.state.built_in.iter().find(|tool| tool.name == name);
        built_in.cloned().or_else(|| {
            let tools = self.state.registry.current();
            Some(declared::tool(tools.tool(name)?, self.state.always_sync))
        })
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.state.registry.current();
        let declared = self.state.declared(&tools);
        *self.listed() = tools;
        self.state.registry.note_listed();
        let all = self.state.built_in.iter().chain(declared.iter());
        Ok(ListToolsResult::with_all_items(all.cloned().collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let caller = Caller::of(&context, &self.wants_messages);
        match self.place.state(&self.state, &context).await {
            Ok(state) => calls::call(&state, &request.name, arguments, &caller).await,
            Err(why) => Ok(respond::refused(why).into()),
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        offered_to(&context, "tasks/get")?;
        tasks::get(self.tasks_of(&request.task_id)?, &request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        offered_to(&context, "tasks/update")?;
        tasks::update(self.tasks_of(&request.task_id)?, &request.task_id)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        offered_to(&context, "tasks/cancel")?;
        tasks::cancel(self.tasks_of(&request.task_id)?, &request.task_id)
    }
}
