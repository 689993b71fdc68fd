//! L3: the seccomp filter, installed once in the host and inherited by every command.
//!
//! Refuses what Landlock does not see: other processes' limits and priorities, typing into a
//! terminal, kernel interfaces with a history of holes, and sockets when there is no network.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use crate::policy::Network;

/// What the filter has to cover.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cover {
    pub(super) network: Network,
    /// Whether commands live in namespaces in which they have no capabilities: then the kernel
    /// refuses mounts and namespaces itself, and the supervisors need them.
    pub(super) namespaces: bool,
    /// Whether Landlock knows truncation (ABI 3).
    pub(super) landlock_truncates: bool,
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Builds the filter.
pub(super) fn build(cover: Cover) -> Result<BpfProgram, String> {
    let architecture = TargetArch::try_from(ARCH).map_err(|error| error.to_string())?;
    let rules = rules(cover).map_err(|error| error.to_string())?;
    let denied = u32::try_from(libc::EPERM).unwrap_or(1);
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(denied),
        architecture,
    )
    .map_err(|error| error.to_string())?;
    let program: BpfProgram = filter
        .try_into()
        .map_err(|error: seccompiler::BackendError| error.to_string())?;
    Ok(preamble(cover).into_iter().chain(program).collect())
}

/// Installs the filter in this process.
pub(super) fn install(program: &BpfProgram) -> Result<(), String> {
    seccompiler::apply_filter(program).map_err(|error| error.to_string())
}

fn rules(cover: Cover) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = BTreeMap::new();
    let mut always = |calls: &[libc::c_long]| {
        for call in calls {
            rules.insert(*call, Vec::new());
        }
    };
    always(&[
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_syslog,
        libc::SYS_open_by_handle_at,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_acct,
        libc::SYS_quotactl,
        libc::SYS_pivot_root,
    ]);
    if !cover.namespaces {
        always(&[
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_setns,
            libc::SYS_unshare,
            libc::SYS_fsopen,
            libc::SYS_fsmount,
            libc::SYS_fsconfig,
            libc::SYS_fspick,
            libc::SYS_move_mount,
            libc::SYS_open_tree,
            libc::SYS_mount_setattr,
            libc::SYS_chroot,
        ]);
    }
    if !cover.landlock_truncates {
        // Programs truncate open files with ftruncate; truncating by path can be done without.
        always(&[libc::SYS_truncate]);
    }
    // Limits, priorities and scheduling of other processes: 0 means "this one".
    for (call, argument) in [
        (libc::SYS_prlimit64, 0),
        (libc::SYS_sched_setscheduler, 0),
        (libc::SYS_sched_setparam, 0),
        (libc::SYS_sched_setattr, 0),
        (libc::SYS_sched_setaffinity, 0),
    ] {
        rules.insert(call, vec![rule(argument, SeccompCmpOp::Ne, 0)?]);
    }
    // Priorities of groups and users are those of other processes too.
    for (call, one_process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        let others = [
            rule(0, SeccompCmpOp::Ne, one_process)?,
            rule(1, SeccompCmpOp::Ne, 0)?,
        ];
        rules.insert(call, others.to_vec());
    }
    let terminal_input = [libc::TIOCSTI, libc::TIOCLINUX];
    let typing = terminal_input.map(|request| rule(1, SeccompCmpOp::Eq, request));
    rules.insert(
        libc::SYS_ioctl,
        typing.into_iter().collect::<Result<_, _>>()?,
    );
    if !cover.namespaces {
        let namespaces: u64 = 0x7e02_0000;
        let mut making = Vec::new();
        for bit in (0..32)
            .map(|shift| 1_u64 << shift)
            .filter(|bit| namespaces & bit != 0)
        {
            making.push(rule(0, SeccompCmpOp::MaskedEq(bit), bit)?);
        }
        rules.insert(libc::SYS_clone, making);
    }
    rules.insert(libc::SYS_socket, refused_sockets(cover)?);
    // Pairs of other families do not exist; asking for one would only load code into the kernel.
    let local = u64::try_from(libc::AF_UNIX).unwrap_or_default();
    let not_local = rule(0, SeccompCmpOp::Ne, local)?;
    rules.insert(libc::SYS_socketpair, vec![not_local]);
    Ok(rules)
}

/// What is refused when a socket is made: every family but those that ordinary programs need. Without
/// a view, local sockets reach programs outside the scope, and Landlock does not see them; with one,
/// no foreign socket exists in it.
fn refused_sockets(cover: Cover) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let local: &[i32] = if cover.namespaces {
        &[libc::AF_UNIX]
    } else {
        &[]
    };
    let internet: &[i32] = match cover.network {
        // Programs ask the kernel by netlink which addresses the machine has.
        Network::On => &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        Network::Off => &[],
    };
    let mut none_of_them = Vec::new();
    for family in local.iter().chain(internet) {
        let family = u64::try_from(*family).unwrap_or_default();
        none_of_them.push(condition(0, SeccompCmpOp::Ne, family)?);
    }
    if none_of_them.is_empty() {
        // No rule at all: refused whatever the arguments are.
        return Ok(Vec::new());
    }
    Ok(vec![SeccompRule::new(none_of_them)?])
}

fn rule(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![condition(argument, operator, value)?])
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    // The kernel looks at the lower half of these arguments only, and so must the filter.
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

/// Instructions put before the library's: it knows one answer to refused calls and no ranges.
fn preamble(cover: Cover) -> Vec<sock_filter> {
    const LOAD: u16 = 0x20;
    const JUMP_EQUAL: u16 = 0x15;
    const JUMP_BITS: u16 = 0x45;
    const RETURN: u16 = 0x06;
    const NUMBER: u32 = 0;
    const REFUSE: u32 = 0x0005_0000;
    let instruction = |code, k, jt, jf| sock_filter { code, jt, jf, k };
    let refuse = |errno: i32| {
        instruction(
            RETURN,
            REFUSE | u32::try_from(errno).unwrap_or_default(),
            0,
            0,
        )
    };
    let mut program = vec![instruction(LOAD, NUMBER, 0, 0)];
    if ARCH == "x86_64" {
        // The x32 interface has the same architecture tag and other numbers.
        program.push(instruction(JUMP_BITS, 0x4000_0000, 0, 1));
        program.push(refuse(libc::EPERM));
    }
    if !cover.namespaces {
        // clone3 has its flags in memory, where no filter can look. Programs fall back to clone.
        let clone3 = u32::try_from(libc::SYS_clone3).unwrap_or_default();
        program.push(instruction(JUMP_EQUAL, clone3, 0, 1));
        program.push(refuse(libc::ENOSYS));
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_is_short() {
        for network in [Network::On, Network::Off] {
            for namespaces in [true, false] {
                let cover = Cover {
                    network,
                    namespaces,
                    landlock_truncates: false,
                };
                let length = build(cover).unwrap().len();
                assert!(length < 400, "{cover:?}: {length} instructions");
            }
        }
    }
}
