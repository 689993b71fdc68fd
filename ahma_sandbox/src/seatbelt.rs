//! The macOS sandbox as text: a policy becomes a Seatbelt profile and the parameters it needs.
//!
//! A pure function. Paths are parameters of the profile and never part of its text, so that no
//! character in a path can change its meaning. This was tested as text only, never on macOS.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::policy::{Network, SandboxPolicy};

/// A profile for `/usr/bin/sandbox-exec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatbeltProfile {
    /// The rules, in Apple's Sandbox Profile Language, one statement a line.
    pub text: String,
    /// The paths the rules speak of, by name.
    pub parameters: Vec<(String, PathBuf)>,
}

/// What every program needs, whatever the policy.
const BASE: [&str; 8] = [
    "(version 1)",
    "(deny default)",
    "(allow process*)",
    "(allow signal (target same-sandbox))",
    "(allow sysctl-read)",
    "(allow ipc-posix-sem)",
    "(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))",
    "(allow file-read*)",
];

/// Devices that hold nothing of anyone.
const DEVICES: &str = "(allow file-write-data (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/dtracehelper\"))";

/// The profile of a policy: everything can be read, only the scope, the operator's grants and
/// private directories can be written, and the network is there when the policy says so.
pub fn seatbelt_profile(policy: &SandboxPolicy) -> SeatbeltProfile {
    let mut lines: Vec<String> = BASE.iter().map(|line| (*line).to_owned()).collect();
    lines.push(DEVICES.to_owned());
    let mut parameters = vec![
        ("SCOPE".to_owned(), policy.scope.clone()),
        ("HOME".to_owned(), policy.home()),
        ("TEMPORARY".to_owned(), policy.temporary()),
    ];
    let grants = policy.write.iter().enumerate();
    parameters.extend(grants.map(|(number, path)| (format!("WRITE_{number}"), path.clone())));
    let writable = policy.writable();
    parameters.retain(|(_, path)| writable.contains(path));
    for (name, path) in &mut parameters {
        *path = real(path);
        lines.push(format!("(allow file-write* (subpath (param \"{name}\")))"));
    }
    // Of several rules that fit, the last one counts.
    let protected = policy.protect.iter().chain(&policy.protect_in_place);
    for (number, path) in protected.enumerate() {
        let name = format!("PROTECT_{number}");
        lines.push(format!("(deny file-write* (subpath (param \"{name}\")))"));
        parameters.push((name, real(path)));
    }
    if policy.network == Network::On {
        lines.push("(allow network*)".to_owned());
    }
    let mut text = lines.join("\n");
    text.push('\n');
    SeatbeltProfile { text, parameters }
}

impl SeatbeltProfile {
    /// The arguments of `/usr/bin/sandbox-exec` for a command.
    pub fn arguments(&self, command: &[OsString]) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["-p".into(), self.text.clone().into()];
        for (name, path) in &self.parameters {
            let mut definition = OsString::from(format!("{name}="));
            definition.push(path);
            arguments.extend(["-D".into(), definition]);
        }
        arguments.push("--".into());
        arguments.extend_from_slice(command);
        arguments
    }
}

