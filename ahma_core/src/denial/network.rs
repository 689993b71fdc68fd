//! Other machines, and this one, that cannot be reached because commands have no network.
//!
//! The words are the same with a network; the view decides. Must not explain them where there is one.

use super::case::Case;
use super::complaints::Complaint;
use super::denied::{Denial, DenialKind};
use super::hosts::{Host, hosts_in, looks_like_host};
use super::phrases::Class;
use super::script::Simple;
use super::view::Network;

/// Words of code and of messages that are about sockets of the internet.
const ABOUT_SOCKETS: [&str; 18] = [
    "socket",
    "connect",
    "listen",
    "bind",
    "getaddrinfo",
    "tcp",
    "udp",
    "http",
    "urlopen",
    "ping",
    "inet",
    "port",
    "resolve",
    "fetch",
    "ssh",
    "failed: operation",
    "server",
    "dial",
];
/// Sockets that are refused with a network too.
pub(super) const OTHER_SOCKETS: [&str; 11] = [
    "SOCK_RAW",
    "AF_PACKET",
    "AF_VSOCK",
    "AF_NETLINK",
    "AF_ALG",
    "AF_BLUETOOTH",
    "AF_CAN",
    "AF_KEY",
    "AF_TIPC",
    "AF_XDP",
    "SOCK_SEQPACKET",
];

/// Where programs go that are not told where.
const USUAL: [(&str, &str); 13] = [
    ("pip", "pypi.org"),
    ("pip3", "pypi.org"),
    ("uv", "pypi.org"),
    ("poetry", "pypi.org"),
    ("npm", "registry.npmjs.org"),
    ("npx", "registry.npmjs.org"),
    ("yarn", "registry.yarnpkg.com"),
    ("pnpm", "registry.npmjs.org"),
    ("cargo", "index.crates.io"),
    ("rustup", "static.rust-lang.org"),
    ("gem", "rubygems.org"),
    ("bundle", "rubygems.org"),
    ("go", "proxy.golang.org"),
];

pub(super) fn judge(case: &Case<'_>, complaint: &Complaint) -> Option<Denial> {
    let is_refused = complaint.says(Class::NotPermitted);
    if !is_refused && !complaint.says(Class::Unreachable) {
        return None;
    }
    let is_other = OTHER_SOCKETS
        .iter()
        .any(|kind| case.script.text.contains(kind));
    let is_local = ["AF_UNIX", "unix:", "--unix-socket", "UNIXSocket"]
        .iter()
        .any(|it| case.script.text.contains(it) || complaint.line.contains(it));
    // What is not found by its path is a socket of this machine.
    let is_path = complaint.says(Class::NotFound)
        && (complaint.names.iter()).any(|name| name.contains('/') && !name.contains("://"));
    if is_other || is_local || is_path {
        return None;
    }
    if case.view.network == Network::On {
        // Sockets of the internet are refused only where there is no network.
        let may_be = !case.view.restrictions_known
            && is_refused
            && is_about_sockets(case, complaint)
            && !case.hosts().is_empty()
            && !case.script.runs("ping");
        if !may_be {
            return None;
        }
    } else if is_refused && !is_about_sockets(case, complaint) {
        return None;
    }
    let offline = ["--no-index", "--offline", "npm_config_offline"];
    if offline
        .iter()
        .any(|option| case.script.text.contains(option))
    {
        return None;
    }
    let host = host(case, complaint)?;
    Some(no_network(case, &host))
}

/// Programs that reach other machines and may be told to say nothing.
const QUIET: [&str; 7] = ["curl", "wget", "ping", "nc", "ssh", "scp", "git"];

/// A program that could not reach a machine and said nothing.
pub(super) fn unsaid(case: &Case<'_>) -> Option<Denial> {
    let is_off =
        case.view.network != Network::On && case.failed() && case.failure.output.trim().is_empty();
    let runs = QUIET.iter().any(|program| case.script.runs(program));
    let host = case.hosts().first().filter(|_| is_off && runs)?;
    Some(no_network(case, host))
}

