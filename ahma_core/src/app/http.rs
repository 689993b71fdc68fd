//! The HTTP side of a server: its port before anything else, its announcement when it can be found.

use std::io::{self, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ahma_http_bridge::{BridgeConfig, HandlerRequest, HttpServer, MessageTrace, Token, bind};
use serde_json::json;
use tokio::task::spawn_blocking;

use super::http_settings::{HttpSettings, TokenSetting};
use super::scopes::Scopes;
use super::startup_error::StartupError;
use super::state_file::{ServerState, StateFile, StatePlace};
use super::token_file;
use super::warnings::warn_loudly;
use super::world::Common;
use crate::operation::OperationState;
use crate::project;
use crate::service::{HttpEndpoint, ServiceState};

/// What is taken before the sandbox starts.
pub(super) struct BoundHttp {
    listener: TcpListener,
    token: Option<Token>,
    token_file: Option<PathBuf>,
    place: StatePlace,
    settings: HttpSettings,
    echo: Option<MessageTrace>,
}

impl BoundHttp {
    /// Takes a port, the token, and the place of the state file.
    pub(super) fn take(
        settings: &HttpSettings,
        scope: &Path,
        echo: Option<MessageTrace>,
    ) -> Result<Self, StartupError> {
        let (token, token_file) = match &settings.token {
            TokenSetting::Off => (None, None),
            TokenSetting::Given(token) => (Some(token.clone()), None),
            TokenSetting::File(file) => {
                let token = token_file::read_or_make(file).map_err(StartupError::Usage)?;
                (Some(token), Some(file.clone()))
            }
        };
        let listener = bind(settings.host, settings.port);
        let listener = listener.map_err(|error| StartupError::NoPlace(error.to_string()))?;
        let place = StatePlace::prepare(scope).map_err(|error| no_state_file(scope, &error))?;
        Ok(BoundHttp {
            listener,
            token,
            token_file,
            place,
            settings: settings.clone(),
            echo,
        })
    }

    /// Serves. It accepts when this returns.
    pub(super) fn serve(
        self,
        state: &Arc<ServiceState>,
        common: &Arc<Common>,
        scopes: &Arc<Scopes>,
    ) -> Result<Http, StartupError> {
        let (told, served) = (Arc::clone(common), Arc::clone(scopes));
        let workspaces = self.settings.workspaces.iter();
        let workspaces: Vec<String> = workspaces.map(|it| it.name.clone()).collect();
        let config = BridgeConfig {
            token: self.token.clone(),
            origins: self.settings.origins,
            limits: self.settings.limits,
            echo: self.echo,
            health: Arc::new(move || health(&told)),
            workspaces: workspaces.clone(),
            prepare: scopes.prepare(),
        };
        let handler = move |request: HandlerRequest<'_>| served.handler(request);
        let server = HttpServer::start(self.listener, config, handler)?;
        let _ = state.serving.http.set(HttpEndpoint {
            address: server.address(),
            sessions: Box::new(server.session_count()),
        });
        Ok(Http {
            server,
            token: self.token,
            token_file: self.token_file,
            place: self.place,
            workspaces,
            is_isolated: self.settings.scope_roots.is_some(),
        })
    }
}

/// A server that can be reached by whoever knows where.
pub(super) struct Http {
    server: HttpServer,
    token: Option<Token>,
    token_file: Option<PathBuf>,
    place: StatePlace,
    workspaces: Vec<String>,
    is_isolated: bool,
}

impl Http {
    /// Writes the state file, and tells the operator where the server is. It is found as long as what is returned is kept.
    pub(super) async fn announce(
        &self,
        state: &ServiceState,
    ) -> Result<DiscoveryGuard, StartupError> {
        let project = project::discover(&state.internal).await;
        let scope = state.hosts.policy().scope.clone();
        let (path, place) = (self.place.path(), self.place.clone());
        let (address, mode, started) = (self.server.address(), state.serving.mode, state.started);
        let token_file = self.token_file.clone();
        let written = spawn_blocking(move || {
            place.write(&ServerState {
                transport: mode,
                address,
                started,
                project: &project.name,
                token_file: token_file.as_deref(),
            })
        });
        let written = written.await.map_err(io::Error::other)?;
        let found_by = written.map_err(|error| no_state_file(&scope, &error))?;
        let url = format!("http://{address}/mcp");
        tracing::info!(url, "serving over HTTP");
        let mut text = announcement(&url, self.token.as_ref(), &scope);
        if self.is_isolated {
            text += "  each session       has a scope of its own: the first root of its client\n";
        }
        for name in &self.workspaces {
            let url = with_key(&format!("{url}/w/{name}"), self.token.as_ref());
            text += &format!("  workspace          {url}\n");
        }
        let path = path.display();
        text += &match &found_by {
            Some(_) => format!("  found by           {path}\n"),
            None => format!("  not found by       {path}, which another server or program holds\n"),
        };
        let _ = io::stderr().write_all(text.as_bytes());
        if self.token.is_none() {
            warn_loudly(
                "the token is switched off; every program on this machine can call, confined commands too",
            );
        }
        Ok(DiscoveryGuard(found_by))
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
pub(super) struct DiscoveryGuard(
    #[expect(dead_code, reason = "the file goes with it")] Option<StateFile>,
);

fn no_state_file(scope: &Path, error: &io::Error) -> StartupError {
    StartupError::NoPlace(format!(
        "the state file below {} cannot be written: {error}\n\
         hint: make that directory writable, and see that it is no link",
        scope.join(".ahma").display()
    ))
}

/// What the operator copies.
fn announcement(url: &str, token: Option<&Token>, scope: &Path) -> String {
    let with_key = with_key(url, token);
    let entry = json!({ "mcpServers": { "Ahama": { "type": "http", "url": with_key } } });
    format!(
        "ahma_mcp serves {url}\n  commands stay in   {}\n  URL with its key   {with_key}\n  mcp.json entry     {entry}\n",
        scope.display(),
    )
}

fn with_key(url: &str, token: Option<&Token>) -> String {
    match token {
        Some(token) => format!("{url}?key={}", token.reveal()),
        None => url.to_owned(),
    }
}

fn health(common: &Common) -> serde_json::Map<String, serde_json::Value> {
    let uptime = SystemTime::now().duration_since(common.started);
    let told = json!({
        "name": "ahma_mcp",
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_seconds": uptime.map_or(0, |uptime| uptime.as_secs()),
        "operations": {
            "running": common.count(OperationState::Running),
            "queued": common.count(OperationState::Queued),
        },
    });
    match told {
        serde_json::Value::Object(told) => told,
        _ => serde_json::Map::new(),
    }
}
