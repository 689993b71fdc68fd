//! The HTTP side of a server: its port before anything else, its announcement when it can be found.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ahma_contract::{ServerAddress, ServerState, Token};
use ahma_http_bridge::{
    Backend, BindError, Bound, BridgeConfig, HandlerRequest, Hints, HttpServer, SocketError,
    WorkspaceRoute, bind, bind_socket,
};
use ahma_transport::MessageTrace;
use futures_util::future::BoxFuture;
use rmcp::model::{Prompt, Resource, Tool};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;

use super::args::Mode;
use super::http_settings::{HttpSettings, TokenSetting};
use super::key_search;
use super::startup_error::StartupError;
use super::state_file::{StateFile, StatePlace};
use super::token_file;
use super::warnings::warn_loudly;
use crate::audit::timestamp;
use crate::operation::OperationState;
use crate::scope::{Scope, ScopeManager, SharedResources};
use crate::service::{ContentKind, HttpEndpoint, merged};

/// What callers are told to do, in the flags of this program.
const HINTS: Hints = Hints {
    raise_rate: "the operator can raise the limit with --rate-limit",
    allow_origin: "the operator can allow that with --allow-origin",
    raise_sessions: "ask the operator to raise --max-sessions",
    declare_workspace: "the operator declares them with --workspace NAME=PATH",
};

/// What is taken before the sandbox starts.
pub(super) struct BoundHttp {
    listener: Bound,
    token: Option<Token>,
    token_file: Option<PathBuf>,
    workspaces: Vec<WorkspaceRoute>,
    place: StatePlace,
    settings: HttpSettings,
    trace: Option<MessageTrace>,
}

impl BoundHttp {
    /// Takes a port, the token, and the place of the state file.
    pub(super) fn take(
        settings: &HttpSettings,
        scope: &Path,
        trace: Option<MessageTrace>,
    ) -> Result<Self, StartupError> {
        let token = read_token(&settings.token)?;
        let token_file = match &settings.token {
            TokenSetting::File(file) => Some(file.clone()),
            TokenSetting::Given(_) | TokenSetting::Off => None,
        };
        let named = settings.workspaces.iter().zip(&settings.workspace_tokens);
        let named = named.map(|((name, _), token)| {
            let (name, token) = (name.clone(), read_token(token)?);
            Ok(WorkspaceRoute { name, token })
        });
        let workspaces = named.collect::<Result<_, StartupError>>()?;
        let listener = match &settings.socket {
            Some(path) => bind_socket(path),
            None => bind(settings.host, settings.port),
        };
        let listener = listener.map_err(|error| no_port(&error))?;
        let place = StatePlace::prepare(scope).map_err(|error| no_state_file(scope, &error))?;
        Ok(BoundHttp {
            listener,
            token,
            token_file,
            workspaces,
            place,
            settings: settings.clone(),
            trace,
        })
    }

    /// Serves. It accepts when this returns.
    pub(super) fn serve(
        self,
        scope: &Arc<Scope>,
        shared: &Arc<SharedResources>,
        manager: &Arc<ScopeManager>,
    ) -> Result<Http, StartupError> {
        let directories = self.settings.workspaces.iter();
        let directories = directories
            .map(|(_, directory)| directory.clone())
            .collect();
        let config = BridgeConfig {
            token: self.token.clone(),
            origins: self.settings.origins,
            limits: self.settings.limits,
            trace: self.trace,
            workspaces: self.workspaces.clone(),
            backend: Arc::new(Engine {
                scope: Arc::clone(scope),
                shared: Arc::clone(shared),
                manager: Arc::clone(manager),
            }),
            hints: HINTS,
            ..BridgeConfig::default()
        };
        let served = Arc::clone(manager);
        let handler =
            move |request: HandlerRequest<'_>| served.service(request.workspace, request.session);
        let server = HttpServer::start(self.listener, config, handler)?;
        let _ = shared.endpoint().http.set(HttpEndpoint {
            address: server.address().clone(),
            sessions: Box::new(server.session_count()),
        });
        Ok(Http {
            server,
            token: self.token,
            token_file: self.token_file,
            place: self.place,
            workspaces: self.workspaces,
            directories,
            is_isolated: self.settings.scope_roots.is_some(),
        })
    }
}

