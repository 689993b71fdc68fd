//! Availability checks: a command line in words, or its parts.

use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::field::Field;
use super::super::raw::{RawAvailability, RawAvailabilityCommand};
use super::super::spec::AvailabilityCheck;

pub(super) fn resolve(
    raw: &RawAvailability,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Option<AvailabilityCheck> {
    match raw {
        RawAvailability::Line(line) => resolve_line(line, place, checks),
        RawAvailability::Command(command) => resolve_command(command, place, checks),
    }
}

fn resolve_line(
    line: &str,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Option<AvailabilityCheck> {
    if !checks.no_nul(line, place) {
        return None;
    }
    let words = match shell_words::split(line) {
        Ok(words) => words,
        Err(error) => {
            checks.faults.add_with_hint(
                place,
                format!("the command line cannot be split into words: {error}"),
                "close the quotes, or use the form {\"command\": …, \"args\": […]}",
            );
            return None;
        }
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => {
            checks.faults.add_with_hint(
                place,
                "the command line is empty",
                "name a command, e.g. `which git`, or leave the field out",
            );
            None
        }
        // The two usual internal are answered without starting a program.
        ["which", program] | ["command", "-v", program] => {
            Some(AvailabilityCheck::OnPath((*program).to_owned()))
        }
        [program, args @ ..] => Some(AvailabilityCheck::Command {
            program: (*program).to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            success_exit_codes: vec![0],
            or_exists: Vec::new(),
        }),
    }
}

fn resolve_command(
    raw: &RawAvailabilityCommand,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Option<AvailabilityCheck> {
    checks.required(&raw.command, place, "command");
    let program = checks.text(&raw.command, &place.key("command"));
    let args = checks.strings(&raw.args, &place.key("args"));
    let codes_at = place.key("success_exit_codes");
    let mut codes = checks.exit_codes(&raw.success_exit_codes, &codes_at);
    if matches!(raw.success_exit_codes, Field::Missing) {
        codes.push(0);
    }
    let or_exists = checks.paths_below(&raw.or_exists, &place.key("or_exists"));
    Some(AvailabilityCheck::Command {
        program: program?,
        args,
        success_exit_codes: codes,
        or_exists,
    })
}
