//! What watching a large scope costs its commands, and how soon something planted is noticed.
//!
//! `cargo bench -p ahma_core --bench guard`. A scope of 100,000 files and 20 repositories and an empty one, in turn; compare
//! ratios, not times.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark may start programs, print and fail"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ahma_core::config::Restrictions;
use ahma_core::internal::{
    CommandKind, CommandPlan, Executor, Guard, HostPool, SpoolPlace, WatchConfig,
};
use ahma_core::{OperationState, OperationStore, OwnerWarnings, Retention};
use ahma_sandbox::{Input, PrivateDir, Sandbox, SandboxPolicy, become_host_if_asked};

const DIRECTORIES: usize = 10_000;
const FILES: usize = 100_000;
const REPOSITORIES: usize = 20;
/// How long each is measured at a time, and how often.
const PHASE: Duration = Duration::from_secs(3);
const PHASES: usize = 5;
const PLANTS: usize = 20;

fn main() {
    become_host_if_asked();
    ahma_tests::without_the_libraries_of_cargo();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(measure());
}

/// A scope with everything that runs commands in it.
struct Scope {
    path: PathBuf,
    executor: Executor,
    told: Arc<Mutex<Vec<(String, Instant)>>>,
    _private: PrivateDir,
}

impl Scope {
    async fn open(root: &Path, name: &str, guard: &Guard) -> Self {
        let path = root.join(name);
        let private = PrivateDir::create(root).unwrap();
        let policy = SandboxPolicy::new(&path, private.path());
        let told = Arc::new(Mutex::new(Vec::new()));
        let hearing = Arc::clone(&told);
        let say = move |warning: &str| {
            let mut told: std::sync::MutexGuard<'_, Vec<(String, Instant)>> =
                hearing.lock().unwrap();
            told.push((warning.to_owned(), Instant::now()));
        };
        let owner = OwnerWarnings::new(&path, None, Some(Arc::new(say)));
        let watching = guard.watch(WatchConfig::new(&path, &[]), Some(Arc::new(owner)));
        let sandbox = Sandbox::new(std::env::current_exe().unwrap()).unwrap();
        let hosts = Arc::new(HostPool::new(sandbox, policy));
        hosts.host(&Restrictions::default()).await.unwrap();
        let spools = SpoolPlace::new(root, Arc::default());
        let store = Arc::new(OperationStore::new(Retention::default(), spools));
        Scope {
            executor: Executor::new(hosts, store, Arc::new(watching), 4),
            path,
            told,
            _private: private,
        }
    }

    async fn run(&self, words: &[&str]) -> Duration {
        let plan = CommandPlan {
            tool: "test".to_owned(),
            kind: CommandKind::Program,
            arguments: words.iter().map(|it| (*it).into()).collect(),
            environment: Arc::new(vec![("PATH".into(), "/usr/bin:/bin".into())]),
            working_directory: self.path.clone(),
            input: Input::Nothing,
            input_writer: None,
            deadline: Some(Duration::from_secs(60)),
            is_service: false,
            success_exit_codes: Vec::new(),
            output: Default::default(),
            events: None,
            restrictions: Restrictions::default(),
        };
        let start = Instant::now();
        let operation = self.executor.start(plan, &"test".into()).unwrap();
        let completion = operation.ended().await;
        assert_eq!(completion.state, OperationState::Completed);
        start.elapsed()
    }

    fn when_told(&self, name: &str) -> Option<Instant> {
        let told = self.told.lock().unwrap();
        let found = told.iter().find(|(text, _)| text.contains(name));
        found.map(|(_, when)| *when)
    }

    async fn median(&self) -> Duration {
        let end = Instant::now() + PHASE;
        let mut times = Vec::new();
        while Instant::now() < end {
            times.push(self.run(&["/bin/true"]).await);
        }
        times.sort_unstable();
        times[times.len() / 2]
    }
}

fn fill(scope: &Path) -> Vec<PathBuf> {
    let mut directories = vec![scope.to_owned()];
    let mut next = 0;
    while directories.len() < DIRECTORIES {
        for number in 0..8 {
            let directory = directories[next].join(format!("d{number}"));
            std::fs::create_dir(&directory).unwrap();
            directories.push(directory);
        }
        next += 1;
    }
    for number in 0..FILES {
        let directory = &directories[number * 7919 % directories.len()];
        std::fs::write(directory.join(format!("f{number}")), "x").unwrap();
    }
    for number in 0..REPOSITORIES {
        let directory = &directories[(number * 487 + 1) % directories.len()];
        let made = Command::new("git")
            .args(["init", "-q"])
            .arg(directory)
            .status();
        assert!(made.unwrap().success());
    }
    directories
}

async fn measure() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    for name in ["large", "empty"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    let directories = fill(&root.join("large"));
    let guard = Guard::start().unwrap();
    let large = Scope::open(&root, "large", &guard).await;
    let empty = Scope::open(&root, "empty", &guard).await;
    // The first look is made beside the first commands.
    tokio::time::sleep(Duration::from_secs(2)).await;

    let mut ratios = Vec::new();
    for phase in 0..PHASES {
        let (watched, plain) = match phase % 2 {
            0 => (large.median().await, empty.median().await),
            _ => {
                let plain = empty.median().await;
                (large.median().await, plain)
            }
        };
        println!("p50 of a call: large scope {watched:.2?}, empty {plain:.2?}");
        ratios.push(watched.as_secs_f64() / plain.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "large ÷ empty: {:.2} (from {:.2} to {:.2})",
        ratios[PHASES / 2],
        ratios[0],
        ratios[PHASES - 1]
    );

    let mut noticed = Vec::new();
    for number in 0..PLANTS {
        let directory = &directories[number * 4099 % directories.len()];
        let plant = directory.join(format!("p{number}"));
        let path = plant.join(".envrc");
        let script = format!("mkdir {0}; touch {0}/.envrc", plant.display());
        large.run(&["/bin/sh", "-c", &script]).await;
        let planted = Instant::now();
        let name = path
            .strip_prefix(&large.path)
            .unwrap()
            .display()
            .to_string();
        let told = loop {
            let when = large.when_told(&name);
            if let Some(when) = when {
                break when;
            }
            assert!(planted.elapsed() < Duration::from_secs(20), "{name}");
            large.run(&["/bin/true"]).await;
        };
        noticed.push(told.saturating_duration_since(planted));
    }
    noticed.sort_unstable();
    println!(
        "noticed after {:.2?} p50, {:.2?} at most ({PLANTS} plants)",
        noticed[PLANTS / 2],
        noticed[PLANTS - 1]
    );
}
