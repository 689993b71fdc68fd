//! Every known way out of the sandbox, tried by a program that wants out.
//!
//! `tests/attacks/attack.py` holds the attacks. First they are made without a sandbox, where each that
//! is harmless has to work; then confined, where none may, beyond what the policy allows and the
//! gaps that the report names. They are aimed at a victim of the same user, at every thread of the
//! server and of its host, and at a command that runs beside the attacker.

mod battlefield;
mod matrix;

/// Who runs server, attacker and victim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    /// Whoever runs the tests; root in CI.
    Tester,
    Nobody,
}

/// What the sandbox is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sandbox {
    Full,
    FullByFork,
    FullFromAWarmShell,
    FullInAStandbyHost,
    FullWithoutNetwork,
    NoUserNamespaces,
    NoSeccomp,
    FirstLandlock,
    FirstLandlockNoUserNamespaces,
}

/// With a network, commands may use that of the machine.
const ALLOWED_BY_NETWORK: [&str; 5] = [
    "connect_by_tcp",
    "send_with_tcp_fast_open",
    "connect_by_multipath_tcp",
    "send_by_udp",
    "ask_the_kernel_about_the_network",
];

/// What stays open without user namespaces, as the report says there.
const GAPS_WITHOUT_NAMESPACES: [&str; 11] = [
    "see_that_a_file_exists",
    "ask_whether_a_file_is_accessible",
    "read_where_a_link_points",
    "read_an_attribute",
    "enter_a_directory",
    "watch_a_directory",
    "change_a_mode",
    "change_an_owner",
    "change_times",
    "change_an_attribute",
    "read_shared_memory",
];

/// What stays open without the filter.
const GAPS_WITHOUT_FILTER: [&str; 24] = [
    "ask_the_kernel_by_an_unusual_protocol",
    "change_a_line_discipline",
    "have_crashes_handled_outside",
    "make_a_pair_of_unusual_sockets",
    "make_a_set_group_id_file_by_openat",
    "make_a_set_user_id_file_by_creat",
    "make_a_set_user_id_file_by_mknod",
    "make_a_set_user_id_file_by_mknodat",
    "make_a_set_user_id_file_by_open",
    "make_a_set_user_id_file_by_openat",
    "make_a_set_user_id_file_by_openat2",
    "make_a_set_user_id_file_without_a_name",
    "open_a_socket_to_the_hypervisor",
    "set_a_group_id_by_chmod",
    "set_a_user_id_by_chmod",
    "set_a_user_id_by_fchmod",
    "set_a_user_id_by_fchmodat",
    "set_a_user_id_by_fchmodat2",
    "type_into_a_terminal",
    "use_an_unusual_kind_of_socket",
    "use_an_unusual_protocol_of_the_internet",
    "use_io_uring",
    "use_kernel_aio",
    "use_the_keyring",
];

/// What Landlock does not know before its sixth version, where nothing else covers it.
const GAP_OF_OLD_LANDLOCK: &str = "connect_to_an_abstract_socket";
const GAPS_OF_OLD_LANDLOCK_WITHOUT_NAMESPACES: [&str; 3] = [
    "signal_a_process",
    "signal_a_thread",
    "signal_through_a_descriptor",
];

/// Where root runs the server, the machine's devices and kernel files are the user's own too.
const GAPS_FOR_ROOT_WITHOUT_NAMESPACES: [&str; 2] = [
    "change_the_mode_of_a_device",
    "change_the_mode_of_a_kernel_file",
];

