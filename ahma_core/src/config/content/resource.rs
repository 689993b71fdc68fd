//! From the raw form of a resource file to a resource, or a family of resources.

use std::path::Path;

use super::super::checks::Checks;
use super::super::fault::{Faults, JsonLocation};
use super::super::field::Field;
use super::super::limits;
use super::super::shared_fields::{complete, icons, mime_type};
use super::super::spec::CompleteSpec;
use super::body::Texts;
use super::raw::RawResourceFile;
use super::spec::{BodySpec, ResourcePlace, ResourceSpec};
use super::template::Template;
use super::uri_template::UriTemplate;

/// URIs of this kind are the server's own.
const RESERVED: &str = "ahma:";

/// What the file says, as far as it can be made out; to be used only without faults.
pub(super) fn resolve(raw: &RawResourceFile, source: &Path, faults: &Faults) -> ResourceSpec {
    let checks = Checks::new(faults);
    let root = JsonLocation::ROOT;
    let place = place(raw, checks);
    let names = match &place {
        Some(ResourcePlace::Family(template)) => template.names(),
        _ => &[],
    };
    let texts = Texts { names, checks };
    let body = texts.body(&raw.file, &raw.text, &root);
    checks.required(&raw.name, &root, "name");
    if let (Some(ResourcePlace::Family(_)), Some(body)) = (&place, &body) {
        let (BodySpec::File(template) | BodySpec::Text(template)) = body;
        if !template.has_values() {
            let hint = "write `{name}` where the value of a variable belongs, or use `uri` instead of `uri_template`";
            let message = "every resource of this family would be the same";
            checks.faults.add_with_hint(&root, message, hint);
        }
    }
    ResourceSpec {
        source: source.to_owned(),
        completions: completions(raw, place.as_ref(), checks),
        place: place.unwrap_or_else(|| ResourcePlace::Uri(String::new())),
        name: checks
            .text(&raw.name, &root.key("name"))
            .unwrap_or_default(),
        title: checks.text(&raw.title, &root.key("title")),
        description: checks.text(&raw.description, &root.key("description")),
        mime_type: mime_type(&raw.mime_type, &root.key("mime_type"), checks),
        body: body.unwrap_or_else(|| BodySpec::Text(Template::default())),
        only_if: checks.paths_below(&raw.only_if, &root.key("only_if")),
        icons: icons(&raw.icons, &root.key("icons"), checks),
    }
}

fn place(raw: &RawResourceFile, checks: Checks<'_>) -> Option<ResourcePlace> {
    let root = JsonLocation::ROOT;
    let (uri, family) = (root.key("uri"), root.key("uri_template"));
    match (raw.uri.is_present(), raw.uri_template.is_present()) {
        (true, false) => {
            let text = absolute(&raw.uri, &uri, checks)?;
            Some(ResourcePlace::Uri(text))
        }
        (false, true) => {
            let text = absolute(&raw.uri_template, &family, checks)?;
            match UriTemplate::parse(&text) {
                Ok(template) => Some(ResourcePlace::Family(template)),
                Err(why) => {
                    let hint = "write `{name}` for one part of a path and `{+name}` for several, as in `docs://pages/{page}`";
                    let message = format!("this is no template that can be used: {why}");
                    checks.faults.add_with_hint(&family, message, hint);
                    None
                }
            }
        }
        (true, true) => {
            let hint = "remove one of the two".to_owned();
            checks
                .faults
                .add_to_key(&family, "there is a `uri` already", hint);
            None
        }
        (false, false) => {
            let hint = "add `\"uri\": \"docs://changelog\"`, or whatever it shall be found under";
            checks.faults.add_with_hint(
                &root,
                "there is neither a `uri` nor a `uri_template`",
                hint,
            );
            None
        }
    }
}

/// A URI with its scheme.
fn absolute(given: &Field<String>, place: &JsonLocation<'_>, checks: Checks<'_>) -> Option<String> {
    let text = checks.text(given, place)?;
    let letters = |letter: char| letter.is_ascii_alphanumeric() || "+.-".contains(letter);
    let scheme = text.split_once(':').map(|it| it.0);
    let has_scheme = scheme.is_some_and(|it| {
        it.starts_with(|first: char| first.is_ascii_alphabetic()) && it.chars().all(letters)
    });
    let odd = text.chars().any(|it| it.is_control() || it.is_whitespace());
    if !has_scheme || odd || text.len() > limits::URI_BYTES {
        let message = format!("`{text}` is not a URI");
        let hint = "begin with a scheme, as in `docs://changelog`, and leave spaces out";
        checks.faults.add_with_hint(place, message, hint);
        return None;
    }
    if text.to_ascii_lowercase().starts_with(RESERVED) {
        let message = format!("URIs that begin with `{RESERVED}` are the server's own");
        checks
            .faults
            .add_with_hint(place, message, "choose another scheme");
        return None;
    }
    Some(text)
}

fn completions(
    raw: &RawResourceFile,
    place: Option<&ResourcePlace>,
    checks: Checks<'_>,
) -> Vec<(String, CompleteSpec)> {
    let root = JsonLocation::ROOT;
    let at = root.key("variables");
    checks.not_empty(&raw.variables, &at);
    let template = match place {
        Some(ResourcePlace::Family(template)) => template,
        Some(ResourcePlace::Uri(_)) if raw.variables.is_present() => {
            checks.misplaced("variables", "a `uri_template`", &root);
            return Vec::new();
        }
        _ => return Vec::new(),
    };
    let given = raw.variables.elements();
    if checks.too_many(given.len(), limits::PROMPT_ARGUMENTS, "variables", &at) {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (index, given) in given.iter().enumerate() {
        let Field::Value(variable) = given else {
            continue;
        };
        let at = at.index(index);
        checks.required(&variable.complete, &at, "complete");
        let proposed = complete(&variable.complete, &at.key("complete"), checks);
        let Some(name) = checks.required(&variable.name, &at, "name") else {
            continue;
        };
        if !template.names().contains(name) {
            let message = format!("the template has no variable `{name}`");
            let hint = format!("its variables: {}", template.names().join(", "));
            checks.faults.add_with_hint(&at.key("name"), message, hint);
        }
        all.extend(proposed.map(|it| (name.clone(), it)));
    }
    all
}
