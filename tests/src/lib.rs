//! The support kit of the test suites: where fixtures are, and how programs are run.
//!
//! Every test works in a temporary directory of its own; nothing here writes into the repository.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "test support: it blocks, starts the programs under test, and fails loudly"
)]

pub mod help_flags;
pub mod http;
pub mod http_process;
pub mod mcp;
pub mod module_graph;
pub mod scenarios;
pub mod served;
pub mod traceability;
#[cfg(target_os = "linux")]
pub mod weaken;

use std::fmt::Display;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// What a test waits for at most.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The top directory of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are one level below the top")
        .to_owned()
}

/// An example of the package under test; `cargo test` builds it with the tests.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let built = test.ancestors().nth(2).expect("tests are in `deps`");
    let program = built.join("examples").join(name);
    assert!(program.exists(), "{} is missing", program.display());
    program
}

/// For benchmarks, first of all: starts this program again without the search path for libraries that cargo sets. With it
/// every program takes a fifth longer to start, but for those that get an environment of their own: what is measured
/// against a bare program would look better than it is.
pub fn without_the_libraries_of_cargo() {
    use std::os::unix::process::CommandExt as _;
    const LIBRARIES: &str = "LD_LIBRARY_PATH";
    if std::env::var_os(LIBRARIES).is_some() {
        let program = std::env::current_exe().expect("a benchmark has a path");
        let mut again = Command::new(program);
        let failed = again
            .args(std::env::args_os().skip(1))
            .env_remove(LIBRARIES)
            .exec();
        panic!("it cannot be started again: {failed}");
    }
}

/// The fixture files of a kind (`good` or `broken`), sorted by name.
pub fn fixtures(kind: &str) -> Vec<PathBuf> {
    json_files(&repository().join("tests/fixtures").join(kind))
}

/// The tool files that ship with the product.
pub fn shipped_tools() -> Vec<PathBuf> {
    json_files(&repository().join("tools"))
}

fn json_files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .expect("the directory exists")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no files in {}", directory.display());
    files
}

/// Name of a file without directory and ending.
pub fn stem(path: &Path) -> String {
    let stem = path.file_stem().expect("a file name");
    stem.to_str().expect("a name in UTF-8").to_owned()
}

/// Every process below one, as far as they are there.
pub fn processes_below(pid: u32) -> Vec<u32> {
    let mut found = children(pid);
    for child in found.clone() {
        found.extend(processes_below(child));
    }
    found
}

/// Copies a program. Another process does it: a descriptor of this one that is open for writing may be inherited for a
/// moment by what another test starts, and the kernel runs no program that somebody could write to.
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let (from, to) = (from.as_ref(), to.as_ref());
    let copied = Command::new("cp").arg(from).arg(to).status();
    assert!(copied.expect("cp can be started").success());
}

/// Waits until something is so, and fails when that takes too long.
pub fn until(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !done() {
        assert!(Instant::now() < end, "it did not happen within {TIMEOUT:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for something that must happen soon.
pub async fn patiently<T>(work: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(TIMEOUT, work).await;
    waited.unwrap_or_else(|_| panic!("nothing happened for {TIMEOUT:?}"))
}

/// Waits until something is so, without blocking the runtime.
pub async fn until_async(mut done: impl FnMut() -> bool) {
    patiently(async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// The processes that a process has started and not collected.
pub fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let lists = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
    let lists: Vec<String> = lists.collect();
    let pids = lists.iter().flat_map(|list| list.split_whitespace());
    pids.map(|pid| pid.parse().expect("a process id")).collect()
}

/// A number of seconds for `sleep` that no other process of the machine sleeps for: by it, processes of one test are
/// found among all others.
pub fn unique_mark() -> String {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    format!("9{:07}.{number:04}5", std::process::id())
}

/// Sends a signal, named without `SIG`, to a process that the test has started; whether that was possible. The shell has
/// `kill` built in, and the program of that name is not on every machine.
pub fn signal(name: &str, pid: impl Display) -> bool {
    let script = "kill -s \"$0\" \"$1\"";
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", script, name, &pid.to_string()]);
    let sent = shell.stderr(Stdio::null()).status();
    sent.expect("sh can be started").success()
}

/// How many processes hold the mark.
pub fn marked(mark: &str) -> usize {
    processes_marked(mark).len()
}

/// Processes of the machine whose command lines hold the mark, each with its id.
pub fn processes_marked(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc is there").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.parse::<u32>().is_ok()
            && let Ok(line) = fs::read(entry.path().join("cmdline"))
        {
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if line.contains(mark) {
                found.push(format!("{name} {line}"));
            }
        }
    }
    found
}

/// A temporary directory in which a program is run.
pub struct Workspace {
    directory: TempDir,
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}

impl Workspace {
    /// An empty one.
    pub fn new() -> Self {
        Workspace {
            directory: TempDir::new().expect("a temporary directory"),
        }
    }

    /// An empty one in a directory.
    pub fn in_directory(directory: &Path) -> Self {
        Workspace {
            directory: TempDir::new_in(directory).expect("a temporary directory"),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file, and the directories above it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        let parent = path.parent().expect("a path below the workspace");
        fs::create_dir_all(parent).expect("directories can be made");
        fs::write(&path, content).expect("the file can be written");
        path
    }

    /// Makes a file a program.
    pub fn make_executable(&self, name: &str) {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path().join(name), mode).expect("modes can be set");
    }

    /// Makes a directory, and those above it.
    pub fn make_directory(&self, name: &str) {
        fs::create_dir_all(self.path().join(name)).expect("directories can be made");
    }

    /// Runs a program here, to its end, without standard input or colours.
    pub fn run(&self, program: &str, args: &[&str]) -> Finished {
        self.run_with(program, args, &[])
    }

    /// The same with these variables.
    pub fn run_with(&self, program: &str, args: &[&str], variables: &[(&str, &str)]) -> Finished {
        let output = Command::new(program)
            .args(args)
            .current_dir(self.path())
            .stdin(Stdio::null())
            .env("NO_COLOR", "1")
            .envs(variables.iter().copied())
            .output()
            .unwrap_or_else(|error| panic!("{program} cannot be started: {error}"));
        Finished::of(output)
    }
}

/// What a program left behind.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; a signal counts as a failure of the test.
    pub code: i32,
    /// What it printed.
    pub stdout: String,
    /// What it complained.
    pub stderr: String,
}

impl Finished {
    /// What this was.
    pub fn of(output: Output) -> Self {
        Finished {
            code: output.status.code().expect("the program ended by itself"),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        }
    }
}
