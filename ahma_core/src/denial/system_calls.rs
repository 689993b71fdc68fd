//! What the kernel refuses to every command in a sandbox, and would not refuse to its user.
//!
//! Must not blame the sandbox for what an ordinary user is refused anyway.

use super::case::Case;
use super::complaints::Complaint;
use super::denied::{Denial, DenialKind};
use super::network::OTHER_SOCKETS;
use super::phrases::Class;
use super::places::Place;
use super::script::Simple;

/// Programs and calls that the sandbox refuses to everyone.
const FOR_EVERYONE: [(&str, &str); 22] = [
    ("unshare", "unshare"),
    ("bwrap", "unshare"),
    ("newuidmap", "newuidmap"),
    ("nsenter", "setns"),
    ("keyctl", "keyctl"),
    ("perf", "perf_event_open"),
    ("perf_event_open", "perf_event_open"),
    ("io_uring", "io_uring_setup"),
    ("bpf", "bpf"),
    ("bpftool", "bpf"),
    ("bpftrace", "bpf"),
    ("userfaultfd", "userfaultfd"),
    ("add_key", "add_key"),
    ("request_key", "request_key"),
    ("systemd-run", "systemd-run"),
    ("flatpak", "unshare"),
    ("rootlesskit", "unshare"),
    ("setarch", "personality"),
    ("prlimit", "prlimit64"),
    ("clone_newuser", "unshare"),
    ("ping", "ping"),
    ("io_setup", "io_setup"),
];
/// What only root may do, and root in the sandbox may not.
const FOR_ROOT: [(&str, &str); 39] = [
    ("chown", "chown"),
    ("lchown", "chown"),
    ("fchown", "chown"),
    ("chgrp", "chown"),
    ("setgroups", "setgroups"),
    ("setuid", "setuid"),
    ("setgid", "setgid"),
    ("setreuid", "setuid"),
    ("su", "su"),
    ("sudo", "sudo"),
    ("runuser", "runuser"),
    ("dmesg", "dmesg"),
    ("ping", "ping"),
    ("hostname", "sethostname"),
    ("sethostname", "sethostname"),
    ("date", "settimeofday"),
    ("mount", "mount"),
    ("ptrace", "ptrace"),
    ("gdb", "ptrace"),
    ("strace", "ptrace"),
    ("umount", "umount"),
    ("swapon", "swapon"),
    ("modprobe", "modprobe"),
    ("insmod", "insmod"),
    ("chroot", "chroot"),
    ("iptables", "iptables"),
    ("nft", "nft"),
    ("mknod", "mknod"),
    ("losetup", "losetup"),
    ("reboot", "reboot"),
    ("tcpdump", "tcpdump"),
    ("setcap", "setcap"),
    ("sysctl", "sysctl"),
    ("useradd", "useradd"),
    ("setpriv", "setpriv"),
    ("ip", "ip"),
    ("chattr", "chattr"),
    ("renice", "setpriority"),
    ("nice", "setpriority"),
];

pub(super) fn judge(case: &Case<'_>, complaint: &Complaint) -> Option<Denial> {
    let text = &case.script.text;
    let speaker = complaint.speaker();
    if refused_mount(case, complaint) {
        return Some(denied(speaker));
    }
    // Mounts and priorities are refused with other words.
    let is_denied = complaint.says(Class::Denied) && case.view.is_root;
    let is_for_root = is_denied && FOR_ROOT.iter().any(|(name, _)| *name == speaker);
    let is_refused = complaint.says(Class::NotPermitted) || is_for_root;
    if complaint.line.contains("cannot modify limit") {
        return None;
    }
    // The kernel says that no namespaces are left, and root that a user is not known.
    let is_namespace = complaint.says(Class::NoSpace)
        && (speaker == "unshare"
            || complaint.line.contains("namespace")
            || text.contains("unshare"));
    let is_owner = complaint.says(Class::Invalid) && case.view.is_root;
    if is_owner
        && (complaint.line.contains("ownership")
            || complaint.line.contains("chown")
            || complaint.line.contains("changing group"))
    {
        return Some(denied("chown"));
    }
    if is_owner && let Some(call) = named(&FOR_ROOT[..11], case, speaker) {
        return Some(denied(call));
    }
    if !is_refused && !is_namespace {
        return None;
    }
    let other_socket = OTHER_SOCKETS.iter().find(|kind| text.contains(**kind));
    if let Some(kind) = other_socket {
        // Raw sockets are for root alone anyway.
        let is_for_everyone = !matches!(*kind, "SOCK_RAW" | "AF_PACKET");
        return (is_for_everyone || case.view.is_root).then(|| denied("socket"));
    }
    if let Some(call) = named(&FOR_EVERYONE, case, speaker) {
        return Some(denied(call));
    }
    if let Some(call) = numbered(text) {
        return Some(denied(call));
    }
    if sets_user_id(case) {
        return Some(denied("chmod"));
    }
    if complaint.line.to_lowercase().contains("no new privileges")
        || complaint.line.contains("effective uid is not 0")
        || complaint.line.contains("setuid bit")
    {
        return Some(denied(speaker));
    }
    if !case.view.is_root {
        return None;
    }
    let known = named(&FOR_ROOT, case, speaker);
    let is_run = || {
        case.script
            .commands
            .iter()
            .find(|command| command.name() == speaker)
            .map(Simple::name)
    };
    known.or_else(is_run).map(denied)
}

