//! Restrictions of a single value: the values allowed, and the expression it must match.

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::field::Field;
use super::super::limits;
use super::super::raw::List;
use super::super::spec::{ScalarSpec, ValueSpec};
use super::super::values::{check_value, same};

/// The values of `enum`. Each must be possible under the other restrictions of `scalar`.
pub(super) fn allowed_values(
    list: &List<Value>,
    scalar: &ScalarSpec,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Vec<Value> {
    checks.not_empty(list, place);
    if checks.too_many(
        list.elements().len(),
        limits::ALLOWED_VALUES,
        "values",
        place,
    ) {
        return Vec::new();
    }
    let restrictions = ValueSpec::One(scalar.clone());
    let mut allowed: Vec<Value> = Vec::new();
    for (index, given) in list.elements().iter().enumerate() {
        let Field::Value(value) = given else { continue };
        let at = place.index(index);
        if let Err(message) = check_value(&restrictions, value) {
            let hint = "every value listed must fit the type and limits of the argument";
            checks.faults.add_with_hint(&at, message, hint);
        } else if allowed.iter().any(|earlier| same(earlier, value)) {
            let message = format!("{value} stands twice in the list");
            checks
                .faults
                .add_with_hint(&at, message, "keep one of them");
        } else {
            allowed.push(value.clone());
        }
    }
    allowed
}

/// The expression of `pattern`.
pub(super) fn pattern(
    given: &Field<String>,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Option<Regex> {
    let text = given.value()?;
    let length = text.chars().count();
    if checks.too_many(length, limits::PATTERN_LENGTH, "characters", place)
        || checks.too_many(
            checks.faults.count_pattern(),
            limits::PATTERNS_PER_FILE,
            "expressions in one file",
            place,
        )
    {
        return None;
    }
    if let Some(construct) = unknown_to_clients(text) {
        checks.faults.add_with_hint(
            place,
            format!("the regular expression uses `{construct}`, which clients do not understand"),
            "clients check values by the rules of JavaScript; write it without flags, `(?P<…>)`, \
             `\\\\A`, `\\\\z` and `[[:…:]]`",
        );
        return None;
    }
    match RegexBuilder::new(text)
        .size_limit(limits::PATTERN_MEMORY)
        .build()
    {
        Ok(pattern) => Some(pattern),
        Err(regex::Error::CompiledTooBig(_)) => {
            checks.faults.add_with_hint(
                place,
                "the regular expression takes too much memory",
                "repeat less: `{1,400}` counts 400 times; `[a-z]` takes less than `\\\\w`",
            );
            None
        }
        Err(error) => {
            // The last line of the library's message is the verdict; the rest draws a picture.
            let verdict = error.to_string();
            let verdict = verdict.lines().last().unwrap_or_default();
            let verdict = verdict.trim_start_matches("error: ");
            checks.faults.add_with_hint(
                place,
                format!("the regular expression is not valid: {verdict}"),
                "look-around and back-references are not supported; escape brackets meant \
                 literally with `\\\\`",
            );
            None
        }
    }
}

/// A construct of our regular expressions that JavaScript's have not, or read otherwise.
fn unknown_to_clients(text: &str) -> Option<&str> {
    const ANYWHERE: [&str; 5] = ["(?P<", "[[:", "\\A", "\\z", "\\Z"];
    if let Some(construct) = ANYWHERE
        .into_iter()
        .find(|construct| text.contains(construct))
    {
        return Some(construct);
    }
    // `(?:…)` and `(?<name>…)` are common to both; `(?i)` and the like are not.
    let mut rest = text;
    while let Some(start) = rest.find("(?") {
        let group = &rest[start..];
        let kind = group.chars().nth(2);
        if kind.is_some_and(|kind| kind.is_ascii_alphabetic() || kind == '-') {
            return group.get(..3);
        }
        rest = &group[2..];
    }
    None
}
