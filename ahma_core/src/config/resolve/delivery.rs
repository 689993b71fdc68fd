//! How the value of an argument reaches the command: behind a flag, as a word, by a file, on stdin.

use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::field::Field;
use super::super::names::variable_fault;
use super::super::raw::{RawArgument, ValueStyle};
use super::super::spec::{Delivery, Flag, Separator};
use super::argument::Position;

pub(super) fn resolve(
    raw: &RawArgument,
    name: &str,
    position: Position,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Delivery {
    let by_file = raw.file_arg.copied().unwrap_or_default();
    let by_stdin = raw.stdin.copied().unwrap_or_default();
    refuse_contradictions(raw, position, place, checks);
    let own_flag = flag(&raw.flag, &place.key("flag"), checks);
    let file_flag = flag(&raw.file_flag, &place.key("file_flag"), checks);
    if by_stdin {
        return Delivery::Stdin;
    }
    if let Some(name) = raw.env.value() {
        if let Some((message, hint)) = variable_fault(name) {
            checks
                .faults
                .add_with_hint(&place.key("env"), message, hint);
        }
        return Delivery::Env(name.clone());
    }
    if position == Position::Positional {
        let separator = match raw.end_of_options.copied() {
            Some(true) => Separator::Dashes,
            _ => Separator::None,
        };
        return if by_file {
            Delivery::File(None)
        } else {
            Delivery::Positional(separator)
        };
    }
    let own_flag = own_flag.unwrap_or_else(|| format!("--{name}"));
    if by_file {
        Delivery::File(Some(written(file_flag.unwrap_or(own_flag), raw)))
    } else {
        Delivery::Flag(written(own_flag, raw))
    }
}

fn written(text: String, raw: &RawArgument) -> Flag {
    let joined = match raw.value_style.copied() {
        Some(style) => style == ValueStyle::Equals,
        None => text.starts_with("--"),
    };
    Flag { text, joined }
}

fn refuse_contradictions(
    raw: &RawArgument,
    position: Position,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) {
    if position == Position::Positional {
        for (field, present) in [
            ("flag", raw.flag.is_present()),
            ("value_style", raw.value_style.is_present()),
            ("file_flag", raw.file_flag.is_present()),
            ("env", raw.env.is_present()),
            ("negated_flag", raw.negated_flag.is_present()),
        ] {
            if present {
                checks.misplaced(field, "options; a positional argument has no flag", place);
            }
        }
    } else {
        if raw.file_flag.is_present() && raw.file_arg.copied() != Some(true) {
            checks.misplaced("file_flag", "options with `\"file_arg\": true`", place);
        }
        if raw.end_of_options.is_present() {
            checks.misplaced("end_of_options", "positional arguments", place);
        }
    }
    if raw.file_arg.copied() == Some(true) && raw.format.is_present() {
        checks.misplaced(
            "format",
            "values that are paths; this one is the content of a file",
            place,
        );
    }
    if raw.stdin.copied() == Some(true) {
        for (field, present) in [
            ("flag", raw.flag.is_present()),
            ("value_style", raw.value_style.is_present()),
            ("allow_dash", raw.allow_dash.is_present()),
            ("end_of_options", raw.end_of_options.is_present()),
        ] {
            if present {
                checks.misplaced(
                    field,
                    "arguments on the command line; this one is read from stdin",
                    place,
                );
            }
        }
    }
    if raw.env.is_present() {
        for (field, present) in [
            ("flag", raw.flag.is_present()),
            ("negated_flag", raw.negated_flag.is_present()),
            ("value_style", raw.value_style.is_present()),
            ("allow_dash", raw.allow_dash.is_present()),
            ("file_arg", raw.file_arg.is_present()),
            ("stdin", raw.stdin.is_present()),
        ] {
            if present {
                checks.misplaced(field, "arguments that are not a variable", place);
            }
        }
    }
    if raw.stdin.copied() == Some(true) && raw.file_arg.copied() == Some(true) {
        checks.misplaced(
            "stdin",
            "an argument without `file_arg`: a value takes one way",
            place,
        );
    }
}

pub(super) fn flag(
    given: &Field<String>,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Option<String> {
    let flag = given.value()?;
    let well_formed = flag.starts_with('-')
        && flag.contains(|letter: char| letter != '-')
        && !flag.contains(|letter: char| letter.is_whitespace() || letter == '=');
    if !well_formed {
        checks.faults.add_with_hint(
            place,
            format!("`{flag}` is not a flag"),
            "write it as on the command line, with its dashes and without a value: `-m` or \
             `--message`",
        );
    }
    checks.no_nul(flag, place);
    Some(flag.clone())
}
