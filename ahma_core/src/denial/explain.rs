//! The order in which a failure is judged.
//!
//! What is said clearly comes before what is said vaguely, and that before what nobody said. Must not know any message.

use super::case::Case;
use super::complaints::Complaint;
use super::denied::Denial;
use super::failure::{Ended, Failure};
use super::view::{Lookup, View};
use super::{
    credentials, files, home, limits, network, packages, programs, silent, sockets, system_calls,
    terminal,
};

/// Whether a program says that only root may do what it was asked: then an ordinary user may not do it outside either.
fn needs_root(line: &str) -> bool {
    let line = line.to_lowercase();
    let words = [
        "are you root",
        "must be superuser",
        "only root",
        "must be run as root",
        "must be root",
        "requires root",
        "need to be root",
    ];
    words.iter().any(|word| line.contains(word))
}

fn is_warning(complaint: &Complaint) -> bool {
    let line = complaint.line.trim_start().to_lowercase();
    line.starts_with("w:") || line.starts_with("warn")
}

type Judge = fn(&Case<'_>, &Complaint) -> Option<Denial>;

/// Judges of complaints that say what went wrong. Where several could speak, the more special one comes first.
const JUDGES: [Judge; 9] = [
    terminal::judge,
    programs::judge,
    packages::judge,
    network::judge,
    system_calls::judge,
    limits::judge,
    files::judge,
    credentials::judge,
    home::judge,
];

/// Why a command failed, if the sandbox has to do with it as far as can be told. A guess; never a claim about what exists
/// outside. Takes a few milliseconds at most, however long output and script are.
pub fn explain(failure: &Failure<'_>, view: &View<'_>, lookup: &dyn Lookup) -> Option<Denial> {
    let case = Case::read(failure, view, lookup);
    let complaints = &case.output.complaints;
    if failure.ended == Ended::TimedOut {
        let terminal = complaints
            .iter()
            .find_map(|complaint| terminal::judge(&case, complaint));
        return terminal.or_else(|| Some(limits::deadline(&case)));
    }
    if failure.ended == Ended::Stopped {
        return None;
    }
    if let Some(reached) = failure.limit_reached {
        return Some(limits::reached(reached));
    }
    if !view.is_root
        && complaints
            .iter()
            .any(|complaint| needs_root(&complaint.line))
    {
        return None;
    }
    if let Some(denial) = files::together(&case) {
        return Some(denial);
    }
    // What a program warns of it goes on without.
    let clear = || complaints.iter().filter(|complaint| complaint.is_clear());
    let errors = clear().filter(|complaint| !is_warning(complaint));
    let warnings = clear().filter(|complaint| is_warning(complaint));
    let vague = complaints.iter().filter(|complaint| !complaint.is_clear());
    let all = errors.chain(warnings).chain(vague);
    let said = all
        .into_iter()
        .find_map(|complaint| JUDGES.iter().find_map(|judge| judge(&case, complaint)));
    said.or_else(|| limits::by_signal(&case))
        .or_else(|| programs::probed(&case))
        .or_else(|| programs::unsaid(&case))
        .or_else(|| network::unsaid(&case))
        .or_else(|| home::unsaid(&case))
        .or_else(|| sockets::unsaid(&case))
        .or_else(|| silent::judge(&case))
}

#[cfg(test)]
mod system_tests;
#[cfg(test)]
mod tests;
