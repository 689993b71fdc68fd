//! `--mode stdio`: the life of a server, from its settings to its last operation.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use ahma_sandbox::{
    Layer, Sandbox, SandboxPolicy, SessionDirectory, StartError, allow_many_descriptors,
    command_environment, protect_this_process,
};
use rmcp::ServiceExt as _;
use rmcp::transport::stdio;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use super::args::Args;
use super::reload::{self, Reload};
use super::settings::Settings;
use super::sources::ToolSources;
use super::{EXIT_FAILURE, EXIT_NO_SANDBOX, EXIT_USAGE};
use super::{identity, toolchains};
use crate::config::{AvailabilityCheck, Narrowing};
use crate::executor::{AvailabilityJudge, Executor, HostKeeper, WarmShells};
use crate::operation::OperationStore;
use crate::output::{SpoolBudget, SpoolPlace};
use crate::registry::{Registry, ToolSnapshot};
use crate::service::{AhmaService, ServiceState};

/// This program, even when the file it was started from has been replaced or removed meanwhile.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Why the server ended other than by being told to.
enum Failure {
    Usage(String),
    NoSandbox(StartError),
    Other(String),
}

/// Serves one client on stdin and stdout until it goes or a signal comes.
pub(super) fn run(args: &Args) -> ExitCode {
    match start(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let (code, message) = match failure {
                Failure::Usage(message) => (EXIT_USAGE, message),
                Failure::NoSandbox(error) => {
                    (EXIT_NO_SANDBOX, format!("{error}\nhint: {}", error.hint()))
                }
                Failure::Other(message) => (EXIT_FAILURE, message),
            };
            let _ = writeln!(io::stderr(), "error: {message}");
            ExitCode::from(code)
        }
    }
}

