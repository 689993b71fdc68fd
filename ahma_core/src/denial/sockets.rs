//! Sockets of services of this machine, which commands cannot reach by their path.

use std::path::Path;

use super::case::{Case, Named};
use super::denied::{Denial, DenialKind};
use super::phrases::Class;
use super::places::shown;

/// Whether a path names a socket, as far as its name tells.
pub(super) fn is_socket(path: &Path) -> bool {
    let name = path
        .file_name()
        .map_or_else(String::new, |it| it.to_string_lossy().to_lowercase());
    let is_named = name.ends_with(".sock")
        || name.ends_with(".socket")
        || name.starts_with(".s.pgsql.")
        || name.starts_with("s.gpg-agent");
    let is_bus = name == "bus" && path.starts_with("/run/user");
    is_named
        || is_bus
        || (path.starts_with("/run") || path.starts_with("/var/run"))
            && !name.contains('.')
            && name.contains("sock")
}

pub(super) fn denied(named: &Named) -> Denial {
    let path = &named.path;
    let name = path.display().to_string();
    let is_docker =
        name.contains("docker") || name.contains("containerd") || name.contains("podman");
    let warning = if is_docker {
        ", but who can use this one is root on the machine"
    } else {
        ""
    };
    Denial {
        kind: DenialKind::SocketDenied,
        subject: path.display().to_string(),
        owner_can: format!(
            "--sandbox-write {} (for docker this means root)",
            path.display()
        ),
        text: format!(
            "{name} is the socket of a service outside the sandbox, which commands cannot reach, whether or not the \
             service runs: starting it or trying again will not help. The owner can let commands use it with \
             `--sandbox-write {}`{warning}.",
            shown(path)
        ),
    }
}

/// Programs that speak to docker say so, and not where they looked for it.
pub(super) fn unsaid(case: &Case<'_>) -> Option<Denial> {
    let is_about = |line: &str| line.to_lowercase().contains("docker") && !line.contains(".sock");
    let mut complaints = case.output.complaints.iter();
    let is_missing = complaints.any(|it| {
        let names_path = it.names.iter().any(|name| name.starts_with('/'));
        it.says(Class::NotFound) && is_about(&it.line) && !names_path
    });
    let path = Path::new("/var/run/docker.sock");
    is_missing.then(|| denied(&case.called(&path.display().to_string(), path)))
}