fn sorted(lists: &[&[&'static str]]) -> Vec<&'static str> {
    let mut all = lists.concat();
    all.sort_unstable();
    all
}

/// Whoever runs the tests, and an ordinary user besides if root runs them.
fn users() -> Vec<User> {
    let mut users = vec![User::Tester];
    if rustix::process::geteuid().is_root() {
        users.push(User::Nobody);
    }
    users
}

fn gaps_of_root(user: User) -> &'static [&'static str] {
    let is_root = user == User::Tester && rustix::process::geteuid().is_root();
    match is_root {
        true => &GAPS_FOR_ROOT_WITHOUT_NAMESPACES,
        false => &[],
    }
}

fn nothing_is_reached_beyond(user: User, sandbox: Sandbox, expected: &[&'static str]) {
    let outcome = battlefield::confined(user, sandbox);
    let results = &outcome.results;
    assert_eq!(
        outcome.reached(),
        expected,
        "{user:?} {sandbox:?}: {results:#?}"
    );
    let script = include_str!("../attacks/attack.py");
    let all = script.lines().filter(|line| line.starts_with("@attack("));
    assert_eq!(results.len(), all.count(), "every attack was made");
    if !matches!(
        sandbox,
        Sandbox::NoUserNamespaces | Sandbox::FirstLandlockNoUserNamespaces
    ) {
        assert!(!outcome.changed_outside);
    }
}

/// Proves: S29.
#[test]
fn without_a_sandbox_the_attacks_work() {
    for user in users() {
        let outcome = battlefield::unconfined(user);
        let results = outcome.results.iter();
        let failed: Vec<_> = results.filter(|(_, it)| *it != "REACHED").collect();
        assert!(failed.is_empty(), "{user:?}: {failed:#?}");
        assert!(outcome.changed_outside);
    }
}

/// Proves: S9, S29, S51, S52.
#[test]
fn no_attack_reaches_anything() {
    for user in users() {
        nothing_is_reached_beyond(user, Sandbox::Full, &sorted(&[&ALLOWED_BY_NETWORK]));
    }
}

/// Proves: S29.
#[test]
fn no_attack_reaches_anything_when_commands_are_forked() {
    for user in users() {
        nothing_is_reached_beyond(user, Sandbox::FullByFork, &sorted(&[&ALLOWED_BY_NETWORK]));
    }
}

/// Proves: S39, S52.
#[test]
fn no_attack_reaches_anything_from_a_warm_shell() {
    for user in users() {
        let sandbox = Sandbox::FullFromAWarmShell;
        nothing_is_reached_beyond(user, sandbox, &sorted(&[&ALLOWED_BY_NETWORK]));
    }
}

/// Proves: S49, S52.
#[test]
fn no_attack_reaches_anything_from_a_host_that_waited_for_its_policy() {
    for user in users() {
        let sandbox = Sandbox::FullInAStandbyHost;
        nothing_is_reached_beyond(user, sandbox, &sorted(&[&ALLOWED_BY_NETWORK]));
    }
}

/// Proves: S24.
#[test]
fn without_network_no_attack_reaches_the_network_either() {
    for user in users() {
        nothing_is_reached_beyond(user, Sandbox::FullWithoutNetwork, &[]);
    }
}

/// Proves: S23.
#[test]
fn without_user_namespaces_attacks_reach_what_the_report_names() {
    for user in users() {
        let of_root = gaps_of_root(user);
        let expected = sorted(&[&ALLOWED_BY_NETWORK, &GAPS_WITHOUT_NAMESPACES, of_root]);
        nothing_is_reached_beyond(user, Sandbox::NoUserNamespaces, &expected);
    }
}

/// Proves: S29.
#[test]
fn without_the_filter_the_other_layers_hold() {
    for user in users() {
        let expected = sorted(&[&ALLOWED_BY_NETWORK, &GAPS_WITHOUT_FILTER]);
        nothing_is_reached_beyond(user, Sandbox::NoSeccomp, &expected);
    }
}

/// Proves: S29.
#[test]
fn with_the_first_landlock_attacks_reach_what_the_report_names() {
    for user in users() {
        let expected = sorted(&[&ALLOWED_BY_NETWORK, &[GAP_OF_OLD_LANDLOCK]]);
        nothing_is_reached_beyond(user, Sandbox::FirstLandlock, &expected);
    }
}

/// Proves: S29.
#[test]
fn with_the_first_landlock_and_no_user_namespaces_attacks_reach_what_the_report_names() {
    for user in users() {
        let expected = sorted(&[
            &ALLOWED_BY_NETWORK,
            &GAPS_WITHOUT_NAMESPACES,
            &GAPS_OF_OLD_LANDLOCK_WITHOUT_NAMESPACES,
            gaps_of_root(user),
        ]);
        let sandbox = Sandbox::FirstLandlockNoUserNamespaces;
        nothing_is_reached_beyond(user, sandbox, &expected);
    }
}