fn start(args: &Args) -> Result<(), Failure> {
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let directory = std::env::current_dir().map_err(|error| Failure::Usage(error.to_string()))?;
    let mut settings = Settings::resolve(args, &environment, &directory)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    allow_many_descriptors();
    protect_this_process().map_err(|error| Failure::Other(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Other(format!("the runtime cannot be started: {error}")))?;
    let reload = Reload {
        sources: ToolSources::of(args, &settings.scope),
        project: settings.scope.clone(),
        asked: Arc::default(),
    };
    settings.protect_tools(&reload.sources.directories());
    let tools = reload.read(&ToolSnapshot::default());
    let service = Service {
        tools: tools.map_err(Failure::Usage)?,
        reload,
        always_sync: args.sync,
        no_shell: args.no_shell,
    };
    let served = runtime.block_on(serve(settings, environment, service));
    // A thread may still wait for a line on stdin; nobody waits for it.
    runtime.shutdown_background();
    served
}

/// What clients are offered.
struct Service {
    tools: ToolSnapshot,
    reload: Reload,
    always_sync: bool,
    no_shell: bool,
}

async fn serve(
    settings: Settings,
    environment: BTreeMap<OsString, OsString>,
    service: Service,
) -> Result<(), Failure> {
    let other = |error: io::Error| Failure::Other(error.to_string());
    let base = private_base(&settings, &environment).ok_or_else(no_private_base)?;
    let _ = SessionDirectory::sweep(&base);
    let session = SessionDirectory::create(&base).map_err(other)?;
    let mut policy = policy(&settings, session.path());
    let mut writable = policy.write.clone();
    writable.push(policy.scope.clone());
    let toolchains = toolchains::find(&environment, &policy.home(), &writable);
    for toolchain in &toolchains {
        policy.read.extend(toolchain.read.clone());
        policy.seeds.extend(toolchain.seeds.clone());
    }
    identity::write(&environment, &policy.home()).map_err(other)?;
    let sandbox = Sandbox::new(THIS_PROGRAM).map_err(other)?;
    let mut command_environment = command_environment(&policy, &environment, &settings.pass_env);
    for (name, value) in toolchains.into_iter().flat_map(|it| it.environment) {
        command_environment.entry(name).or_insert(value);
    }
    let shell = shell();
    let warm = WarmShells {
        count: settings.warm_shells,
        shell: shell.clone().into(),
        environment: command_environment.clone().into_iter().collect(),
    };
    let hosts = Arc::new(HostKeeper::new(sandbox, policy).with_warm_shells(warm));
    // Without a sandbox nothing is served.
    let usual = Narrowing::default();
    hosts.host(&usual).await.map_err(Failure::NoSandbox)?;
    if settings.sandbox_is_off {
        let warning = "warning: the sandbox is switched off; commands can do what you can do";
        let _ = writeln!(io::stderr(), "{warning}");
    }

    let report = hosts.report().await.map_err(Failure::NoSandbox)?;
    let directories = service.reload.sources.directories();
    let mut directories = directories.iter();
    let are_safe = directories.all(|it| reload::is_safe(it, hosts.policy(), &report));
    let variables = command_environment.clone().into_iter().collect();
    let judge = AvailabilityJudge::new(Arc::clone(&hosts), variables);
    // What needs no command to run is known before anyone asks.
    let mut at_once = service.tools.checks();
    at_once.retain(|check| matches!(check, AvailabilityCheck::OnPath(_)));
    let verdicts = judge.judge(at_once).await.into_iter().collect();
    let registry = Arc::new(Registry::new(service.tools.judged(verdicts)));
    let asked = Arc::clone(&service.reload.asked);
    let reloading = tokio::spawn(service.reload.keep_current(
        Arc::clone(&registry),
        are_safe,
        judge,
    ));

    let budget = Arc::new(SpoolBudget::new(settings.spool_bytes));
    let spools = SpoolPlace::new(session.path(), budget);
    let store = Arc::new(OperationStore::new(settings.retention, spools));
    let state = Arc::new(ServiceState {
        executor: Executor::new(Arc::clone(&hosts), store, settings.at_once),
        hosts,
        environment: command_environment,
        shell,
        default_deadline: settings.deadline,
        sandbox_is_off: settings.sandbox_is_off,
        started: Instant::now(),
        registry,
        always_sync: service.always_sync,
        no_shell: service.no_shell,
    });
    let served = until_done(&state, &asked).await;
    reloading.abort();
    state.executor.shut_down("the server stops").await;
    served
}

/// Where private directories can be: out of reach of commands.
fn private_base(
    settings: &Settings,
    environment: &BTreeMap<OsString, OsString>,
) -> Option<PathBuf> {
    let runtime = environment
        .get(OsStr::new("XDG_RUNTIME_DIR"))
        .map(PathBuf::from);
    let usual = ["/var/tmp", "/tmp"].map(PathBuf::from);
    let candidates = [std::env::temp_dir()]
        .into_iter()
        .chain(runtime)
        .chain(usual);
    let granted: Vec<&PathBuf> = settings.write.iter().chain([&settings.scope]).collect();
    // An operator who grants everything has said so.
    let everything = granted.iter().any(|path| path.parent().is_none());
    let in_reach = |base: &PathBuf| granted.iter().any(|path| base.starts_with(path));
    candidates
        .filter_map(|base| base.canonicalize().ok())
        .find(|base| everything || !in_reach(base))
}

fn no_private_base() -> Failure {
    let what = "commands could write to every place for the server's private directories";
    Failure::Other(format!(
        "{what}\nhint: set TMPDIR to a directory outside the scope"
    ))
}

/// Serves until the client is gone or a signal comes.
async fn until_done(state: &Arc<ServiceState>, reload: &Notify) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Other(error.to_string());
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(failed)?;
    let reloads = async {
        while hang_up.recv().await.is_some() {
            reload.notify_one();
        }
        std::future::pending::<()>().await;
    };
    let client = async {
        match AhmaService::new(Arc::clone(state)).serve(stdio()).await {
            Ok(service) => {
                let _ = service.waiting().await;
                Ok(())
            }
            Err(error) => Err(Failure::Other(format!(
                "the client did not begin correctly: {error}"
            ))),
        }
    };
    tokio::select! {
        result = client => result,
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        () = reloads => Ok(()),
    }
}

fn policy(settings: &Settings, session: &Path) -> SandboxPolicy {
    let mut policy = SandboxPolicy::new(&settings.scope, session);
    policy.read.clone_from(&settings.read);
    policy.write.clone_from(&settings.write);
    policy.network = settings.network;
    policy.protect.clone_from(&settings.protect);
    if settings.sandbox_is_off {
        policy.without = vec![
            Layer::Landlock,
            Layer::Seccomp,
            Layer::Namespaces,
            Layer::PidNamespace,
            Layer::Seatbelt,
        ];
    }
    policy
}

/// `bash` where there is one: scripts are most often written for it.
fn shell() -> PathBuf {
    let bash = Path::new("/bin/bash");
    if bash.exists() {
        bash.to_owned()
    } else {
        PathBuf::from("/bin/sh")
    }
}
