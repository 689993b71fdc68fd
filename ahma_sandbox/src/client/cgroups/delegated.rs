//! The cgroup below which each command with limits gets one of its own, and how it is found and made.
//!
//! Blocks, so runs beside the runtime. Must not move any process but those of this server.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::own_place::delegated_places;

/// What is limited.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];
/// What the directories of servers begin with; their process number follows.
const PREFIX: &str = "ahma_mcp-";
/// How often processes are moved that come while others are.
const MAX_ATTEMPTS: usize = 20;

/// The cgroups of one server.
#[derive(Debug)]
pub(in crate::client) struct CommandGroups {
    directory: PathBuf,
    next: AtomicU64,
    /// Those that could not be removed yet.
    left: Mutex<Vec<PathBuf>>,
}

#[expect(clippy::disallowed_methods, reason = "runs beside the runtime")]
impl CommandGroups {
    /// Makes a place for them where one is delegated; else says why there is none.
    pub(in crate::client) fn new() -> Result<Self, String> {
        let places = delegated_places()?;
        let mut why = String::new();
        for (index, place) in places.iter().enumerate() {
            match Self::below(place, index == 0) {
                Ok(groups) => return Ok(groups),
                Err(what) => why = format!("{}: {what}", place.display()),
            }
        }
        Err(why)
    }

    fn below(place: &Path, is_own: bool) -> Result<Self, String> {
        let shown = |error: io::Error| error.to_string();
        let offered = fs::read_to_string(place.join("cgroup.controllers")).map_err(shown)?;
        if let Some(missing) = missing(&offered) {
            return Err(format!("there is no controller `{missing}`"));
        }
        remove_old(place);
        let directory = place.join(format!("{PREFIX}{}", std::process::id()));
        // Of an earlier server with this number, whose processes are gone.
        remove(&directory);
        match fs::create_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.map_err(shown)?,
        }
        let enabled = || -> Result<(), String> {
            let control = place.join("cgroup.subtree_control");
            if missing(&fs::read_to_string(&control).map_err(shown)?).is_some() {
                // A cgroup whose children are limited cannot hold processes itself.
                if is_own {
                    move_server(place, &directory.join("server"))?;
                }
                enable(place)?;
            }
            enable(&directory)
        };
        if let Err(why) = enabled() {
            remove(&directory);
            return Err(why);
        }
        Ok(CommandGroups {
            directory,
            next: AtomicU64::new(0),
            left: Mutex::default(),
        })
    }

    /// A new directory, for one command.
    pub(super) fn make(&self) -> io::Result<PathBuf> {
        self.remove_left();
        for _ in 0..MAX_ATTEMPTS {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let directory = self.directory.join(number.to_string());
            match fs::create_dir(&directory) {
                Ok(()) => return Ok(directory),
                // Something still runs there.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // Somebody who does not see this process has cleared up.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    fs::create_dir(&self.directory)?;
                    enable(&self.directory).map_err(io::Error::other)?;
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("no cgroup could be made"))
    }

    /// Removes a directory, or later when its last process is only just ending.
    pub(super) fn discard(&self, directory: PathBuf) {
        // A list is right after any panic.
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.push(directory);
        drop(left);
        self.remove_left();
    }

    fn remove_left(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|directory| {
            fs::remove_dir(directory).is_err_and(|it| it.kind() != io::ErrorKind::NotFound)
        });
    }
}

impl Drop for CommandGroups {
    fn drop(&mut self) {
        self.remove_left();
        remove(&self.directory);
    }
}

/// The first controller that a list does not have.
fn missing(listed: &str) -> Option<&'static str> {
    let has = |name: &&str| listed.split_whitespace().any(|it| it == *name);
    CONTROLLERS.into_iter().find(|name| !has(name))
}

#[expect(clippy::disallowed_methods, reason = "runs beside the runtime")]
fn enable(place: &Path) -> Result<(), String> {
    let all = CONTROLLERS.map(|name| format!("+{name}")).join(" ");
    fs::write(place.join("cgroup.subtree_control"), all).map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => "other programs run in it".to_owned(),
        _ => format!("limits cannot be set below it: {error}"),
    })
}

/// Moves this server, with everything it has started, a level down: then limits can be set beside it.
#[expect(clippy::disallowed_methods, reason = "runs beside the runtime")]
fn move_server(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("this server cannot be moved: {error}");
    let listed = || -> Result<Vec<u32>, String> {
        let text = fs::read_to_string(from.join("cgroup.procs")).map_err(failed)?;
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    };
    for _ in 0..MAX_ATTEMPTS {
        let processes = listed()?;
        if processes.is_empty() {
            return Ok(());
        }
        if !processes.iter().all(|process| is_ours(*process)) {
            return Err("other programs run in it".to_owned());
        }
        if !to.exists() {
            fs::create_dir(to).map_err(failed)?;
        }
        for process in processes {
            match fs::write(to.join("cgroup.procs"), process.to_string()) {
                // It has ended.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                moved => moved.map_err(failed)?,
            }
        }
    }
    Err("this server starts processes faster than they can be moved".to_owned())
}

/// Whether a process is this one, or below it.
fn is_ours(process: u32) -> bool {
    let own = std::process::id();
    let mut at = process;
    // A cycle is not possible; a process that ends meanwhile leads to 0 or 1.
    while at > 1 && at != own {
        at = parent(at).unwrap_or(0);
    }
    at == own
}

#[expect(clippy::disallowed_methods, reason = "runs beside the runtime")]
fn parent(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let parent = status.lines().find_map(|it| it.strip_prefix("PPid:"))?;
    parent.trim().parse().ok()
}

/// Removes what servers have left that are gone. What still has processes stays: the kernel sees to that.
#[expect(clippy::disallowed_methods, reason = "runs beside the runtime")]
fn remove_old(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|it| it.strip_prefix(PREFIX));
        let number = number.and_then(|it| it.parse::<u32>().ok());
        let is_gone = |number: u32| !Path::new("/proc").join(number.to_string()).exists();
        if number.is_some_and(is_gone) {
            remove(&entry.path());
        }
    }
}

/// Removes a directory with those below it, as far as no process is in them.
#[expect(clippy::disallowed_methods, reason = "runs beside the runtime")]
fn remove(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|it| it.is_dir()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
    let _ = fs::remove_dir(directory);
}
