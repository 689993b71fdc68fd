//! Whose a port is: the process that was started to listen there, or somebody else.
//!
//! Whoever is first at a port could otherwise answer in the place of a server, and would be told what is meant for it.
//! Where the kernel does not show who listens, as on macOS, nobody is taken for somebody else.

use std::fs;
use std::path::Path;

use crate::listening::listening_address;

/// Ancestors of a process that are looked at.
const MAX_ANCESTORS: usize = 32;

/// Who listens on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listener {
    Nobody,
    /// The process that was asked for, or one that it started; nobody beside it.
    Own,
    Other,
    /// The kernel does not say.
    Unknown,
}

/// Looks who listens on a port. The own process and what it started are known by the pipe of their standard error, which
/// nobody else has. Blocks.
#[expect(clippy::disallowed_methods, reason = "called beside the runtime")]
pub(super) fn look(port: u16, pipe: u64) -> Listener {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let tables: Vec<String> = tables
        .iter()
        .filter_map(|it| fs::read_to_string(it).ok())
        .collect();
    if tables.is_empty() {
        return Listener::Unknown;
    }
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    let listening = lines.filter(|line| listening_address(line, port).is_some());
    let sockets: Vec<Option<u64>> = listening.map(socket_number).collect();
    if sockets.is_empty() {
        return Listener::Nobody;
    }
    let own = format!("pipe:[{pipe}]");
    let is_own = |socket: &Option<u64>| {
        let name = socket.map(|number| format!("socket:[{number}]"));
        name.is_some_and(|name| holders(&name).any(|pid| is_of(pid, &own)))
    };
    match sockets.iter().all(is_own) {
        true => Listener::Own,
        false => Listener::Other,
    }
}

/// The processes that hold a descriptor of this name, as far as we may see that.
#[expect(clippy::disallowed_methods, reason = "called beside the runtime")]
fn holders(name: &str) -> impl Iterator<Item = u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|it| it.file_name().to_str()?.parse().ok());
    pids.filter(move |pid: &u32| {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
        let mut descriptors = descriptors.into_iter().flatten().flatten();
        descriptors.any(|it| is_link_to(&it.path(), name))
    })
}

/// Whether the standard error of a process, or of one that it descends from, is this pipe.
fn is_of(pid: u32, pipe: &str) -> bool {
    let mut now = Some(pid);
    for _ in 0..MAX_ANCESTORS {
        let Some(pid) = now.filter(|pid| *pid > 1 && *pid != std::process::id()) else {
            return false;
        };
        if is_link_to(Path::new(&format!("/proc/{pid}/fd/2")), pipe) {
            return true;
        }
        now = parent(pid);
    }
    false
}

#[expect(clippy::disallowed_methods, reason = "called beside the runtime")]
fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|it| it.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

fn is_link_to(path: &Path, name: &str) -> bool {
    fs::read_link(path).is_ok_and(|it| it.as_os_str() == name)
}

/// The number of the socket of a line of the kernel's table.
fn socket_number(line: &str) -> Option<u64> {
    line.split_ascii_whitespace().nth(9)?.parse().ok()
}
