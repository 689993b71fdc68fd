//! What is offered of a server's tools: the `tools` of an entry.

use std::collections::BTreeMap;

use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::field::Field;
use super::super::names::MAX_NAME_LENGTH;
use super::super::raw::{List, RawAnnotations, TextMap};
use super::super::spec::Annotations;
use super::names::is_name_letter;
use super::raw::RawToolRules;
use super::spec::ToolRules;

/// Tools of one server that can be listed.
const MAX_CORE: usize = 40;

pub(super) fn tool_rules(
    raw: &Field<RawToolRules>,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> ToolRules {
    let Some(raw) = raw.value() else {
        return ToolRules::default();
    };
    let allow = names(&raw.allow, &place.key("allow"), checks);
    let deny = names(&raw.deny, &place.key("deny"), checks).unwrap_or_default();
    for (index, name) in deny.iter().enumerate() {
        if allow.iter().flatten().any(|allowed| allowed == name) {
            checks.faults.add_with_hint(
                &place.key("deny").index(index),
                format!("the tool `{name}` is allowed and denied"),
                "keep it in one of the two lists",
            );
        }
    }
    let core = names(&raw.core, &place.key("core"), checks);
    let core_count = core.as_ref().map_or(0, Vec::len);
    checks.too_many(core_count, MAX_CORE, "listed tools", &place.key("core"));
    ToolRules {
        allow,
        deny,
        rename: new_names(&raw.rename, &place.key("rename"), checks),
        describe: texts(&raw.describe, &place.key("describe"), checks),
        annotations: annotations(raw, &place.key("annotations"), checks),
        core,
    }
}

/// Names as the server gives them: whatever they hold, they are only compared.
fn names(list: &List<String>, place: &JsonLocation<'_>, checks: Checks<'_>) -> Option<Vec<String>> {
    let given = list.value()?;
    let mut names = Vec::with_capacity(given.len());
    for (index, name) in given.iter().enumerate() {
        names.extend(checks.text(name, &place.index(index)));
    }
    Some(names)
}

fn texts(map: &TextMap, place: &JsonLocation<'_>, checks: Checks<'_>) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for (name, text) in map.value().into_iter().flatten() {
        if let Some(text) = checks.text(text, &place.key(name)) {
            texts.insert(name.clone(), text);
        }
    }
    texts
}

fn new_names(
    map: &TextMap,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> BTreeMap<String, String> {
    let renamed = texts(map, place, checks);
    let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, new_name) in &renamed {
        let place = place.key(name);
        if !new_name.chars().all(is_name_letter) || new_name.len() > MAX_NAME_LENGTH {
            checks.faults.add_with_hint(
                &place,
                format!("`{new_name}` cannot be the name of a tool"),
                format!("use letters, digits, `_` and `-`, at most {MAX_NAME_LENGTH} of them"),
            );
        }
        if let Some(other) = taken.insert(new_name, name) {
            checks.faults.add_with_hint(
                &place,
                format!("`{name}` and `{other}` are both renamed to `{new_name}`"),
                "give each of them a name of its own",
            );
        }
    }
    renamed
}

fn annotations(
    raw: &RawToolRules,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> BTreeMap<String, Annotations> {
    let mut rules = BTreeMap::new();
    for (name, given) in raw.annotations.value().into_iter().flatten() {
        if let Some(given) = given.value() {
            rules.insert(name.clone(), careful(given, &place.key(name), checks));
        }
    }
    rules
}

/// Annotations that take promises back. Clients ask less before calls that promise much, and only the server knows.
fn careful(raw: &RawAnnotations, place: &JsonLocation<'_>, checks: Checks<'_>) -> Annotations {
    for (field, given, promise) in [
        ("read_only", &raw.read_only, true),
        ("destructive", &raw.destructive, false),
        ("idempotent", &raw.idempotent, true),
        ("open_world", &raw.open_world, false),
    ] {
        if given.copied() == Some(promise) {
            checks.faults.add_with_hint(
                &place.key(field),
                format!("`\"{field}\": {promise}` is a promise that only the server can make"),
                format!(
                    "annotations may only become more careful: use `{}` or leave it out",
                    !promise
                ),
            );
        }
    }
    Annotations {
        read_only: raw.read_only.copied(),
        destructive: raw.destructive.copied(),
        idempotent: raw.idempotent.copied(),
        open_world: raw.open_world.copied(),
    }
}