/// The path as the kernel of macOS knows it: these directories are links into `/private`.
fn real(path: &Path) -> PathBuf {
    for link in ["/tmp", "/var", "/etc"] {
        if path.starts_with(link) {
            return Path::new("/private").join(path.strip_prefix("/").unwrap_or(path));
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> SandboxPolicy {
        let mut policy = SandboxPolicy::new("/Users/me/project", "/var/folders/x/ahma-1");
        policy.write.push("/tmp/shared".into());
        policy
    }

    /// Proves: S13.
    #[test]
    fn every_statement_is_on_one_line_and_denial_comes_first() {
        let text = seatbelt_profile(&policy()).text;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["(version 1)", "(deny default)"]);
        for line in lines {
            let count = |bracket| line.matches(bracket).count();
            assert!(line.starts_with('(') && line.ends_with(')'), "{line}");
            assert_eq!(count('('), count(')'), "{line}");
        }
        assert!(!text.contains("(allow default)"));
    }

    #[test]
    fn protected_paths_are_denied_after_everything_was_allowed() {
        let mut policy = policy();
        policy.protect.push("/Users/me/project/.git/hooks".into());
        let profile = seatbelt_profile(&policy);
        let lines: Vec<&str> = profile.text.lines().collect();
        let denial = "(deny file-write* (subpath (param \"PROTECT_0\")))";
        let place = lines.iter().position(|line| *line == denial).unwrap();
        let allowed = lines
            .iter()
            .rposition(|line| line.starts_with("(allow file-write"));
        assert!(allowed.unwrap() < place, "{lines:#?}");
        let path = (
            "PROTECT_0".to_owned(),
            "/Users/me/project/.git/hooks".into(),
        );
        assert!(
            profile.parameters.contains(&path),
            "{:?}",
            profile.parameters
        );
    }

    /// Proves: S14.
    #[test]
    fn only_the_scope_and_private_directories_can_be_written() {
        let profile = seatbelt_profile(&policy());
        let writes: Vec<&str> = profile
            .text
            .lines()
            .filter(|line| line.starts_with("(allow file-write*"))
            .collect();
        assert_eq!(
            writes,
            ["SCOPE", "HOME", "TEMPORARY", "WRITE_0"]
                .map(|name| format!("(allow file-write* (subpath (param \"{name}\")))"))
        );
        assert!(profile.text.contains("(allow file-read*)\n"));
        assert!(
            !profile.text.contains("/private/tmp"),
            "other programs share it"
        );
    }

    #[test]
    fn a_read_only_policy_leaves_temporary_files_alone_writable() {
        let mut policy = policy();
        policy.read_only = true;
        let profile = seatbelt_profile(&policy);
        let writes = profile
            .text
            .lines()
            .filter(|line| line.starts_with("(allow file-write*"));
        assert_eq!(
            writes.collect::<Vec<_>>(),
            ["(allow file-write* (subpath (param \"TEMPORARY\")))"]
        );
    }

    /// Proves: S13.
    #[test]
    fn paths_are_parameters_and_real() {
        let profile = seatbelt_profile(&policy());
        let expected = [
            ("SCOPE", "/Users/me/project"),
            ("HOME", "/private/var/folders/x/ahma-1/home"),
            ("TEMPORARY", "/private/var/folders/x/ahma-1/tmp"),
            ("WRITE_0", "/private/tmp/shared"),
        ];
        let expected = expected.map(|(name, path)| (name.to_owned(), PathBuf::from(path)));
        assert_eq!(profile.parameters, expected);
        for (name, _) in &profile.parameters {
            assert_eq!(
                profile.text.matches(&format!("(param \"{name}\")")).count(),
                1,
                "{name}"
            );
        }
    }

    #[test]
    fn a_hostile_path_cannot_change_the_rules() {
        for name in ["/a\")(allow default)", "/a\nb", "/a\\", "/a b", "/ü (\""] {
            let hostile = SandboxPolicy::new(name, "/s");
            let profile = seatbelt_profile(&hostile);
            let harmless = seatbelt_profile(&SandboxPolicy::new("/x", "/s"));
            assert_eq!(profile.text, harmless.text, "{name:?}");
            assert_eq!(profile.parameters[0].1, Path::new(name));
        }
    }

    #[test]
    fn the_network_is_there_only_when_it_is_allowed() {
        let mut policy = policy();
        assert!(
            seatbelt_profile(&policy)
                .text
                .contains("(allow network*)\n")
        );
        policy.network = Network::Off;
        assert!(!seatbelt_profile(&policy).text.contains("network"));
    }

    #[test]
    fn the_command_stands_behind_the_rules() {
        let profile = seatbelt_profile(&SandboxPolicy::new("/x", "/s"));
        let arguments = profile.arguments(&["/bin/echo".into(), "-p".into()]);
        let tail: Vec<_> = arguments[arguments.len() - 3..].iter().collect();
        assert_eq!(tail, ["--", "/bin/echo", "-p"]);
        assert_eq!(arguments[0], "-p");
        assert!(arguments.contains(&"SCOPE=/x".into()));
    }
}
