//! The life of a server, from its settings to its last process. Every other file is one of its parts.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ahma_contract::UserDirectories;
use ahma_sandbox::{
    ScopeError, allow_many_descriptors, give_code_of_start_back, give_memory_back,
    keep_own_files_private, protect_this_process,
};
use ahma_transport::{Direction, MessageTrace, SessionHandle};
use tokio::sync::Notify;

use super::args::{Args, Mode};
use super::greeting::greet;
use super::http::{BoundHttp, Http};
use super::log_settings::AuditSettings;
use super::logging::Logging;
use super::offline::settings_anywhere;
use super::settings::Settings;
use super::settings_error::SettingsError;
use super::signals::{ReloadSignal, StopSignals};
use super::startup_error::StartupError;
use super::warnings::warn_loudly;
use crate::executor::ReportTrouble;
use crate::scope::{
    ManagerConfig, RootRules, Scope, ScopeManager, SharedConfig, SharedResources, in_reach,
    real_as_far_as_it_exists, tool_places,
};
use crate::service::EndpointInfo;
use crate::stdio::{StdioConnection, Streams};

/// How long operations have to end when the server stops: as long as it takes to kill what does not end by itself.
const STOP_GRACE: Duration = Duration::from_secs(30);
/// How long answers that are on their way are waited for when every command has ended.
const ANSWERS_TIMEOUT: Duration = Duration::from_millis(500);
const STOPPING: &str = "the server is stopping";
const AT_ONCE: &str = "ended at once by a second signal";

