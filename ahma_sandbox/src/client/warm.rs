//! Shells that have started and are confined before anyone asks for one.
//!
//! A warm shell is a command like any other: a `bash` in a cell of its own, started ahead of time with
//! two descriptors more, that waits. To use it, the server writes a directory and a script into the
//! memory file behind one of them and a line into the pipe behind the other; the host has no part in
//! that. Each is used once, so nothing passes from one script to the next. New ones are started when
//! little else runs, so that they never take the processor from a command that somebody waits for;
//! what finds none is started the usual way. [`pool_sizer`] decides how many wait.

mod pool_sizer;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::pipe::{PipeFlags, pipe_with};

use self::pool_sizer::PoolSizer;
use super::command::{Beside, RunningCommand, open_input};
use super::handoff::{MAX_SCRIPT_LEN, ScriptHandoff};
use super::link::HostLink;
use super::one_program::is_one_program;
use crate::command::CommandRequest;
use crate::error::SpawnError;
use crate::input::Input;

/// What a shell executes while it waits, and then: on one line, so that a script's own lines keep their
/// numbers, and without leaving a variable or a descriptor that `bash -c` would not have.
///
/// A pipe that ends without a line means that the shell is not needed. A `d` in the line says that the
/// script does not run where the shell waited: its directory follows the script. Both are read before
/// anything is done with them: what is then written into the memory file lies behind them and says that
/// the directory could not be entered. A memory file without a script means that the server has taken it
/// back. An `e` says that the script is one program, which the shell becomes
/// if it finds it; if not, it says so as usual.
const WAIT_FOR_SCRIPT: &str = concat!(
    r#"read -ru4 || exit; "#,
    r#"IFS= read -rd '' -u3 BASH_EXECUTION_STRING || exit; "#,
    r#"[[ $REPLY != d* ]] || { IFS= read -rd '' -u3 PWD; "#,
    r#"cd -P -- "$PWD" 2>/dev/null || { printf x >&3; exit 127; }; "#,
    r#"unset OLDPWD; declare -x OLDPWD; }; "#,
    r#"exec 3<&- 4<&-; [[ $REPLY != *e ]] || "#,
    r#"! type -P -- "${BASH_EXECUTION_STRING%% *}" >/dev/null || "#,
    r#"{ unset REPLY; eval -- "exec $BASH_EXECUTION_STRING"; }; "#,
    r#"unset REPLY; SECONDS=0; eval -- "$BASH_EXECUTION_STRING""#,
);
/// Tasks that hand the end of a command on until it has become an answer.
const STEPS_TO_AN_ANSWER: u32 = 8;
/// When that many shells in a row end without having been used, no more are started.
const MAX_DEATHS: u32 = 3;

/// The warm shells of one host.
pub(super) struct WarmShells {
    sizer: Mutex<PoolSizer>,
    shell: OsString,
    environment: Vec<(OsString, OsString)>,
    /// Whether they read UTF-8, or bytes.
    reads_utf8: bool,
    /// Where they wait: the scope, where most scripts run.
    home: PathBuf,
    /// The one that has waited longest first: it is surely ready.
    waiting: Mutex<VecDeque<WarmShell>>,
    /// Shells in a row that ended without having been used.
    deaths: AtomicU32,
}

/// A shell that waits.
struct WarmShell {
    command: RunningCommand,
    file: OwnedFd,
    trigger: OwnedFd,
}

impl WarmShells {
    /// Keeps shells of this environment for the host until it is gone.
    pub(super) fn keep(
        host: &Arc<HostLink>,
        count: usize,
        shell: OsString,
        environment: Vec<(OsString, OsString)>,
        home: PathBuf,
    ) -> Arc<Self> {
        let shells = Arc::new(WarmShells {
            sizer: Mutex::new(PoolSizer::new(count)),
            shell,
            reads_utf8: reads_utf8(&environment),
            environment,
            home,
            waiting: Mutex::default(),
            deaths: AtomicU32::new(0),
        });
        tokio::spawn(keep_full(Arc::downgrade(host), Arc::clone(&shells)));
        shells
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.lock().len()
    }

    /// The host is gone; so are they.
    fn give_up(&self) {
        let gone = std::mem::take(&mut *self.lock());
        drop(gone);
    }

    /// Runs a request in a shell that waits, if it is a script and there is one. So many commands are there
    /// already, the waiting shells among them.
    pub(super) fn run(
        &self,
        request: &CommandRequest,
        there: Option<usize>,
    ) -> Option<RunningCommand> {
        let script = self.script_of(request)?;
        let waiting = self.waiting();
        let others_run = there.is_some_and(|there| there > waiting);
        self.sizer()
            .script(waiting.saturating_sub(1), others_run, Instant::now());
        loop {
            let shell = self.lock().pop_front()?;
            // One that has died is left out; so is one whose host is gone.
            if let Some(command) = shell.give(&self.home, &request.directory, script) {
                self.deaths.store(0, Ordering::Relaxed);
                return Some(command);
            }
        }
    }