/// Whether root was to change mounts: programs look for the directory first, which commands do not see either.
fn refused_mount(case: &Case<'_>, complaint: &Complaint) -> bool {
    let is_hidden = |name: &String| {
        let path = case.resolve(name, complaint);
        name.contains('/') && path.is_some_and(|path| !matches!(case.place(&path), Place::Scope))
    };
    let is_mount = matches!(complaint.speaker(), "mount" | "umount");
    case.view.is_root && is_mount && complaint.names.iter().any(is_hidden)
}

/// Calls that the sandbox refuses, by their numbers on the usual processors.
const NUMBERS: [(&str, &str); 20] = [
    ("425", "io_uring_setup"),
    ("426", "io_uring_enter"),
    ("427", "io_uring_register"),
    ("321", "bpf"),
    ("298", "perf_event_open"),
    ("323", "userfaultfd"),
    ("248", "add_key"),
    ("249", "request_key"),
    ("250", "keyctl"),
    ("272", "unshare"),
    ("308", "setns"),
    ("103", "syslog"),
    ("246", "kexec_load"),
    ("175", "init_module"),
    ("313", "finit_module"),
    ("155", "pivot_root"),
    ("304", "open_by_handle_at"),
    ("165", "mount"),
    ("437", "openat2"),
    ("206", "io_setup"),
];

/// A call that code makes by its number.
fn numbered(text: &str) -> Option<&'static str> {
    let mut calls = text.split("syscall(").skip(1);
    calls.find_map(|rest| {
        let number: String = rest
            .trim_start()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        NUMBERS
            .iter()
            .find(|(it, _)| *it == number)
            .map(|(_, call)| *call)
    })
}

/// What a program or the code that is run is called, in a table.
fn named(table: &[(&str, &'static str)], case: &Case<'_>, speaker: &str) -> Option<&'static str> {
    let said = table.iter().find(|(name, _)| *name == speaker);
    let is_run = |name: &str| {
        case.script
            .commands
            .iter()
            .any(|command| command.name() == name)
    };
    let called = || {
        table
            .iter()
            .find(|(name, _)| case.calls(name) || is_run(name))
    };
    said.or_else(called).map(|(_, call)| *call)
}

/// Whether a mode with the bits is asked for that let a program run as its owner.
fn sets_user_id(case: &Case<'_>) -> bool {
    let is_mode = |word: &str| {
        let digits = word.len() == 4
            && word.bytes().all(|it| (b'0'..=b'7').contains(&it))
            && matches!(word.as_bytes()[0], b'2' | b'4' | b'6');
        let letters = word.contains("+s") || word.contains("=s") || word.contains("+gs");
        digits || letters
    };
    let by_program = case.script.commands.iter().any(|command| {
        matches!(command.name(), "chmod" | "install")
            && command.arguments().iter().any(|word| is_mode(word))
    });
    let code = &case.script.text;
    let by_code = code.contains("chmod")
        && ["0o4", "0o2", "0o6", "S_ISUID", "S_ISGID", "04755", "02755"]
            .iter()
            .any(|it| code.contains(it));
    by_program || by_code
}

fn denied(call: &str) -> Denial {
    Denial {
        kind: DenialKind::SyscallDenied,
        subject: call.to_owned(),
        owner_can: "none: refused for every command, run it outside".to_owned(),
        text: format!(
            "{call} was refused: what it asks of the kernel is refused to every command in the sandbox, also to \
             those of root, and no option allows it. Trying again will not help; the owner can run the command \
             outside the sandbox."
        ),
    }
}
