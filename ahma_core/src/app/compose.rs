//! The life of a server, from its settings to its last process. Every other file is one of its parts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ahma_http_bridge::{Direction, Echo};
use ahma_sandbox::{allow_many_descriptors, protect_this_process};
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::args::{Args, Mode};
use super::confinement::Confinement;
use super::failure::Failure;
use super::http::{Http, Prepared};
use super::logging::Logging;
use super::reload::{self, Reload};
use super::settings::Settings;
use super::signals::{HangUps, StopSignals};
use super::warnings::warn_loudly;
use crate::config::AvailabilityCheck;
use crate::executor::{AvailabilityJudge, Executor, QuietCommands, ShowTrouble};
use crate::operation::OperationStore;
use crate::output::{SpoolBudget, SpoolPlace};
use crate::registry::{Registry, ToolSnapshot};
use crate::service::{AhmaService, ListedTools, ServiceState, Serving, built_in_tools};
use crate::stdio::{LineTransport, StandardStreams};

/// How long answers that are on their way are waited for when every command has ended.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// How long sandbox hosts, which then have nothing to do, are waited for.
const LAST_PROCESSES: Duration = Duration::from_millis(500);
const AT_ONCE: &str = "ended at once by a second signal";

/// Serves until the client on stdin and stdout goes, where there is one, or a signal comes.
pub(super) fn run(args: &Args) -> ExitCode {
    match live(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn live(args: &Args) -> Result<(), Failure> {
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    // Before the settings, which count them.
    allow_many_descriptors();
    let directory = std::env::current_dir().map_err(|error| Failure::Usage(error.to_string()))?;
    let settings = Settings::resolve(args, &environment, &directory)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let mut logging = Logging::start(&settings.log);
    tracing::debug!(?settings, "starting");

    protect_this_process()?;
    // One thread: what runs at the same time are commands, and handing a call from thread to thread takes
    // longer than anything it does. What takes long is done beside it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Other(format!("the runtime cannot be started: {error}")))?;
    let served = runtime.block_on(serve(settings, environment, &mut logging));
    // A thread may still wait for something slow; nobody waits for it. What still runs ends here, and is
    // recorded before the logs are closed.
    runtime.shutdown_background();
    if let Err(failure) = &served {
        tracing::error!("{failure}");
    }
    drop(logging);
    served
}

async fn serve(
    settings: Settings,
    environment: BTreeMap<OsString, OsString>,
    logging: &mut Logging,
) -> Result<(), Failure> {
    let started = SystemTime::now();
    let mut signals = StopSignals::listen()?;
    let hang_ups = HangUps::listen()?;
    let audit = logging.audit_log(&settings.audit, &settings.log);
    let audit = audit.map_err(Failure::Usage)?;

    let echo = logging.echo(&settings.log);
    // Before the sandbox starts: what commands must not write has to be there by then.
    let http = settings
        .http
        .as_ref()
        .map(|http| Prepared::take(http, &settings.scope, echo.clone()));
    let http = http.transpose()?;

    let reload = Reload::of(&settings);
    // Tool files are read while the first sandbox host starts.
    let reading = reload.read_first();
    let confinement = Confinement::establish(&settings, &environment).await?;
    let tools = reading
        .await
        .map_err(|error| Failure::Other(error.to_string()))?;
    let tools = tools.map_err(Failure::Usage)?;
    let Confinement { hosts, .. } = &confinement;
    if settings.sandbox_is_off {
        warn_loudly("the sandbox is switched off; commands can do what you can do");
    }

    let questions = QuietCommands::new(Arc::clone(hosts), confinement.environment.clone());
    let judge = AvailabilityJudge::new(questions.clone());
    let registry = Arc::new(Registry::new(known_at_once(tools, &judge).await));
    let are_safe = reload::are_safe(&settings.tools, hosts.policy(), &confinement.report);
    hang_ups.ask_for_reload(Arc::clone(&reload.asked));
    let reloading = tokio::spawn(reload.keep_current(Arc::clone(&registry), are_safe, judge));

    let spools = SpoolPlace::new(
        confinement.session.path(),
        Arc::new(SpoolBudget::new(settings.spool_bytes)),
    );
    let store = Arc::new(OperationStore::new(settings.retention, spools));
    let mut executor = Executor::new(Arc::clone(hosts), store, settings.at_once);
    if let Some(audit) = audit {
        executor = executor.with_audit_log(audit);
    }
    if let Some(echo) = echo {
        executor = executor.with_trouble_shown(shown_by(echo));
    }
    let state = Arc::new(ServiceState {
        executor,
        hosts: Arc::clone(hosts),
        environment: confinement.environment.clone(),
        shell: confinement.shell.clone(),
        default_deadline: settings.deadline,
        sandbox_is_off: settings.sandbox_is_off,
        started,
        questions,
        warnings: logging.warnings.clone(),
        registry,
        always_sync: settings.always_sync,
        no_shell: settings.no_shell,
        serving: Serving::new(settings.mode.name()),
        built_in: built_in_tools(settings.no_shell, settings.always_sync),
        listed: ListedTools::default(),
    });

    // HTTP is there before anybody hears of the server.
    let http = http.map(|http| http.serve(&state)).transpose()?;
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
        reloading.abort();
        // First of all it cannot be found any more.
        drop(found);
        if let Some(http) = &http {
            http.stop_taking();
        }
        state.executor.shut_down("the server stops").await;
        tokio::join!(last_answers(client), last_http_answers(http));
        // They end with the server anyway; whoever waits for the server finds them gone.
        let _ = tokio::time::timeout(LAST_PROCESSES, state.hosts.end()).await;
    };
    tokio::select! {
        () = stopping => served,
        () = signals.next() => Err(Failure::Other(AT_ONCE.to_owned())),
    }
}

/// Waits until the client on stdio is gone; for ever when there is none.
async fn ended(client: Option<&mut Client>) -> Result<(), Failure> {
    let Some(client) = client else {
        return std::future::pending().await;
    };
    tokio::select! {
        ended = &mut client.served => ended.unwrap_or(Ok(())),
        () = client.gone.cancelled() => Ok(()),
    }
}

async fn last_answers(client: Option<Client>) {
    if let Some(client) = client {
        client.finish().await;
    }
}

async fn last_http_answers(http: Option<Http>) {
    if let Some(http) = http {
        http.finish(LAST_ANSWERS).await;
    }
}

fn shown_by(echo: Echo) -> ShowTrouble {
    Arc::new(move |trouble| echo.show(Direction::Error, trouble.as_bytes()))
}

/// The conversation with the client.
struct Client {
    served: JoinHandle<Result<(), Failure>>,
    /// The client has closed its end.
    gone: CancellationToken,
    stop: CancellationToken,
}

impl Client {
    fn serve(service: AhmaService, streams: StandardStreams) -> Self {
        let (gone, stop) = (CancellationToken::new(), CancellationToken::new());
        let transport = LineTransport::new(streams, gone.clone());
        let stopped = stop.clone();
        let served = tokio::spawn(async move {
            match service.serve_with_ct(transport, stopped).await {
                Ok(running) => {
                    let _ = running.waiting().await;
                    Ok(())
                }
                // Clients look whether a server starts, and go.
                Err(
                    ServerInitializeError::ConnectionClosed(_)
                    | ServerInitializeError::TransportError { .. }
                    | ServerInitializeError::Cancelled,
                ) => Ok(()),
                Err(error) => Err(Failure::Other(format!(
                    "the client did not begin correctly: {error}"
                ))),
            }
        });
        Client { served, gone, stop }
    }

    /// Lets the last answers pass: those of commands that have just been ended.
    async fn finish(self) {
        self.stop.cancel();
        // What has told its end already must not be asked again.
        if !self.served.is_finished() {
            let _ = tokio::time::timeout(LAST_ANSWERS, self.served).await;
        }
    }
}

/// The tools with what can be known of them before anyone asks, because no command has to run for it.
async fn known_at_once(tools: ToolSnapshot, judge: &AvailabilityJudge) -> ToolSnapshot {
    let mut checks = tools.checks();
    checks.retain(|check| matches!(check, AvailabilityCheck::OnPath(_)));
    tools.judged(judge.judge(checks).await.into_iter().collect())
}
