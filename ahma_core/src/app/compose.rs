//! The life of a server, from its settings to its last process. Every other file is one of its parts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::{allow_many_descriptors, give_memory_back, protect_this_process};

use super::args::{Args, Mode};
use super::http::{BoundHttp, Http};
use super::logging::Logging;
use super::scopes::Scopes;
use super::settings::Settings;
use super::signals::{ReloadSignal, StopSignals};
use super::startup_error::StartupError;
use super::warnings::warn_loudly;
use super::world::{Common, Tools, World};
use crate::service::{AhmaService, EndpointInfo};
use crate::stdio::{Client, StandardStreams};

/// How long answers that are on their way are waited for when every command has ended.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
const AT_ONCE: &str = "ended at once by a second signal";

/// Serves until the client on stdin and stdout goes, where there is one, or a signal comes.
pub(super) fn run(args: &Args) -> ExitCode {
    match live(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(startup_error) => startup_error.report(),
    }
}

fn live(args: &Args) -> Result<(), StartupError> {
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    // Before the settings, which count them.
    allow_many_descriptors();
    give_memory_back();
    let directory =
        std::env::current_dir().map_err(|error| StartupError::Usage(error.to_string()))?;
    let settings = Settings::resolve(args, &environment, &directory)
        .map_err(|error| StartupError::Usage(error.to_string()))?;
    let mut logging = Logging::start(&settings.log);
    tracing::debug!(?settings, "starting");

    protect_this_process()?;
    // One thread: what runs at the same time are commands, and handing a call from thread to thread takes
    // longer than anything it does. What takes long is done beside it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| StartupError::Other(format!("the runtime cannot be started: {error}")))?;
    let served = runtime.block_on(serve(settings, environment, &mut logging));
    // A thread may still wait for something slow; nobody waits for it. What still runs ends here, and is
    // recorded before the logs are closed.
    runtime.shutdown_background();
    if let Err(startup_error) = &served {
        tracing::error!("{startup_error}");
    }
    drop(logging);
    served
}

async fn serve(
    settings: Settings,
    environment: BTreeMap<OsString, OsString>,
    logging: &mut Logging,
) -> Result<(), StartupError> {
    let mut signals = StopSignals::listen()?;
    let reload_signal = ReloadSignal::listen()?;
    let audit = logging.audit_log(&settings.audit, &settings.log);
    let audit = audit.map_err(StartupError::Usage)?;

    let echo = logging.echo(&settings.log);
    // Before the sandbox starts: what commands must not write has to be there by then.
    let http = settings
        .http
        .as_ref()
        .map(|http| BoundHttp::take(http, &settings.scope, echo.clone()));
    let http = http.transpose()?;

    let common = Common::new(
        environment,
        &settings,
        audit,
        echo,
        logging.warnings.clone(),
    )?;
    let (common, settings) = (Arc::new(common), Arc::new(settings));
    let is_isolated = settings.http.iter().any(|http| http.scope_roots.is_some());
    let serving = EndpointInfo::new(settings.mode.name(), is_isolated);
    let world = World::establish(&settings, &common, Tools::OfTheScope, serving).await?;
    if settings.sandbox_is_off {
        warn_loudly("the sandbox is switched off; commands can do what you can do");
    }
    let asking = Arc::clone(&common);
    reload_signal.ask_for_reload(move || asking.reload_all());
    let state = Arc::clone(&world.state);
    let scopes = Scopes::new(
        Arc::clone(&state),
        Arc::clone(&common),
        Arc::clone(&settings),
    );

    // HTTP is there before anybody hears of the server.
    let http = http.map(|http| http.serve(&state, &common, &scopes));
    let http = http.transpose()?;
    let (mut client, _modes) = match settings.mode {
        Mode::Http | Mode::ListTools => (None, None),
        Mode::Stdio | Mode::Dual => {
            let (streams, modes) = StandardStreams::of_this_process()?;
            let client = Client::serve(AhmaService::new(Arc::clone(&state)), streams);
            (Some(client), Some(modes))
        }
    };
    tracing::info!(scope = %settings.scope.display(), mode = settings.mode.name(), "serving");
    let mut found = None;
    let announced = async {
        if let Some(http) = &http {
            found = Some(http.announce(&state).await?);
        }
        std::future::pending().await
    };
    let served = tokio::select! {
        ended = ended(client.as_mut()) => ended,
        () = signals.next() => Ok(()),
        failed = announced => failed,
    };

    tracing::info!("stopping");
    let stopping = async {
        // First of all it cannot be found any more.
        drop(found);
        if let Some(http) = &http {
            http.stop_taking();
        }
        tokio::join!(world.end_operations("the server stops"), scopes.end());
        tokio::join!(last_answers(client), last_http_answers(http));
        world.end_hosts().await;
        world.remove_private().await;
    };
    tokio::select! {
        () = stopping => served,
        () = signals.next() => Err(StartupError::Other(AT_ONCE.to_owned())),
    }
}

/// Waits until the client on stdio is gone; for ever when there is none.
async fn ended(client: Option<&mut Client>) -> Result<(), StartupError> {
    let Some(client) = client else {
        return std::future::pending().await;
    };
    client.ended().await.map_err(StartupError::Other)
}

async fn last_answers(client: Option<Client>) {
    if let Some(client) = client {
        client.finish(LAST_ANSWERS).await;
    }
}

async fn last_http_answers(http: Option<Http>) {
    if let Some(http) = http {
        http.finish(LAST_ANSWERS).await;
    }
}
