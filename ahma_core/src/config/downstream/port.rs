//! `${PORT}`: the places where it means nothing.

use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::secret::Reference;
use super::spec::PORT_PLACEHOLDER;

/// Whether a reference stands for the port.
pub(super) fn is_port(reference: &Reference) -> bool {
    *reference == Reference::Port
}

/// Reports a text that waits for a port in vain.
pub(super) fn refuse_port(text: &str, place: &JsonLocation<'_>, checks: Checks<'_>) {
    if text.contains(PORT_PLACEHOLDER) {
        report_port(place, checks);
    }
}

/// Reports that no port is given here.
pub(super) fn report_port(place: &JsonLocation<'_>, checks: Checks<'_>) {
    checks.faults.add_with_hint(
        place,
        "there is no `${PORT}` here",
        "it is for `args` and `env` of servers with `\"type\": \"managed_http\"`",
    );
}
