//! Machines that a text names: addresses, names in URLs, names after the words that announce them.
//!
//! Must not look anything up.

use super::candidates::quoted;
use super::script::Script;

/// A machine that is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) port: Option<u16>,
}

impl Host {
    /// Whether it is this machine.
    pub(super) fn is_local(&self) -> bool {
        let name = self.name.as_str();
        let is_four =
            name.starts_with("127.") && name.bytes().all(|it| it.is_ascii_digit() || it == b'.');
        is_four
            || matches!(
                name,
                "localhost" | "::1" | "0.0.0.0" | "::" | "ip6-localhost"
            )
            || name.ends_with(".localhost")
    }

    /// With its port, if it has one that was chosen.
    pub(super) fn with_port(&self) -> String {
        self.port
            .filter(|port| *port != 0)
            .map_or(self.name.clone(), |port| format!("{}:{port}", self.name))
    }
}

/// How many of a text are found.
const MAX_HOSTS: usize = 20;

/// Words before the name of a machine.
const ANNOUNCING: [&str; 14] = [
    "host",
    "host:",
    "hostname",
    "hostname:",
    "name",
    "up",
    "getaddrinfo",
    "eai_again",
    "enotfound",
    "lookup",
    "address",
    "for",
    "to",
    "connect",
];

/// The machines that a text names.
pub(super) fn hosts_in(text: &str) -> Vec<Host> {
    let mut hosts: Vec<Host> = Vec::new();
    let is_border = |letter: char| letter.is_whitespace() || "'\"`()<>,;{}‘’“”|".contains(letter);
    let mut before = String::new();
    for word in text.split(is_border).filter(|word| !word.is_empty()) {
        let host = host_of(word, &before);
        if let Some(host) = host.filter(|host| !hosts.contains(host)) {
            hosts.push(host);
        }
        before = word.to_lowercase();
        if hosts.len() >= MAX_HOSTS {
            break;
        }
    }
    hosts
}

fn host_of(word: &str, before: &str) -> Option<Host> {
    if let Some((scheme, rest)) = word.split_once("://") {
        let is_net = !matches!(scheme, "file" | "unix") && !scheme.is_empty();
        return is_net.then(|| authority(rest)).flatten();
    }
    if let Some(rest) = word
        .strip_prefix("/dev/tcp/")
        .or_else(|| word.strip_prefix("/dev/udp/"))
    {
        let (name, port) = rest.split_once('/').unwrap_or((rest, ""));
        return Some(Host {
            name: name.to_owned(),
            port: port.parse().ok(),
        });
    }
    let word = word
        .trim_end_matches(['.', ':', '\\'])
        .trim_start_matches('=');
    if let Some((user, rest)) = word.split_once('@') {
        let name = rest.split([':', '/']).next().unwrap_or(rest);
        let is_user = !user.is_empty()
            && user
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || b"._-".contains(&it));
        return (is_user && is_host_name(name)).then(|| Host {
            name: name.to_owned(),
            port: None,
        });
    }
    let value = word.rsplit('=').next().unwrap_or(word);
    let host = authority(value).filter(|host| is_address(&host.name) || host.name == "localhost");
    host.or_else(|| {
        authority(word).filter(|host| {
            ANNOUNCING.contains(&before) && is_host_name(&host.name) && host.name.contains('.')
        })
    })
}

/// `user@name:port/path` without what is around the name and the port.
fn authority(rest: &str) -> Option<Host> {
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let rest = &rest[..end];
    let rest = rest.rsplit('@').next().unwrap_or(rest);
    if let Some(rest) = rest.strip_prefix('[') {
        let (name, port) = rest.split_once(']')?;
        return Some(Host {
            name: name.to_owned(),
            port: port.trim_start_matches(':').parse().ok(),
        });
    }
    let (name, port) = rest.split_once(':').unwrap_or((rest, ""));
    if rest == "::1" || rest == "::" {
        return Some(Host {
            name: rest.to_owned(),
            port: None,
        });
    }
    let digits: String = port.chars().take_while(char::is_ascii_digit).collect();
    is_host_name(name).then(|| Host {
        name: name.to_owned(),
        port: digits.parse().ok(),
    })
}

fn is_host_name(name: &str) -> bool {
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || it == b'-' || it == b'.' || it == b'_';
    !name.is_empty()
        && name.len() < 254
        && name.bytes().all(is_letter)
        && name.starts_with(|it: char| it.is_ascii_alphanumeric())
        && !name.contains("..")
}

/// Whether a name is an address.
pub(super) fn is_address(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    matches!(name, "::1" | "::")
        || parts.len() == 4 && parts.iter().all(|part| part.parse::<u8>().is_ok())
}

/// Whether a word is the name of a machine and hardly anything else.
pub(super) fn looks_like_host(word: &str) -> bool {
    let endings = [
        "com", "org", "net", "io", "dev", "invalid", "local", "internal", "edu", "gov", "co", "ai",
        "app", "de", "fr", "eu", "uk", "test", "example", "lan", "home", "cloud",
    ];
    let ending = word.rsplit('.').next().unwrap_or("");
    is_address(word)
        || word == "localhost"
        || (word.contains('.') && is_host_name(word) && endings.contains(&ending))
}

/// The machines that the command names.
pub(super) fn hosts_of(script: &Script) -> Vec<Host> {
    let mut hosts = hosts_in(&script.text);
    for command in &script.commands {
        for word in command.arguments() {
            let name = word.rsplit('@').next().unwrap_or(word);
            let (name, port) = name.split_once(':').unwrap_or((name, ""));
            let host = Host {
                name: name.to_owned(),
                port: port.parse().ok(),
            };
            if looks_like_host(name) && !hosts.iter().any(|it| it.name == host.name) {
                hosts.push(host);
            }
        }
    }
    for literal in quoted(&script.text) {
        if looks_like_host(literal) && !hosts.iter().any(|it| it.name == literal) {
            hosts.push(Host {
                name: literal.to_owned(),
                port: None,
            });
        }
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_found_in_messages_and_commands() {
        for (text, host, port) in [
            (
                "curl: (6) Could not resolve host: pypi.org",
                "pypi.org",
                None,
            ),
            (
                "Failed to connect to localhost port 18 after 0 ms",
                "localhost",
                None,
            ),
            (
                "request to https://registry.npmjs.org/x failed",
                "registry.npmjs.org",
                None,
            ),
            (
                "git clone git@git.example.invalid:org/repo.git",
                "git.example.invalid",
                None,
            ),
            (
                "urlopen('http://127.0.0.1:18473/ok')",
                "127.0.0.1",
                Some(18473),
            ),
            ("echo > /dev/tcp/192.0.2.1/80", "192.0.2.1", Some(80)),
            (
                "listen tcp6 [::1]:0: socket: operation not permitted",
                "::1",
                Some(0),
            ),
            ("connect EPERM 192.0.2.1:80 - Local", "192.0.2.1", Some(80)),
        ] {
            let found = hosts_in(text);
            assert_eq!(
                found.first(),
                Some(&Host {
                    name: host.into(),
                    port
                }),
                "{text}: {found:?}"
            );
        }
        assert_eq!(
            hosts_in("cat: x.txt: No such file or directory /etc/hosts file:///x"),
            []
        );
    }
}