/// What callers have to show.
fn read_token(setting: &TokenSetting) -> Result<Option<Token>, StartupError> {
    Ok(match setting {
        TokenSetting::Off => None,
        TokenSetting::Given(token) => Some(token.clone()),
        TokenSetting::File(file) => {
            Some(token_file::read_or_make(file).map_err(StartupError::Usage)?)
        }
    })
}

/// What the bridge asks the engine.
struct Engine {
    scope: Arc<Scope>,
    shared: Arc<SharedResources>,
    manager: Arc<ScopeManager>,
}

impl Engine {
    /// What is offered beside tools, as far as the SDK knows its fields.
    fn content<T: DeserializeOwned>(&self, kind: ContentKind) -> Vec<T> {
        let others = match self.shared.foreign() {
            Some(foreign) => Arc::clone(&foreign.content().borrow()),
            None => Arc::default(),
        };
        let items = merged(kind, &self.scope.content_lists(), &others);
        items
            .into_iter()
            .filter_map(|it| serde_json::from_value(it).ok())
            .collect()
    }
}

impl Backend for Engine {
    fn health(&self) -> Map<String, Value> {
        let uptime = SystemTime::now().duration_since(self.shared.started());
        let told = json!({
            "name": "ahma_mcp",
            "version": env!("CARGO_PKG_VERSION"),
            "uptime_seconds": uptime.map_or(0, |uptime| uptime.as_secs()),
            "operations": {
                "running": self.shared.count(OperationState::Running),
                "queued": self.shared.count(OperationState::Queued),
            },
        });
        match told {
            Value::Object(told) => told,
            _ => Map::new(),
        }
    }

    fn tools(&self) -> Vec<Tool> {
        self.scope.tools()
    }

    fn resources(&self) -> Vec<Resource> {
        self.content(ContentKind::Resources)
    }

    fn prompts(&self) -> Vec<Prompt> {
        self.content(ContentKind::Prompts)
    }

    fn activate_workspace(&self, name: &str) -> BoxFuture<'static, Result<(), String>> {
        let activating = self.manager.activate(name);
        Box::pin(async move { activating.await.map_err(|error| error.to_string()) })
    }
}

/// A server that can be reached by whoever knows where.
pub(super) struct Http {
    server: HttpServer,
    token: Option<Token>,
    token_file: Option<PathBuf>,
    place: StatePlace,
    workspaces: Vec<WorkspaceRoute>,
    /// Where the workspaces are.
    directories: Vec<PathBuf>,
    is_isolated: bool,
}

impl Http {
    /// Writes the state file. The server can be found as long as what is returned is kept.
    pub(super) async fn write_state(
        &self,
        scope: &Scope,
        shared: &SharedResources,
    ) -> Result<DiscoveryGuard, StartupError> {
        let root = scope.directory().to_owned();
        let project = scope.project_name().await;
        let (address, mode) = (self.server.address(), shared.endpoint().mode());
        let mut state = ServerState::new(mode, address, &project, &root);
        state.started_at = timestamp(shared.started());
        state.token_file.clone_from(&self.token_file);
        let place = self.place.clone();
        let written = spawn_blocking(move || place.write(&state)).await;
        let written = written.map_err(io::Error::other)?;
        let file = written.map_err(|error| no_state_file(&root, &error))?;
        Ok(DiscoveryGuard(file))
    }

    /// Tells the operator where the server is.
    pub(super) fn announce(&self, scope: &Scope, found_by: &DiscoveryGuard, mode: Mode) {
        let (path, address) = (self.place.path(), self.server.address());
        let url = address.url("/mcp");
        tracing::info!(%address, "serving over HTTP");
        // What an IDE starts writes to a log, which is not the place for a key.
        let hides_key = mode == Mode::Dual && !io::stderr().is_terminal();
        let token = self.token.as_ref().filter(|_| !hides_key);
        let mut text = announcement(address, &url, token, scope.directory());
        if let (true, Some(file)) = (hides_key, &self.token_file) {
            text += &format!("  its key            is in {}\n", file.display());
        }
        if self.is_isolated {
            text += "  each session       has a scope of its own: the first root of its client\n";
        }
        for WorkspaceRoute { name, token } in &self.workspaces {
            let token = token.as_ref().filter(|_| !hides_key);
            let url = with_key(&format!("{url}/w/{name}"), token);
            text += &format!("  workspace          {url}\n");
        }
        let path = path.display();
        text += &match &found_by.0 {
            Some(_) => format!("  state file         {path}\n"),
            None => format!("  no state file      another server or program holds {path}\n"),
        };
        text += "  what it offers     is printed by ahma_list_tools, run in that directory\n";
        text += match mode {
            Mode::Dual => "  it ends            when the client on stdin does\n",
            _ => "  to stop it         press Ctrl-C\n",
        };
        let _ = io::stderr().write_all(text.as_bytes());
        if self.token.is_none() {
            warn_loudly(
                "the token is switched off; every program on this machine can call this server, even confined commands",
            );
        }
    }

