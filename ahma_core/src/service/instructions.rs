//! What a client is told when it begins: what the sandbox allows, and how operations work.

use std::path::PathBuf;

use ahma_sandbox::{Network, SandboxPolicy};

/// How calls are answered.
const ASYNC: &str = "A call that runs a command answers with the result when that is there in a moment, else with an \
    operation id, and the command goes on in the background; `await` gives results, `status` lists operations, `cancel` \
    stops one, and `read_output` reads output that was too long to show.";
const SYNC: &str = "A call that runs a command answers with its result. `read_output` reads output that was too long \
    to show.";
/// What every tool that runs a command takes.
const PARAMETERS: &str = "Parameters of every such call: `working_directory` (default: the scope); `execution_mode`: `async` \
    (the default of most), `sync` (waits), `auto` (waits for 10 s), or, where it is offered, `service` (no deadline; \
    answers when `ready` holds: a `port` is listened on or a line matches a `pattern`); `timeout_seconds`: the command is \
    stopped then.";
/// Paths that are listed one by one.
const MAX_LISTED: usize = 8;
/// How tools are found that are not listed.
const SEARCH: &str = "More tools can be found with `find_tools`.";

/// What a client is told. The scope is known, or is the first root of the client.
pub(super) fn instructions(
    policy: &SandboxPolicy,
    knows_scope: bool,
    is_unconfined: bool,
    always_sync: bool,
    has_hidden_tools: bool,
    gaps: Option<&str>,
) -> String {
    let operations = if always_sync { SYNC } else { ASYNC };
    let mut operations = format!("{operations} {PARAMETERS}");
    if has_hidden_tools {
        operations = format!("{operations} {SEARCH}");
    }
    if is_unconfined {
        return format!("The sandbox is switched off by the operator. {operations}");
    }
    let scope = match knows_scope {
        true => policy.scope.display().to_string(),
        false => "the client's first root".to_owned(),
    };
    let mut text = format!("Commands are confined by the kernel: they can write below {scope}");
    text += &listed(", and below ", &policy.write);
    text += " and to their temporary directory";
    text += &listed("; they can read ", &policy.read);
    text += ". Home and /tmp are private to them";
    if knows_scope && policy.scope.starts_with("/tmp") {
        text += ", so what they write to /tmp outside of the scope is not on the disk";
    }
    text += "; files that programs outside run, such as Git's hooks and settings of editors and agents, are read-only.";
    if let Some(gaps) = gaps {
        text += &format!(" The sandbox is incomplete on this machine: {gaps}.");
    }
    if policy.network == Network::Off {
        text += " They have no network but a loopback among themselves.";
    }
    format!("{text} {operations}")
}

/// Paths after a few words; nothing when there are none.
fn listed(before: &str, paths: &[PathBuf]) -> String {
    let shown = paths.iter().take(MAX_LISTED);
    let shown: Vec<String> = shown.map(|it| it.display().to_string()).collect();
    let more = match paths.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more (get_server_info names them)"),
    };
    match shown.as_slice() {
        [] => String::new(),
        shown => format!("{before}{}{more}", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: P25.
    #[test]
    fn what_is_granted_and_what_is_not_is_said() {
        let mut policy = SandboxPolicy::new("/home/me/project", "/run/ahma-1");
        let plain = instructions(&policy, true, false, false, false, None);
        assert!(
            plain.contains("write below /home/me/project and to"),
            "{plain}"
        );
        assert!(
            !plain.contains("no network") && !plain.contains("can read"),
            "{plain}"
        );
        policy.write = vec!["/srv/a".into(), "/srv/b".into()];
        policy.read = vec!["/opt/c".into()];
        policy.network = Network::Off;
        let told = instructions(&policy, true, false, true, false, None);
        for part in [
            "/home/me/project, and below /srv/a, /srv/b and to",
            "can read /opt/c",
            "no network",
            "/tmp are private",
            "read-only",
            "answers with its result",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let unknown = instructions(&policy, false, false, false, false, None);
        assert!(!unknown.contains("/home/me/project"), "{unknown}");
        assert!(instructions(&policy, true, true, false, false, None).contains("switched off"));
        let weak = instructions(&policy, true, false, false, false, Some("gaps are here"));
        assert!(
            weak.contains("incomplete on this machine: gaps are here"),
            "{weak}"
        );
        policy.read = (0..20)
            .map(|number| format!("/opt/{number}").into())
            .collect();
        let many = instructions(&policy, true, false, false, false, None);
        assert!(
            many.contains("/opt/7 and 12 more") && !many.contains("/opt/8"),
            "{many}"
        );
        policy.scope = "/tmp/x".into();
        assert!(
            instructions(&policy, true, false, false, false, None).contains("is not on the disk")
        );
    }
}
