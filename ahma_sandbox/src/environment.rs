//! The environment of commands: built from an allowlist, never inherited.
//!
//! A function of the server's variables and the policy; nothing here reads the environment itself.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::policy::SandboxPolicy;
use crate::system_paths::is_system_path;

/// Variables that pass through when the server has them: they say how text looks and what time it
/// is, and hold no secrets.
const PASSED_ON: [&str; 4] = ["LANG", "LANGUAGE", "TZ", "COLORTERM"];

/// Where programs are looked for when the server has no PATH.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// The variables every command of this policy starts with. `server` holds the server's own, of which
/// only harmless ones and those named in `also` pass.
pub fn command_environment(
    policy: &SandboxPolicy,
    server: &BTreeMap<OsString, OsString>,
    also: &[OsString],
) -> BTreeMap<OsString, OsString> {
    let mut environment: BTreeMap<OsString, OsString> = BTreeMap::new();
    for (name, value) in server {
        let is_locale = name.as_encoded_bytes().starts_with(b"LC_");
        let passes = PASSED_ON.iter().any(|passed| name == passed) || is_locale;
        if passes || also.contains(name) {
            environment.insert(name.clone(), value.clone());
        }
    }
    let mut set = |name: &str, value: &OsStr| {
        environment
            .entry(name.into())
            .or_insert_with(|| value.to_owned());
    };
    set("PATH", &usable_path(server.get(OsStr::new("PATH")), policy));

    let home = policy.home();
    let temporary = policy.temporary();
    set("HOME", home.as_os_str());
    for name in ["TMPDIR", "TMP", "TEMP"] {
        set(name, temporary.as_os_str());
    }
    for (name, directory) in [
        ("XDG_CACHE_HOME", ".cache"),
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_STATE_HOME", ".local/state"),
        ("XDG_RUNTIME_DIR", ".run"),
    ] {
        set(name, home.join(directory).as_os_str());
    }
    // Nobody sits at a terminal: no pagers, no prompts, no colours.
    for (name, value) in [
        ("USER", "ahma"),
        ("LOGNAME", "ahma"),
        ("SHELL", "/bin/sh"),
        ("TERM", "dumb"),
        ("NO_COLOR", "1"),
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("MANPAGER", "cat"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_EDITOR", "true"),
        ("EDITOR", "true"),
        ("VISUAL", "true"),
        ("DEBIAN_FRONTEND", "noninteractive"),
        ("PIP_NO_INPUT", "1"),
        ("npm_config_yes", "true"),
        ("npm_config_update_notifier", "false"),
        ("npm_config_fund", "false"),
    ] {
        set(name, OsStr::new(value));
    }
    environment
}

/// The server's PATH without directories commands cannot use: an entry that exists but is not
/// readable makes a shell stop there instead of looking further.
fn usable_path(server: Option<&OsString>, policy: &SandboxPolicy) -> OsString {
    let Some(server) = server else {
        return USUAL_PATH.into();
    };
    let granted = |directory: &Path| {
        let mut roots = policy
            .read
            .iter()
            .chain(&policy.write)
            .chain([&policy.scope]);
        directory.is_absolute()
            && (is_system_path(directory) || roots.any(|root| directory.starts_with(root)))
    };
    let kept: Vec<_> = std::env::split_paths(server)
        .filter(|entry| granted(entry))
        .collect();
    match std::env::join_paths(kept) {
        Ok(path) if !path.is_empty() => path,
        _ => USUAL_PATH.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(variables: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
        variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    fn environment(variables: &[(&str, &str)], also: &[&str]) -> BTreeMap<OsString, OsString> {
        let policy = SandboxPolicy::new("/project", "/run/session");
        let also: Vec<OsString> = also.iter().map(OsString::from).collect();
        command_environment(&policy, &server(variables), &also)
    }

    #[test]
    fn secrets_and_variables_that_load_code_do_not_pass() {
        let secrets = [
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("GITHUB_TOKEN", "x"),
            ("OPENAI_API_KEY", "x"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus"),
            ("LD_PRELOAD", "/tmp/evil.so"),
            ("BASH_ENV", "/tmp/evil.sh"),
            ("NODE_OPTIONS", "--require /tmp/evil.js"),
            ("GIT_SSH_COMMAND", "evil"),
            ("AHMA_HTTP_TOKEN", "x"),
        ];
        let environment = environment(&secrets, &[]);
        for (name, _) in secrets {
            assert!(!environment.contains_key(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_variable_the_operator_names_passes() {
        let environment = environment(&[("GH_TOKEN", "x"), ("OTHER", "y")], &["GH_TOKEN"]);
        assert_eq!(environment.get(OsStr::new("GH_TOKEN")), Some(&"x".into()));
        assert_eq!(environment.get(OsStr::new("OTHER")), None);
    }

    #[test]
    fn home_and_temporary_files_are_private() {
        let environment = environment(&[("HOME", "/home/me"), ("TMPDIR", "/tmp")], &[]);
        assert_eq!(environment[OsStr::new("HOME")], "/run/session/home");
        assert_eq!(environment[OsStr::new("TMPDIR")], "/run/session/tmp");
        assert_eq!(
            environment[OsStr::new("XDG_CACHE_HOME")],
            "/run/session/home/.cache"
        );
    }

    #[test]
    fn the_search_path_keeps_only_what_commands_can_use() {
        let path = "/home/me/.cargo/bin:/usr/local/bin:/project/bin:relative:/usr/bin";
        let environment = environment(&[("PATH", path)], &[]);
        assert_eq!(
            environment[OsStr::new("PATH")],
            "/usr/local/bin:/project/bin:/usr/bin"
        );
    }

    #[test]
    fn locale_and_time_zone_pass() {
        let environment = environment(
            &[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C"), ("TZ", "UTC")],
            &[],
        );
        for (name, value) in [("LANG", "de_DE.UTF-8"), ("LC_ALL", "C"), ("TZ", "UTC")] {
            assert_eq!(environment[OsStr::new(name)], value);
        }
    }
}