fn is_about_sockets(case: &Case<'_>, complaint: &Complaint) -> bool {
    let line = complaint.line.to_lowercase();
    let near = case.output.lines[..complaint.at].iter().rev().take(4);
    let is_in = |text: &str| ABOUT_SOCKETS.iter().any(|word| text.contains(word));
    let is_off = case.view.network != Network::On
        && !case.hosts().is_empty()
        && !complaint.names.iter().any(|name| name.starts_with('/'));
    is_off
        || is_in(&line)
        || near.map(|it| it.to_lowercase()).any(|it| is_in(&it))
        || (is_in(&case.script.text.to_lowercase()) && !case.hosts().is_empty())
}

/// The machine that was to be reached: as the complaint calls it, as the command does, or where the program goes by itself.
fn host(case: &Case<'_>, complaint: &Complaint) -> Option<Host> {
    let of_command = case.hosts();
    let is_border = |letter: char| letter.is_whitespace() || "'\"`():,;<>[]{}‘’»«".contains(letter);
    let mut words = complaint.line.split(is_border);
    let plain = words.find(|word| looks_like_host(word));
    let plain = plain.map(|name| Host {
        name: name.to_owned(),
        port: None,
    });
    let said = hosts_in(&complaint.line).into_iter().next().or(plain);
    if let Some(said) = said {
        // The command knows the port.
        let same = of_command
            .iter()
            .find(|host| host.name == said.name)
            .cloned();
        let is_any = said.name == "0.0.0.0" || said.name == "::";
        return Some(same.unwrap_or(if is_any {
            Host { port: None, ..said }
        } else {
            said
        }));
    }
    if let Some(host) = of_command.first().cloned() {
        return Some(host);
    }
    let near = case
        .output
        .lines
        .iter()
        .find_map(|line| hosts_in(line).into_iter().next());
    let usual = || {
        let mut programs = USUAL.iter();
        let found = programs.find(|(program, _)| case.script.runs(program));
        found.map(|(_, host)| Host {
            name: (*host).to_owned(),
            port: None,
        })
    };
    near.or_else(usual)
        .or_else(|| bare(case, complaint))
        .or_else(|| {
            Some(Host {
                name: "0.0.0.0".to_owned(),
                port: None,
            })
            .filter(|_| listens(case, complaint))
        })
        .or_else(|| {
            let is_socket = complaint.line.to_lowercase().contains("socket");
            let name = "socket".to_owned();
            is_socket.then_some(Host { name, port: None })
        })
}

/// A machine of a name without dots, which the complaint and the command have in common.
fn bare(case: &Case<'_>, complaint: &Complaint) -> Option<Host> {
    let words = || case.script.commands.iter().flat_map(Simple::arguments);
    let is_named = |name: &&String| words().any(|word| word == *name) && !name.contains(['-', '/']);
    let name = complaint.names.iter().find(is_named)?;
    let is_lookup = complaint.says(Class::Unreachable);
    is_lookup.then(|| Host {
        name: name.clone(),
        port: None,
    })
}

fn listens(case: &Case<'_>, complaint: &Complaint) -> bool {
    let words = ["listen", "bind", "server"];
    words.iter().any(|word| {
        case.script.text.to_lowercase().contains(word)
            || complaint.line.to_lowercase().contains(word)
    })
}

fn no_network(case: &Case<'_>, host: &Host) -> Denial {
    let (kind, subject) = if host.is_local() {
        (DenialKind::Loopback, host.with_port())
    } else {
        (DenialKind::NetworkOff, host.name.clone())
    };
    let by_owner = case.view.network == Network::OffByOwner;
    let owner_can = if by_owner {
        "--network on"
    } else {
        "network: true in the tool file"
    };
    let who = match case.view.network {
        Network::OffByOwner => "the owner started the server without it",
        Network::OffByToolFile => "its tool file says so",
        Network::On => "probably because its tool file says `network: false`",
    };
    let what = if host.is_local() {
        "not even addresses of this machine can be listened on or reached"
    } else {
        "no other machine can be reached, whether or not it answers"
    };
    Denial {
        kind,
        text: format!(
            "{subject} was refused because this command has no network ({who}): {what}, and trying again will not \
             help. The owner can change that with `{owner_can}`{}.",
            if host.is_local() {
                "; a unix socket in the project works without"
            } else {
                ""
            }
        ),
        subject,
        owner_can: owner_can.to_owned(),
    }
}
