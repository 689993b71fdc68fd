//! What arguments of a tool have to do with each other: which exclude, and which need one another.

use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::field::Field;
use super::super::raw::{Level, List, RawArgument};
use super::super::spec::ArgumentSpec;
use super::super::suggest::nearest;

/// Reports names that no argument has, and relations that no call could keep.
pub(super) fn check(
    raw: Level<'_>,
    arguments: &[ArgumentSpec],
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) {
    for (list, name) in [
        (raw.options, "options"),
        (raw.positional_args, "positional_args"),
    ] {
        let place = place.key(name);
        for (index, given) in list.elements().iter().enumerate() {
            if let Field::Value(raw) = given {
                check_one(raw, arguments, &place.index(index), checks);
            }
        }
    }
}

fn check_one(
    raw: &RawArgument,
    arguments: &[ArgumentSpec],
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) {
    let own = raw.name.value().map(String::as_str).unwrap_or_default();
    let find = |name: &str| arguments.iter().find(|it| it.name == name);
    let named = |list: &List<String>, field: &str| {
        let at = place.key(field);
        checks.not_empty(list, &at);
        let mut found = Vec::new();
        for (index, given) in list.elements().iter().enumerate() {
            let Field::Value(name) = given else { continue };
            let at = at.index(index);
            match find(name) {
                Some(_) if name == own => {
                    let message = format!("`{name}` is this argument itself");
                    checks
                        .faults
                        .add_with_hint(&at, message, "name another one");
                }
                Some(other) => found.push((at.pointer(), other)),
                None => {
                    let known = arguments.iter().map(|it| it.name.as_str());
                    let known = known.filter(|it| *it != own);
                    let hint = match nearest(name, known) {
                        Some(right) => format!("did you mean `{right}`?"),
                        None => "name an argument of the same tool".to_owned(),
                    };
                    let message = format!("there is no argument `{name}`");
                    checks.faults.add_with_hint(&at, message, hint);
                }
            }
        }
        found
    };
    let conflicts = named(&raw.conflicts_with, "conflicts_with");
    let required = named(&raw.requires_arguments, "requires_arguments");
    let Some(this) = find(own) else { return };
    for (_, other) in &conflicts {
        let at = place.key("conflicts_with");
        if required.iter().any(|(_, it)| it.name == other.name) {
            let message = format!("`{}` is required here and excluded", other.name);
            let hint = "remove it from one of the lists";
            checks.faults.add_with_hint(&at, message, hint);
        } else if this.required || other.required {
            let needed = if this.required { this } else { other };
            let message = format!(
                "`{}` is required, so that the other could never be given",
                needed.name
            );
            checks
                .faults
                .add_with_hint(&at, message, "make both optional");
        } else if this.default.is_some() || other.default.is_some() {
            let message = format!(
                "one of `{}` and `{}` has a default, which is passed in any case",
                this.name, other.name
            );
            checks
                .faults
                .add_with_hint(&at, message, "remove the default");
        }
    }
}
