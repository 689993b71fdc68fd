//! From the raw form of a prompt file to a prompt.

use std::collections::HashSet;
use std::path::Path;

use data_encoding::BASE64;

use super::super::checks::Checks;
use super::super::fault::{Faults, JsonLocation};
use super::super::field::Field;
use super::super::limits;
use super::super::names::{MAX_NAME_LENGTH, tool_name_fault};
use super::super::shared_fields::{complete, icons, mime_type};
use super::body::Texts;
use super::raw::{RawMedia, RawMessage, RawPromptArgument, RawPromptFile, RawRole};
use super::spec::{MediaSource, MediaSpec, MessageSpec, PartSpec, PromptArgumentSpec, PromptSpec};
use super::template::is_name;

/// The parts of which a message has one.
const PARTS: &str = "a message has one of `text`, `image`, `audio` and `resource`";

/// What the file says, as far as it can be made out; to be used only without faults.
pub(super) fn resolve(raw: &RawPromptFile, source: &Path, faults: &Faults) -> PromptSpec {
    let checks = Checks::new(faults);
    let root = JsonLocation::ROOT;
    let name = checks.required(&raw.name, &root, "name");
    if let Some(fault) = name.and_then(|it| tool_name_fault(it)) {
        let rule = "use letters, digits, `_` and `-`, beginning with a letter";
        faults.add_with_hint(&root.key("name"), fault, rule);
    }
    checks.required(&raw.description, &root, "description");
    let arguments = arguments(raw, &root.key("arguments"), checks);
    let names: Vec<String> = arguments.iter().map(|it| it.name.clone()).collect();
    let texts = Texts {
        names: &names,
        checks,
    };
    checks.required(&raw.messages, &root, "messages");
    let at = root.key("messages");
    checks.not_empty(&raw.messages, &at);
    let given = raw.messages.elements();
    let mut messages = Vec::new();
    if !checks.too_many(given.len(), limits::MESSAGES, "messages", &at) {
        for (index, message) in given.iter().enumerate() {
            messages.extend(
                message
                    .value()
                    .and_then(|it| self::message(it, &at.index(index), texts)),
            );
        }
    }
    PromptSpec {
        source: source.to_owned(),
        name: name.cloned().unwrap_or_default(),
        title: checks.text(&raw.title, &root.key("title")),
        description: checks
            .text(&raw.description, &root.key("description"))
            .unwrap_or_default(),
        arguments,
        messages,
        only_if: checks.paths_below(&raw.only_if, &root.key("only_if")),
        icons: icons(&raw.icons, &root.key("icons"), checks),
    }
}