/// Serves until the client on stdin and stdout goes, where there is one, or a signal comes.
pub(super) fn run(args: &Args) -> ExitCode {
    match live(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

fn live(args: &Args) -> Result<(), StartupError> {
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let user = UserDirectories::of_this_user();
    // Before the settings, which count them.
    allow_many_descriptors();
    give_memory_back();
    keep_own_files_private();
    // For a server that is started in no project; removed at the end.
    let (settings, _nowhere) = settings_anywhere(args, &environment, &user)?;
    let mut logging = Logging::start(&settings.log);
    tracing::debug!(?settings, "starting");
    let served = with_runtime(settings, &environment, &user, &mut logging);
    if let Err(error) = &served {
        tracing::error!("{error}");
    }
    drop(logging);
    served
}

fn with_runtime(
    settings: Settings,
    environment: &BTreeMap<OsString, OsString>,
    user: &UserDirectories,
    logging: &mut Logging,
) -> Result<(), StartupError> {
    protect_this_process()?;
    let shared = shared(&settings, environment.clone(), user, logging)?;
    // One thread: what runs at the same time are commands, and handing a call from thread to thread takes
    // longer than anything it does. What blocks is done beside it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| StartupError::Other(format!("the runtime cannot be started: {error}")))?;
    let trace = logging.trace(&settings.log);
    let isolation = isolation(&settings, environment, user, &shared);
    let operator = (environment, user);
    let served = runtime.block_on(serve(settings, shared, isolation, trace, operator));
    // A thread may still wait for something slow; nobody waits for it. What still runs ends here, and is
    // recorded before the logs are closed.
    runtime.shutdown_background();
    served
}

/// What all scopes share.
fn shared(
    settings: &Settings,
    environment: BTreeMap<OsString, OsString>,
    user: &UserDirectories,
    logging: &mut Logging,
) -> Result<Arc<SharedResources>, StartupError> {
    let audit = logging.audit_log(&settings.audit, &settings.log);
    let is_isolated = settings.http.iter().any(|http| http.scope_roots.is_some());
    let trace = logging.trace(&settings.log);
    let report = |trace: MessageTrace| -> ReportTrouble {
        Arc::new(move |trouble: &str| trace.show(Direction::Error, trouble.as_bytes()))
    };
    let mut config = SharedConfig::new(environment, &[]);
    config.reachable = settings.reachable();
    config.max_operations = settings.max_operations;
    config.spool_bytes = settings.spool_bytes;
    config.audit = audit.map_err(StartupError::Usage)?;
    let state = user.state.clone().map(|state| state.join("guard"));
    config.guard_state = state.filter(|state| !in_reach(state, &settings.writable()));
    let secret = [&user.state, &user.cache].into_iter().flatten();
    config.secret = secret.map(|it| real_as_far_as_it_exists(it)).collect();
    let homes = user.cache.clone().map(|it| it.join("homes"));
    config.homes = homes.filter(|it| !in_reach(it, &settings.writable()));
    let cache = user.cache.clone().map(|it| it.join("availability.json"));
    config.availability_cache = cache.filter(|it| !in_reach(it, &settings.writable()));
    config.say_warning = logging.say_on_stderr(&settings.log);
    config.report_trouble = trace.map(report);
    config.warnings.clone_from(&logging.warnings);
    config.settings.clone_from(&settings.origins);
    config.endpoint = EndpointInfo::new(settings.mode.name(), is_isolated);
    Ok(SharedResources::new(config)?)
}

/// Why a server ends that was started in no project, for a client that cannot name one.
fn no_scope(by_roots: Option<ScopeError>) -> StartupError {
    let why = by_roots.map(SettingsError::Scope);
    let why = why.map_or_else(String::new, |why| why.to_string());
    StartupError::Usage(format!("{why}; the client names no project either"))
}

/// What may be the scope of a session, when sessions have their own, or of a server that was started in no project.
fn isolation(
    settings: &Settings,
    environment: &BTreeMap<OsString, OsString>,
    user: &UserDirectories,
    shared: &SharedResources,
) -> Option<RootRules> {
    let roots = match &settings.scope_by_roots {
        Some(_) => vec![PathBuf::from("/")],
        None => settings.http.as_ref()?.scope_roots.clone()?,
    };
    let audit = match &settings.audit {
        AuditSettings::File(file) => Some(file.clone()),
        AuditSettings::Daily | AuditSettings::Off => None,
    };
    // Whichever this server uses: others of the user have theirs there too.
    let socket = settings.http.as_ref().and_then(|http| http.socket.clone());
    let secret = [user.state.clone(), user.cache.clone(), audit, socket];
    let secret = secret.into_iter().flatten();
    let home = environment.get(OsStr::new("HOME"));
    let scope = &settings.scope;
    Some(RootRules {
        roots,
        home: home.map(PathBuf::from),
        secret: secret
            .flat_map(|path| [real_as_far_as_it_exists(&path), path])
            .collect(),
        tools: tool_places(&scope.tool_files, &scope.siblings.declared),
        private_base: shared.private_base().to_owned(),
    })
}

async fn serve(
    settings: Settings,
    shared: Arc<SharedResources>,
    isolation: Option<RootRules>,
    trace: Option<MessageTrace>,
    (environment, user): (&BTreeMap<OsString, OsString>, &UserDirectories),
) -> Result<(), StartupError> {
    let mut signals = StopSignals::listen()?;
    let reload_signal = ReloadSignal::listen()?;
    // Before the sandbox starts: what commands must not write has to be there by then.
    let bound = settings
        .http
        .as_ref()
        .map(|http| BoundHttp::take(http, &settings.scope.directory, trace));
    let bound = bound.transpose()?;
    let directory = settings.scope.directory.clone();
    let writable = settings.writable();
    let behind = match settings.downstream {
        Some(file) => {
            file.prepare((&directory, writable), user, environment, &shared)
                .await?
        }
        None => None,
    };
    let behind = behind.map(|it| (it.servers, (it.private, it.reload)));
    // Their directory goes last.
    let (behind, more) = behind.unzip();
    let (_private, reload) = more.unzip();
    if let Some(behind) = &behind {
        shared.put_behind(Arc::clone(behind) as Arc<_>);
    }
    let by_roots = settings.scope_by_roots.clone();
    let unconfined = settings.scope.unconfined;
    // A disk may be slow, or a file of the user a pipe that nobody writes to.
    let scope = tokio::select! {
        prepared = Scope::prepare(settings.scope, &shared) => Arc::new(prepared?),
        () = signals.next() => return Ok(()),
    };
    // Not earlier: the client waits for the tools, and nobody for this.
    shared.sweep();
    let reloading = Arc::clone(&shared);
    let asked = Arc::new(Notify::new());
    let asking = Arc::clone(&asked);
    reload_signal.on_signal(move || {
        reloading.reload_all();
        asking.notify_one();
    });
    if let Some(behind) = &behind {
        behind.begin(scope.confined());
        if let Some(reload) = reload.flatten() {
            tokio::spawn(reload.keep_current(Arc::downgrade(behind), asked));
        }
    }
    let client_rules = isolation.clone().filter(|_| by_roots.is_some());
    let manager = ScopeManager::new(
        Arc::clone(&scope),
        Arc::clone(&shared),
        ManagerConfig {
            workspaces: settings.workspaces,
            idle: settings.http.as_ref().map(|http| http.limits.idle),
            isolation: isolation.filter(|_| by_roots.is_none()),
        },
    );
    let no_roots = Arc::new(Notify::new());
    let mut served = Served {
        http: None,
        stdio: None,
    };
    let starting = async {
        // Whoever finds the server over HTTP finds it confined, and before the client on stdio has its first answer.
        let found_by = match bound {
            Some(bound) => {
                scope.ready().await?;
                let http = bound.serve(&scope, &shared, &manager)?;
                let found_by = http.write_state(&scope, &shared).await?;
                http.announce(&scope, &found_by, settings.mode);
                http.warn_of_keys(&scope).await;
                served.http = Some(http);
                Some(found_by)
            }
            None => None,
        };
        if matches!(settings.mode, Mode::Stdio | Mode::Dual) {
            let (streams, modes) = Streams::of_this_process()?;
            let service = match client_rules {
                None => scope.service(),
                Some(rules) => {
                    let session = SessionHandle::new("stdio".into());
                    manager.service_by_roots(&session, rules, Arc::clone(&no_roots))
                }
            };
            served.stdio = Some((StdioConnection::serve(service, streams), modes));
        }
        // A client may list tools meanwhile; a command waits for the host, and none runs without one.
        scope.ready().await?;
        Ok::<_, StartupError>(found_by)
    };
    let started = tokio::select! {
        started = starting => Some(started),
        () = signals.next() => None,
    };
    let (outcome, found_by) = match started {
        None => (Ok(()), None),
        Some(Err(error)) => (Err(error), None),
        Some(Ok(found_by)) => {
            if unconfined {
                warn_loudly("the sandbox is switched off; commands can do what you can do");
            }
            if served.http.is_none() {
                greet(scope.directory());
            }
            // What follows uses little of it.
            tokio::task::spawn_blocking(give_code_of_start_back);
            tracing::info!(scope = %scope.directory().display(), mode = settings.mode.name(), "serving");
            let outcome = tokio::select! {
                ended = served.stdio_ended() => ended,
                () = no_roots.notified() => Err(no_scope(by_roots)),
                () = signals.next() => Ok(()),
            };
            (outcome, found_by)
        }
    };

    tracing::info!("stopping");
    let stopping = async {
        // First of all it cannot be found any more.
        drop(found_by);
        if let Some(http) = &served.http {
            http.stop_taking();
        }
        let answers = served.last_answers();
        manager.shutdown(STOPPING, STOP_GRACE, answers).await;
        if let Some(behind) = &behind {
            behind.shut_down().await;
        }
    };
    tokio::select! {
        () = stopping => outcome,
        () = signals.next() => Err(StartupError::Other(AT_ONCE.to_owned())),
    }
}

/// The transports that are served.
struct Served {
    http: Option<Http>,
    /// With what restores the modes of stdin and stdout.
    stdio: Option<(StdioConnection, crate::stdio::SavedModes)>,
}

impl Served {
    /// Waits until the client on stdio is gone; for ever when there is none.
    async fn stdio_ended(&mut self) -> Result<(), StartupError> {
        match &mut self.stdio {
            Some((client, _)) => client.ended().await.map_err(StartupError::Other),
            None => std::future::pending().await,
        }
    }

    /// Waits until the last answers are written.
    async fn last_answers(self) {
        let stdio = async {
            if let Some((client, _modes)) = self.stdio {
                client.finish(ANSWERS_TIMEOUT).await;
            }
        };
        let http = async {
            if let Some(http) = self.http {
                http.finish(ANSWERS_TIMEOUT).await;
            }
        };
        tokio::join!(stdio, http);
    }
}
