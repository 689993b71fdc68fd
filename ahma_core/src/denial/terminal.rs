//! Programs that need a terminal, which commands do not have.

use super::case::Case;
use super::complaints::Complaint;
use super::denied::{Denial, DenialKind};
use super::phrases::Class;

pub(super) fn judge(case: &Case<'_>, complaint: &Complaint) -> Option<Denial> {
    // What a shell says at its start when it is told that it is interactive; it goes on without.
    let is_aside = complaint.line.contains("cannot set terminal process group")
        || complaint.line.contains("no job control");
    let names_it = complaint
        .names
        .iter()
        .any(|name| name == "/dev/tty" || name == "/dev/console");
    let is_refused = [
        Class::NotFound,
        Class::ReadOnly,
        Class::Denied,
        Class::NotPermitted,
    ]
    .iter()
    .any(|class| complaint.says(*class));
    let is_missing = complaint.says(Class::NoTerminal) || (names_it && is_refused);
    (is_missing && !is_aside).then(|| missing(case, names_it))
}

fn missing(case: &Case<'_>, names_it: bool) -> Denial {
    // Who asks for a password does so at the device.
    let asks = ["passphrase", "pass phrase", "password", "getpass"]
        .iter()
        .any(|word| {
            case.output
                .lines
                .iter()
                .any(|line| line.to_lowercase().contains(word))
        });
    let is_device = names_it || asks || case.script.text.contains("/dev/tty");
    Denial {
        kind: DenialKind::TtyMissing,
        subject: if is_device { "/dev/tty" } else { "terminal" }.to_owned(),
        owner_can: "none: commands have no terminal, use a non-interactive option".to_owned(),
        text: "The program wants a terminal, and commands have none: their input is empty and nobody can type. Use \
               an option of the program that asks nothing (such as `--batch` or `--yes`), or `script -qec 'COMMAND' \
               /dev/null` for one of its own; trying again as it is will not help."
            .to_owned(),
    }
}
