//! The environment of commands: built from an allowlist, never inherited.
//!
//! A function of the server's variables and the policy; nothing here reads the environment itself.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path};

use crate::policy::SandboxPolicy;
use crate::system_paths::is_readable;

/// Variables that pass through when the server has them: they say how text looks and what time it
/// is, and hold no secrets.
const PASSED_ON: [&str; 17] = [
    "LANG",
    "LANGUAGE",
    "TZ",
    "COLORTERM",
    "LC_ADDRESS",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
];

/// Variables that name files with certificates. They pass when commands can read those.
const CERTIFICATES: [&str; 8] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "NODE_EXTRA_CA_CERTS",
];

/// Variables that name a proxy. They pass when there is no room for a secret in them.
const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"];

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
        let passes = PASSED_ON.iter().any(|passed| name == passed)
            || CERTIFICATES.iter().any(|it| name == it) && is_granted(Path::new(value), policy)
            || is_proxy(name) && is_free_of_secrets(value);
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

/// Both spellings are in use.
fn is_proxy(name: &OsStr) -> bool {
    PROXIES.iter().any(|it| name.eq_ignore_ascii_case(it))
}

/// Whether the name of a proxy, or a list of hosts, is only that: a password, a query or a path could be a secret.
fn is_free_of_secrets(proxy: &OsStr) -> bool {
    let Some(text) = proxy.to_str() else {
        return false;
    };
    let (_, hosts) = text.split_once("://").unwrap_or(("", text));
    hosts.split(',').map(str::trim).all(|host| {
        // In a list of hosts, an address and the length of its network.
        let (host, network) = host.split_once('/').unwrap_or((host, ""));
        let is_name = |it: char| it.is_ascii_alphanumeric() || "._-:[]*%".contains(it);
        host.chars().all(is_name)
            && network.len() <= 3
            && network.chars().all(|it| it.is_ascii_digit())
    })
}

/// Whether commands can read a path.
fn is_granted(path: &Path, policy: &SandboxPolicy) -> bool {
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    let mut roots = policy
        .read
        .iter()
        .chain(&policy.write)
        .chain([&policy.scope]);
    path.is_absolute()
        && !goes_up
        && (is_readable(path) || roots.any(|root| path.starts_with(root)))
}

/// The server's PATH without directories commands cannot use: an entry that exists but is not
/// readable makes a shell stop there instead of looking further.
fn usable_path(server: Option<&OsString>, policy: &SandboxPolicy) -> OsString {
    let Some(server) = server else {
        return USUAL_PATH.into();
    };
    let kept: Vec<_> = std::env::split_paths(server)
        .filter(|entry| is_granted(entry, policy))
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

    /// Proves: S19.
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

    /// Proves: S48.
    #[test]
    fn certificates_pass_when_commands_can_read_them() {
        let environment = environment(
            &[
                ("SSL_CERT_FILE", "/etc/ssl/certs/ca.crt"),
                ("PIP_CERT", "/home/me/ca.crt"),
                ("CURL_CA_BUNDLE", "ca.crt"),
            ],
            &[],
        );
        let value = |name: &str| environment.get(OsStr::new(name));
        assert_eq!(
            value("SSL_CERT_FILE"),
            Some(&"/etc/ssl/certs/ca.crt".into())
        );
        assert_eq!((value("PIP_CERT"), value("CURL_CA_BUNDLE")), (None, None));
    }

    /// Proves: S48.
    #[test]
    fn a_proxy_passes_without_a_password() {
        let environment = environment(
            &[
                ("HTTPS_PROXY", "http://proxy:3128"),
                ("no_proxy", "localhost"),
                ("http_proxy", "http://me:secret@proxy:3128"),
            ],
            &[],
        );
        let value = |name: &str| environment.get(OsStr::new(name));
        assert_eq!(value("HTTPS_PROXY"), Some(&"http://proxy:3128".into()));
        assert_eq!(value("no_proxy"), Some(&"localhost".into()));
        assert_eq!(value("http_proxy"), None);
    }

    /// Proves: S48.
    #[test]
    fn a_proxy_passes_only_where_nothing_could_be_a_secret() {
        for (proxy, passes) in [
            ("http://proxy:3128", true),
            ("http://proxy:3128/", true),
            ("proxy.local", true),
            ("socks5h://[::1]:1080", true),
            ("localhost, 127.0.0.1,.corp,10.0.0.0/8,*.internal", true),
            ("http://me:secret@proxy:3128", false),
            ("http://proxy:3128/?token=secret", false),
            ("http://proxy:3128/secret", false),
            ("http://proxy:3128#secret", false),
            ("http://proxy/12345", false),
        ] {
            assert_eq!(is_free_of_secrets(OsStr::new(proxy)), passes, "{proxy}");
        }
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

    /// Proves: S19.
    #[test]
    fn locale_and_time_zone_pass_and_nothing_that_only_begins_like_them() {
        let other = environment(
            &[("LC_SECRET", "x"), ("LANG_TOKEN", "x"), ("TZDATA", "x")],
            &[],
        );
        for name in ["LC_SECRET", "LANG_TOKEN", "TZDATA"] {
            assert!(!other.contains_key(OsStr::new(name)), "{name}");
        }
        let environment = environment(
            &[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C"), ("TZ", "UTC")],
            &[],
        );
        for (name, value) in [("LANG", "de_DE.UTF-8"), ("LC_ALL", "C"), ("TZ", "UTC")] {
            assert_eq!(environment[OsStr::new(name)], value);
        }
    }
}