    /// Warns of keys that stand where every command can read them.
    pub(super) async fn warn_of_keys(&self, scope: &Scope) {
        let of_workspaces = self.workspaces.iter().map(|it| &it.token);
        let tokens = [&self.token].into_iter().chain(of_workspaces);
        let tokens: Vec<Token> = tokens.flatten().cloned().collect();
        let mut scopes = self.directories.clone();
        scopes.push(scope.directory().to_owned());
        let found = spawn_blocking(move || key_search::find(&scopes, &tokens)).await;
        for file in found.unwrap_or_default() {
            scope.warnings().tell(&format!(
                "a key of this server stands in {}, where every command can read it and call this server; move the entry \
                 into your user's settings, and replace the key by removing its file while the server is down",
                file.display()
            ));
        }
    }

    /// Takes nothing new. What is in work goes on.
    pub(super) fn stop_taking(&self) {
        self.server.stop_taking();
    }

    /// Lets the last answers pass.
    pub(super) async fn finish(self, timeout: Duration) {
        self.server.finish(timeout).await;
    }
}

/// A server that can be found, or that has left this to another.
pub(super) struct DiscoveryGuard(Option<StateFile>);

fn no_port(error: &BindError) -> StartupError {
    let hint = match error {
        BindError::Port { error, .. } => match error.kind() {
            io::ErrorKind::AddrInUse => {
                "another program uses it; leave out --http-port to take the next free one"
            }
            io::ErrorKind::PermissionDenied => "choose a port above 1023",
            _ => "choose another port or host",
        },
        BindError::NoneFree { .. } => {
            "stop a server that is not needed any more, or choose a port with --http-port"
        }
        BindError::NotLoopback(_) => "use 127.0.0.1 or ::1",
        BindError::Socket { error, .. } => match error {
            SocketError::Directory(_) => {
                "choose a directory that only you can write, such as your runtime directory"
            }
            SocketError::Taken | SocketError::Occupied => "choose another path",
            SocketError::System(_) => "choose a path whose directory you can write",
        },
    };
    StartupError::NoPlace(format!("{error}\nhint: {hint}"))
}

fn no_state_file(scope: &Path, error: &io::Error) -> StartupError {
    StartupError::NoPlace(format!(
        "the state file below {} cannot be written: {error}\n\
         hint: make that directory writable, and make sure that it is not a link",
        scope.join(".ahma").display()
    ))
}

/// What the operator copies.
fn announcement(address: &ServerAddress, url: &str, token: Option<&Token>, scope: &Path) -> String {
    let (with_key, scope) = (with_key(url, token), scope.display());
    if let Some(socket) = address.socket() {
        let socket = socket.display();
        return format!(
            "ahma_mcp serves {url} at the socket {socket}\n  commands stay in   {scope}\n  URL with its key   {with_key}\n  to look at it      curl --unix-socket '{socket}' {}\n",
            address.url("/health"),
        );
    }
    let entry = json!({ "mcpServers": { "Ahama": { "type": "http", "url": with_key } } });
    format!(
        "ahma_mcp serves {url}\n  commands stay in   {scope}\n  URL with its key   {with_key}\n  mcp.json entry     {entry}\n  put the entry      into your user's settings; in a file of the project every command could read the key\n",
    )
}

fn with_key(url: &str, token: Option<&Token>) -> String {
    match token {
        Some(token) => format!("{url}?key={}", token.reveal()),
        None => url.to_owned(),
    }
}
