//! Packages of the system, which commands use and do not change.
//!
//! Speaks of those of root only: an ordinary user could not install them outside either. Must not be asked about packages
//! of a project.

use super::case::Case;
use super::complaints::Complaint;
use super::denied::{Denial, DenialKind};
use super::script::Simple;

/// Programs that change the packages of a system.
const MANAGERS: [&str; 10] = [
    "apt", "apt-get", "aptitude", "dpkg", "dnf", "yum", "zypper", "rpm", "apk", "pacman",
];
/// The words with which they are asked to.
const CHANGES: [&str; 18] = [
    "install",
    "reinstall",
    "update",
    "upgrade",
    "dist-upgrade",
    "full-upgrade",
    "remove",
    "purge",
    "autoremove",
    "add",
    "del",
    "-i",
    "--install",
    "-r",
    "--remove",
    "-U",
    "-S",
    "-Sy",
];
/// Where they keep what they know, and what they say where they may not write it.
const REFUSALS: [&str; 9] = [
    "/var/lib/dpkg",
    "/var/lib/apt",
    "/var/cache/apt",
    "/var/lib/rpm",
    "/var/lib/dnf",
    "/var/cache/dnf",
    "/lib/apk",
    "/var/lib/pacman",
    "superuser privilege",
];

pub(super) fn judge(case: &Case<'_>, complaint: &Complaint) -> Option<Denial> {
    if !case.view.is_root || !REFUSALS.iter().any(|it| complaint.line.contains(it)) {
        return None;
    }
    let mut commands = case.script.commands.iter();
    let command = commands.find(|command| changes_packages(command))?;
    let manager = command.name();
    Some(Denial {
        kind: DenialKind::Other,
        subject: manager.to_owned(),
        owner_can: "install the packages outside".to_owned(),
        text: format!(
            "{manager} changes the packages of the whole system, which commands use and do not change, also those of \
             root: trying again will not help. The owner can install them outside the sandbox, and commands have them \
             at once. What only the project needs can be installed into it, such as with `python3 -m venv`, npm or \
             cargo."
        ),
    })
}

fn changes_packages(command: &Simple) -> bool {
    let is_change = |word: &String| CHANGES.contains(&word.as_str());
    MANAGERS.contains(&command.name()) && command.arguments().iter().any(is_change)
}
