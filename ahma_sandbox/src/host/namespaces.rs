//! The namespaces a host lives in: its own users, mounts, processes, IPC and, without a network, a private one that has
//! nothing but a loopback. Hosts of one scope share that one, and the users with it.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::process::{Signal, getegid, geteuid, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::sys;
use crate::policy::Network;

/// What a host has of its own, whatever its network is.
const ALWAYS: i32 = libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWPID;

/// Namespaces for `clone`.
pub(super) fn flags(network: Network) -> i32 {
    match network {
        Network::On => ALWAYS | libc::CLONE_NEWUSER,
        Network::Off => ALWAYS | libc::CLONE_NEWUSER | libc::CLONE_NEWNET,
    }
}

/// Where a host comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin {
    /// It has namespaces of its own.
    New(Owner, Network),
    /// It is in the network of another host of its scope, and among its users.
    Joined,
}

/// The network of other hosts of the same scope, and whose it is.
pub(super) struct SharedNetwork {
    pub(super) users: OwnedFd,
    pub(super) network: OwnedFd,
}

impl SharedNetwork {
    /// That of this process.
    #[expect(clippy::disallowed_methods, reason = "the host has no async runtime")]
    pub(super) fn of_this_process() -> io::Result<Self> {
        Ok(SharedNetwork {
            users: File::open("/proc/self/ns/user")?.into(),
            network: File::open("/proc/self/ns/net")?.into(),
        })
    }

    /// Moves this process into it; returns the namespaces it still lacks, for `clone`.
    pub(super) fn join(&self) -> io::Result<i32> {
        move_into_link_name_space(self.users.as_fd(), Some(LinkNameSpaceType::User))?;
        move_into_link_name_space(self.network.as_fd(), Some(LinkNameSpaceType::Network))?;
        // Another user than before, for the kernel.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        Ok(ALWAYS)
    }
}

/// Makes the only interface of a new network work.
pub(super) fn start_loopback() -> io::Result<()> {
    sys::bring_interface_up(c"lo")
}

/// The user and group the server runs as.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner {
    user: u32,
    group: u32,
}

impl Owner {
    pub(super) fn of_this_process() -> Self {
        Owner {
            user: geteuid().as_raw(),
            group: getegid().as_raw(),
        }
    }
}

/// Maps the one user and group that commands run as. Files they make belong to the operator.
///
/// A server that runs as root maps its id to an ordinary one inside: programs such as `tar` do things
/// as user 0 that they then lack the capabilities for.
pub(super) fn map_ids(owner: Owner) -> io::Result<()> {
    const ORDINARY: u32 = 1000;
    let inner = |outer: u32| if outer == 0 { ORDINARY } else { outer };
    let Owner { user, group } = owner;
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{} {user} 1", inner(user)))?;
    write("/proc/self/gid_map", &format!("{} {group} 1", inner(group)))
}

/// Keeps commands from making user namespaces of their own, in which they would have capabilities
/// again. The limit belongs to the host's user namespace and is inherited by all below it.
pub(super) fn forbid_nesting() -> io::Result<()> {
    write("/proc/sys/user/max_user_namespaces", "0")
}

/// Things the kernel counts for a user on the whole machine, and how much of what the user may have is left to the
/// commands of one host: an editor outside wants its share.
const COUNTERS: [(&str, &str, u64); 4] = [
    ("max_inotify_instances", "inotify/max_user_instances", 4),
    ("max_inotify_watches", "inotify/max_user_watches", 2),
    ("max_fanotify_groups", "fanotify/max_user_groups", 4),
    ("max_fanotify_marks", "fanotify/max_user_marks", 2),
];

/// Bounds what commands take of them. The bounds belong to the host's user namespace.
#[expect(clippy::disallowed_methods, reason = "the host has no async runtime")]
pub(super) fn bound_counters() -> io::Result<()> {
    for (name, of_user, share) in COUNTERS {
        let of_user = fs::read_to_string(format!("/proc/sys/fs/{of_user}"));
        // Where the kernel does not know one, there is nothing to take.
        let Some(most) = of_user.ok().and_then(|it| it.trim().parse::<u64>().ok()) else {
            continue;
        };
        let path = format!("/proc/sys/user/{name}");
        match write(&path, &(most / share).to_string()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done?,
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the host has no async runtime")]
fn write(path: &str, content: &str) -> io::Result<()> {
    fs::write(path, content)
        .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
}