    /// The script of a request that is nothing but a script.
    fn script_of<'r>(&self, request: &'r CommandRequest) -> Option<&'r OsStr> {
        let [shell, flag, end, script] = request.arguments.as_slice() else {
            return None;
        };
        let is_script = (shell.as_os_str(), flag.as_os_str(), end.as_os_str())
            == (self.shell.as_os_str(), OsStr::new("-c"), OsStr::new("--"));
        // A shell reads letters, not bytes: a part of one would take the end of the script along.
        let is_text = match script.to_str() {
            Some(text) => self.reads_utf8 || text.is_ascii(),
            None => false,
        };
        let fits = is_text
            && script.len() <= MAX_SCRIPT_LEN
            && !script.as_bytes().contains(&0)
            && !request.directory.as_os_str().as_bytes().contains(&0)
            && request.directory.is_absolute();
        let usual = request.input == Input::Nothing && request.environment == self.environment;
        (is_script && fits && usual).then_some(script)
    }

    fn sizer(&self) -> MutexGuard<'_, PoolSizer> {
        // A few numbers, each right by itself.
        self.sizer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<WarmShell>> {
        // A list of shells is consistent after any panic.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts one more.
    async fn start(&self, host: &Arc<HostLink>) -> Result<(), SpawnError> {
        let resources = |error: rustix::io::Errno| SpawnError::Resources(error.into());
        let file = memfd_create("ahma-script", MemfdFlags::CLOEXEC).map_err(resources)?;
        let (triggered, trigger) = pipe_with(PipeFlags::CLOEXEC).map_err(resources)?;
        let input = open_input(&Input::Nothing).map_err(SpawnError::Resources)?;
        let shell = self.shell.as_os_str();
        let arguments = [shell, OsStr::new("-c"), OsStr::new(WAIT_FOR_SCRIPT)];
        let request = CommandRequest {
            arguments: arguments.map(OsString::from).to_vec(),
            environment: self.environment.clone(),
            directory: self.home.clone(),
            input: Input::Nothing,
        };
        let further = [file.as_fd(), triggered.as_fd()];
        let beside = Beside {
            further: &further,
            ..Beside::default()
        };
        let command = RunningCommand::start(host, request, &input, None, beside).await?;
        self.lock().push_back(WarmShell {
            command,
            file,
            trigger,
        });
        Ok(())
    }

    /// Takes out those that have ended. Whether it is of use to start others.
    fn remove_exited(&self) -> bool {
        let mut waiting = self.lock();
        waiting.retain_mut(|shell| {
            let dead = shell.command.has_exited();
            self.deaths.fetch_add(u32::from(dead), Ordering::Relaxed);
            !dead
        });
        self.deaths.load(Ordering::Relaxed) < MAX_DEATHS
    }
}

impl WarmShell {
    /// Hands a script over. `None` when the shell is gone; then nothing of the script has run.
    fn give(mut self, home: &Path, directory: &Path, script: &OsStr) -> Option<RunningCommand> {
        if self.command.has_exited() {
            return None;
        }
        let text = [script.as_bytes(), directory.as_os_str().as_bytes(), b""].join(&0);
        let handoff = ScriptHandoff::write(self.file, &text, directory).ok()?;
        let line = match (directory == home, is_one_program(script.as_bytes())) {
            (true, false) => "\n",
            (true, true) => "e\n",
            (false, false) => "d\n",
            (false, true) => "de\n",
        };
        rustix::io::write(&self.trigger, line.as_bytes()).ok()?;
        self.command.set_handoff(handoff);
        Some(self.command)
    }
}

/// Whether the locale of an environment is one of UTF-8, or of plain bytes.
fn reads_utf8(environment: &[(OsString, OsString)]) -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"].map(OsStr::new);
    let locales = environment
        .iter()
        .filter(|(name, _)| names.contains(&name.as_os_str()));
    locales.map(|(_, value)| value.to_string_lossy()).all(|it| {
        let locale = it.to_ascii_lowercase();
        let plain = ["", "c", "posix"].contains(&locale.as_str());
        plain || locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// Starts shells while there are too few and little else runs, and ends those that are too many, until the
/// host is gone or they do not live.
async fn keep_full(host: Weak<HostLink>, shells: Arc<WarmShells>) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    while shells.remove_exited() {
        let Some(link) = host.upgrade() else {
            return;
        };
        let Some(running) = link.running() else {
            // One may have been started while the others were given up.
            return shells.give_up();
        };
        let waiting = shells.waiting();
        let is_busy = |running: usize| running.saturating_sub(waiting) >= cores;
        let need = shells.sizer().need(Instant::now());
        shells.lock().truncate(need.at_most);
        // What is missing now, such as descriptors, may be there after the next command.
        if waiting < need.at_least && !is_busy(running) && shells.start(&link).await.is_ok() {
            continue;
        }
        tokio::select! {
            () = link.changed.notified() => {}
            () = at(need.until) => {}
        }
        // While no shell will be started, nobody has to be let go first.
        if link.running().is_none_or(is_busy) {
            continue;
        }
        // Whoever waits for the command that has just ended goes first.
        for _ in 0..STEPS_TO_AN_ANSWER {
            tokio::task::yield_now().await;
        }
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}
