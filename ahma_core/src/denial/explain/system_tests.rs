//! Explanations of what belongs to the whole machine: temporary files, devices, mounts, packages.

use super::super::DenialKind;
use super::tests::{ROOT, USUAL, check};

const RUN_OUTSIDE: &str = "none: refused for every command, run it outside";

#[test]
fn temporary_files_of_other_programs_are_not_those_of_commands() {
    check(
        &USUAL,
        "cat /tmp/other/x",
        "cat: /tmp/other/x: No such file or directory",
        (
            DenialKind::ReadOutside,
            "/tmp/other/x",
            "--sandbox-read /tmp/other/x",
        ),
    );
    check(
        &USUAL,
        "touch /var/tmp/other/x",
        "touch: cannot touch '/var/tmp/other/x': No such file or directory",
        (
            DenialKind::WriteOutside,
            "/var/tmp/other/x",
            "--sandbox-write /var/tmp/other",
        ),
    );
    check(
        &USUAL,
        "echo x > /tmp/other/y",
        "/bin/bash: line 1: /tmp/other/y: No such file or directory",
        (
            DenialKind::WriteOutside,
            "/tmp/other/y",
            "--sandbox-write /tmp/other",
        ),
    );
    let said = USUAL
        .denial("cat /tmp/x", "cat: /tmp/x: No such file or directory", 1)
        .unwrap();
    assert!(
        said.text.starts_with("Commands have a /tmp of their own"),
        "{}",
        said.text
    );
    // Beside a scope that is there.
    check(
        &USUAL,
        "touch /tmp/beside",
        "touch: cannot touch '/tmp/beside': Read-only file system",
        (
            DenialKind::WriteOutside,
            "/tmp/beside",
            "--sandbox-write /tmp",
        ),
    );
}

#[test]
fn what_a_command_makes_among_temporary_files_is_its_own_affair() {
    for (script, output) in [
        (
            "make > /tmp/log; cat /tmp/log",
            "cat: /tmp/log: No such file or directory",
        ),
        (
            "mkdir /tmp/a; cat /tmp/a/b",
            "cat: /tmp/a/b: No such file or directory",
        ),
        (
            "touch /tmp/x",
            "touch: cannot touch '/tmp/x': No such file or directory",
        ),
        ("make", "cat: /tmp/cc1234.s: No such file or directory"),
        (
            "cat /tmp/ahma-1/tmp/x",
            "cat: /tmp/ahma-1/tmp/x: No such file or directory",
        ),
        (
            "ls /tmp/*.log",
            "ls: cannot access '/tmp/*.log': No such file or directory",
        ),
    ] {
        assert_eq!(USUAL.denial(script, output, 1), None, "{script}");
    }
}

#[test]
fn disks_are_opened_by_no_grant() {
    let none = "none: run it outside";
    check(
        &ROOT,
        "head -c 9 /dev/sda",
        "head: cannot open '/dev/sda' for reading: No such file or directory",
        (DenialKind::ReadOutside, "/dev/sda", none),
    );
    check(
        &ROOT,
        "dd if=/dev/zero of=/dev/vda1",
        "dd: failed to open '/dev/vda1': Read-only file system",
        (DenialKind::WriteOutside, "/dev/vda1", none),
    );
    let output = "head: cannot open '/dev/vda' for reading: No such file or directory";
    assert_eq!(
        USUAL.denial("head -c 9 /dev/vda", output, 1),
        None,
        "for root alone anyway"
    );
    check(
        &USUAL,
        "cat /dev/kvm",
        "cat: /dev/kvm: No such file or directory",
        (
            DenialKind::ReadOutside,
            "/dev/kvm",
            "--sandbox-read /dev/kvm",
        ),
    );
}

#[test]
fn a_mount_is_refused_wherever_it_was_to_be() {
    for output in [
        "mount: /mnt: mount point does not exist.",
        "mount: /mnt: must be superuser to use mount.",
    ] {
        let expected = (DenialKind::SyscallDenied, "mount", RUN_OUTSIDE);
        check(&ROOT, "mount /dev/sda1 /mnt", output, expected);
    }
    check(
        &ROOT,
        "umount /proc",
        "umount: /proc: umount failed: No such file or directory.",
        (DenialKind::SyscallDenied, "umount", RUN_OUTSIDE),
    );
    // This one is missing, and can be made.
    let output = "mount: sub: mount point does not exist.";
    assert_eq!(ROOT.denial("mount -t tmpfs none sub", output, 32), None);
    let output = "mount: /mnt: must be superuser to use mount.";
    assert_eq!(USUAL.denial("mount /dev/sda1 /mnt", output, 32), None);
}

#[test]
fn packages_of_the_system_are_installed_outside() {
    let lock = "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (2: No such file or directory)\n\
                E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?";
    let outside = "install the packages outside";
    for (script, output, manager) in [
        ("apt-get install -y sl", lock, "apt-get"),
        ("apt install sl && sl", lock, "apt"),
        (
            "apt-get update",
            "E: List directory /var/lib/apt/lists/partial is missing. - Acquire (2: No such file or directory)",
            "apt-get",
        ),
        (
            "dpkg -i x.deb",
            "dpkg: error: requested operation requires superuser privilege",
            "dpkg",
        ),
    ] {
        check(&ROOT, script, output, (DenialKind::Other, manager, outside));
        assert_eq!(
            USUAL.denial("apt-get install -y sl", lock, 100),
            None,
            "for root alone anyway"
        );
    }
    let said = ROOT.denial("apt-get install sl", lock, 100).unwrap().text;
    assert!(said.contains("`python3 -m venv`"), "{said}");
}
