//! L3: the seccomp filter, installed once in the host and inherited by every command.
//!
//! Refuses what Landlock does not see: other processes' limits and priorities, typing into a
//! terminal, set-user-id programs, kernel interfaces with a history of holes, and sockets of kinds
//! that ordinary programs do not use. Must not refuse what only a command's own files and processes
//! are concerned with.

mod modes;
mod other_answers;
mod sockets;

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// What the filter has to cover.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cover {
    /// Whether commands may use sockets of the internet: with a network, of whatever kind.
    pub(super) internet: bool,
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
    Ok(other_answers::instructions(cover)
        .into_iter()
        .chain(program)
        .collect())
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
    // Typing into a terminal, and line disciplines, which load code into the kernel.
    let of_terminals = [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD];
    let refused = of_terminals.map(|request| rule(1, SeccompCmpOp::Eq, request));
    rules.insert(
        libc::SYS_ioctl,
        refused.into_iter().collect::<Result<_, _>>()?,
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
    rules.extend(sockets::rules(cover)?);
    rules.extend(modes::rules()?);
    Ok(rules)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_is_short() {
        for internet in [true, false] {
            for namespaces in [true, false] {
                let cover = Cover {
                    internet,
                    namespaces,
                    landlock_truncates: false,
                };
                let length = build(cover).unwrap().len();
                assert!(length < 900, "{cover:?}: {length} instructions");
            }
        }
    }
}
