//! An executor with a scope of its own, in the real sandbox.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use ahma_core::config::Restrictions;
use ahma_core::internal::{
    CommandKind, CommandPlan, Executor, Guard, HostPool, SpoolPlace, WatchConfig,
};
use ahma_core::{OperationHandle, OperationStore, Retention};
use ahma_sandbox::{Input, PrivateDir, Sandbox, SandboxPolicy};
use ahma_tests::patiently;
use tempfile::TempDir;

const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");

pub(crate) struct Bench {
    pub(crate) executor: Executor,
    pub(crate) hosts: Arc<HostPool>,
    pub(crate) scope: std::path::PathBuf,
    _session: PrivateDir,
    _base: TempDir,
}

impl Bench {
    pub(crate) fn new(at_once: usize) -> Self {
        Self::with(at_once, |_| {})
    }

    pub(crate) fn with(at_once: usize, change: impl FnOnce(&mut SandboxPolicy)) -> Self {
        let base = TempDir::new().unwrap();
        let root = base.path().canonicalize().unwrap();
        let scope = root.join("scope");
        fs::create_dir(&scope).unwrap();
        let session = PrivateDir::create(&root).unwrap();
        let mut policy = SandboxPolicy::new(&scope, session.path());
        change(&mut policy);
        let watch = WatchConfig::new(&policy.scope, &policy.protect);
        let guard = Arc::new(Guard::start().unwrap().watch(watch, None));
        let hosts = Arc::new(HostPool::new(Sandbox::new(AHMA_MCP).unwrap(), policy));
        let spools = SpoolPlace::new(&root, Arc::default());
        let store = Arc::new(OperationStore::new(Retention::default(), spools));
        let executor = Executor::new(Arc::clone(&hosts), store, guard, at_once);
        Bench {
            executor,
            hosts,
            scope,
            _session: session,
            _base: base,
        }
    }

    pub(crate) fn start(&self, script: &str, seconds: f64) -> Arc<OperationHandle> {
        let plan = CommandPlan {
            tool: "sandboxed_shell".to_owned(),
            kind: CommandKind::Script,
            arguments: ["sh", "-c", script].map(Into::into).to_vec(),
            environment: Arc::new(vec![("PATH".into(), "/usr/bin:/bin".into())]),
            working_directory: self.scope.clone(),
            input: Input::Nothing,
            input_writer: None,
            deadline: Some(Duration::from_secs_f64(seconds)),
            is_service: false,
            success_exit_codes: Vec::new(),
            output: Default::default(),
            events: None,
            restrictions: Restrictions::default(),
        };
        self.executor.start(plan, &"test".into()).unwrap()
    }

    pub(crate) async fn run(&self, script: &str) -> Arc<OperationHandle> {
        let operation = self.start(script, 30.0);
        patiently(operation.ended()).await;
        operation
    }
}

pub(crate) fn text(operation: &OperationHandle) -> String {
    operation
        .output()
        .render(|offset, length| format!("{offset}+{length}"))
        .text
}

/// Waits for the command's own sign.
pub(crate) async fn until_exists(bench: &Bench, name: &str) {
    let path = bench.scope.join(name);
    patiently(async {
        while !path.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