fn arguments(
    raw: &RawPromptFile,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Vec<PromptArgumentSpec> {
    let given = raw.arguments.elements();
    if checks.too_many(given.len(), limits::PROMPT_ARGUMENTS, "arguments", place) {
        return Vec::new();
    }
    let mut taken = HashSet::new();
    let mut arguments = Vec::new();
    for (index, given) in given.iter().enumerate() {
        let Field::Value(raw) = given else { continue };
        let at = place.index(index);
        let argument = argument(raw, &at, checks);
        let place = at.key("name");
        let faults = checks.faults;
        if raw.name.value().is_some() && !is_plain(&argument.name) {
            let rule = format!(
                "use letters, digits and `_`, at most {MAX_NAME_LENGTH}, not beginning with a digit"
            );
            faults.add_with_hint(
                &place,
                format!("`{}` cannot be filled in", argument.name),
                rule,
            );
        } else if raw.name.value().is_some() && !taken.insert(argument.name.clone()) {
            let message = format!("there is an argument `{}` already", argument.name);
            faults.add_with_hint(
                &place,
                message,
                "every argument of a prompt needs a name of its own",
            );
        }
        arguments.push(argument);
    }
    arguments
}

/// Whether an argument or a variable can have this name.
pub(super) fn is_plain(name: &str) -> bool {
    is_name(name) && name.len() <= MAX_NAME_LENGTH
}

fn argument(
    raw: &RawPromptArgument,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> PromptArgumentSpec {
    let required = raw.required.copied().unwrap_or_default();
    if required && raw.default.is_present() {
        let message = "a required argument never uses its `default`";
        let hint = "remove `default`, or `required`";
        checks
            .faults
            .add_with_hint(&place.key("default"), message, hint);
    }
    PromptArgumentSpec {
        name: checks
            .required(&raw.name, place, "name")
            .cloned()
            .unwrap_or_default(),
        title: checks.text(&raw.title, &place.key("title")),
        description: checks.text(&raw.description, &place.key("description")),
        required,
        default: raw.default.value().cloned(),
        ask: checks.text(&raw.ask, &place.key("ask")),
        complete: complete(&raw.complete, &place.key("complete"), checks),
    }
}

fn message(raw: &RawMessage, place: &JsonLocation<'_>, texts: Texts<'_>) -> Option<MessageSpec> {
    let checks = texts.checks;
    let present = [
        raw.text.is_present(),
        raw.image.is_present(),
        raw.audio.is_present(),
        raw.resource.is_present(),
    ];
    let if_given = raw.if_given.value();
    if let Some(name) = if_given.filter(|it| !texts.names.contains(it)) {
        let message = format!("the prompt has no argument `{name}`");
        let hint = "name one of `arguments`";
        checks
            .faults
            .add_with_hint(&place.key("if_given"), message, hint);
    }
    match present.into_iter().filter(|it| *it).count() {
        0 => {
            let hint = format!("{PARTS}; add one");
            checks
                .faults
                .add_with_hint(place, "the message says nothing", hint);
            return None;
        }
        1 => {}
        _ => {
            let hint = format!("{PARTS}; make several messages of it");
            checks
                .faults
                .add_with_hint(place, "the message says several things", hint);
            return None;
        }
    }
    let part = if let Some(raw) = raw.image.value() {
        PartSpec::Image(media(raw, &place.key("image"), texts)?)
    } else if let Some(raw) = raw.audio.value() {
        PartSpec::Audio(media(raw, &place.key("audio"), texts)?)
    } else if let Some(raw) = raw.resource.value() {
        let at = place.key("resource");
        checks.required(&raw.uri, &at, "uri");
        let uri = texts.text(&raw.uri, &at.key("uri"));
        let body = texts.body(&raw.file, &raw.text, &at);
        PartSpec::Resource {
            mime_type: mime_type(&raw.mime_type, &at.key("mime_type"), checks),
            uri: uri?,
            body: body?,
        }
    } else {
        PartSpec::Text(texts.text(&raw.text, &place.key("text"))?)
    };
    Some(MessageSpec {
        is_assistants: raw.role.copied() == Some(RawRole::Assistant),
        part,
        if_given: if_given.cloned(),
    })
}

fn media(raw: &RawMedia, place: &JsonLocation<'_>, texts: Texts<'_>) -> Option<MediaSpec> {
    let checks = texts.checks;
    let given = mime_type(&raw.mime_type, &place.key("mime_type"), checks);
    let source = match (raw.file.is_present(), raw.data.is_present()) {
        (true, false) => MediaSource::File(texts.file(&raw.file, &place.key("file"))?),
        (false, true) => {
            let at = place.key("data");
            let data = checks.text(&raw.data, &at)?;
            if BASE64.decode(data.as_bytes()).is_err() {
                let hint = "write the bytes as `base64 -w0 FILE` prints them, or name the file with `file`";
                checks.faults.add_with_hint(&at, "this is not Base64", hint);
            }
            if given.is_none() && raw.mime_type.is_absent() {
                let hint = "add `\"mime_type\": \"image/png\"`, or what it is";
                checks
                    .faults
                    .add_with_hint(place, "nothing says which type `data` has", hint);
            }
            MediaSource::Data(data)
        }
        (true, true) => {
            let hint = "remove one of the two".to_owned();
            checks
                .faults
                .add_to_key(&place.key("data"), "there is a `file` already", hint);
            return None;
        }
        (false, false) => {
            let hint = "add `\"file\": …`, the path of a file of the project, or `\"data\": …`";
            checks
                .faults
                .add_with_hint(place, "there is neither a `file` nor `data`", hint);
            return None;
        }
    };
    Some(MediaSpec {
        source,
        mime_type: given,
    })
}
