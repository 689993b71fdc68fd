//! Maps of values that may be secrets: the variables of a program, the headers of a request.

use std::collections::BTreeMap;

use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::field::Field;
use super::super::raw::TextMap;
use super::secret::Secret;
use super::surroundings::Surroundings;

/// Reads every value; faulty ones are left out. `name_fault` says what is wrong with a name, if anything.
pub(super) fn secrets(
    map: &TextMap,
    place: &JsonLocation<'_>,
    context: (Surroundings<'_>, Checks<'_>),
    name_fault: impl Fn(&str) -> Option<(String, &'static str)>,
) -> BTreeMap<String, Secret> {
    let mut secrets = BTreeMap::new();
    for (name, given) in map.value().into_iter().flatten() {
        let place = place.key(name);
        if let Some((message, hint)) = name_fault(name) {
            context
                .1
                .faults
                .add_to_key(&place, message, hint.to_owned());
        }
        if let Field::Value(text) = given
            && let Some(secret) = secret(text, &place, context)
        {
            secrets.insert(name.clone(), secret);
        }
    }
    secrets
}

/// Reads one value.
pub(super) fn secret(
    text: &str,
    place: &JsonLocation<'_>,
    (surroundings, checks): (Surroundings<'_>, Checks<'_>),
) -> Option<Secret> {
    if !checks.no_nul(text, place) {
        return None;
    }
    match Secret::parse(text, |path| surroundings.path(path)) {
        Ok(secret) => Some(secret),
        Err(fault) => {
            let (message, hint) = fault.words();
            checks.faults.add_with_hint(place, message, hint);
            None
        }
    }
}

/// Where a text is taken as it is, a reference would reach the program unread.
pub(super) fn refuse_references(text: &str, place: &JsonLocation<'_>, checks: Checks<'_>) {
    let kinds = ["${env:", "${file:", "${command:"];
    if kinds.iter().any(|kind| text.contains(kind)) {
        checks.faults.add_with_hint(
            place,
            "references are not filled in here",
            "they are for values of `env` and `headers`, and for client secrets",
        );
    }
}

/// What is wrong with the name of a variable, if anything.
pub(super) fn variable_fault(name: &str) -> Option<(String, &'static str)> {
    let message = if name.is_empty() {
        "the name of a variable is empty".to_owned()
    } else if name.contains(['=', '\0']) {
        "the name of a variable holds `=` or NUL".to_owned()
    } else {
        return None;
    };
    Some((message, "write it as `\"NAME\": \"value\"`"))
}
