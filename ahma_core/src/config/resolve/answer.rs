//! What a call answers with, and what it asks of its client: output, schemas, tasks, pictures.

use serde_json::{Map, Value};

use super::super::checked_schema::{CheckedSchema, SchemaFault};
use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::header_marks;
use super::super::raw::{Level, RawNeed, RawOutput, RawTask};
use super::super::shared_fields::{icons, mime_type};
use super::super::spec::{ArgumentSpec, OutputKind, ResultSpec, TaskMode};
use super::inherit::Inherited;

/// Takes what a level says of it over what is in force.
pub(super) fn take(
    inherited: &mut Inherited,
    raw: Level<'_>,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) {
    let result = &mut inherited.result;
    if let Some(output) = raw.output.copied() {
        result.kind = match output {
            RawOutput::Text => OutputKind::Text,
            RawOutput::Json => OutputKind::Json,
            RawOutput::Image => OutputKind::Image,
            RawOutput::Audio => OutputKind::Audio,
            RawOutput::Events => OutputKind::Events,
        };
    }
    if let Some(document) = raw.output_schema.value() {
        let at = place.key("output_schema");
        let hint = "add `\"type\": \"object\"`, and wrap anything else in an object: clients take no other results";
        result.schema = match is_of_object(document, &at, checks, hint) {
            true => schema(document, &at, checks),
            false => None,
        };
    }
    if let Some(mime_type) = mime_type(raw.mime_type, &place.key("mime_type"), checks) {
        result.mime_type = Some(mime_type);
    }
    if raw.requires.is_present() {
        let at = place.key("requires");
        checks.not_empty(raw.requires, &at);
        let mut all: Vec<RawNeed> = Vec::new();
        for (index, given) in raw.requires.elements().iter().enumerate() {
            match given.copied() {
                Some(need) if all.contains(&need) => {
                    let message = "this is in the list already";
                    checks
                        .faults
                        .add_with_hint(&at.index(index), message, "remove one of the two");
                }
                need => all.extend(need),
            }
        }
        let needs = &mut inherited.requires;
        needs.elicitation = all.contains(&RawNeed::Elicitation);
        needs.sampling = all.contains(&RawNeed::Sampling);
        needs.roots = all.contains(&RawNeed::Roots);
    }
    if let Some(task) = raw.task.copied() {
        inherited.task = Some(match task {
            RawTask::Never => TaskMode::Never,
            RawTask::Optional => TaskMode::Optional,
            RawTask::Required => TaskMode::Required,
        });
    }
    if raw.icons.is_present() {
        inherited.icons = icons(raw.icons, &place.key("icons"), checks);
    }
}

/// The schema that a tool brings for its arguments.
pub(super) fn own_schema(
    raw: Level<'_>,
    is_sequence: bool,
    arguments: &[ArgumentSpec],
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Option<CheckedSchema> {
    let document = raw.input_schema.value()?;
    let at = place.key("input_schema");
    if is_sequence {
        let hint = "give each step its `args` instead".to_owned();
        let why = "a sequence takes no `input_schema`";
        checks.faults.add_to_key(&at, why, hint);
    } else if !arguments.is_empty() {
        let hint = "remove one of them; with `input_schema` the command reads its arguments as one JSON object";
        let why = "`input_schema` takes the place of `options` and `positional_args`";
        checks.faults.add_to_key(&at, why, hint.to_owned());
    }
    let hint = "add `\"type\": \"object\"`: arguments of a call have names";
    let schema =
        is_of_object(document, &at, checks, hint).then(|| schema(document, &at, checks))??;
    if let Some(fault) = header_marks::fault(document) {
        add_at_pointer(&fault, &at, checks);
    }
    Some(schema)
}

/// What of a result is for this leaf: a subcommand may have another output than the tool around it, and steps have their own.
pub(super) fn result_of_leaf(inherited: ResultSpec, is_sequence: bool) -> ResultSpec {
    if is_sequence {
        return ResultSpec::default();
    }
    let ResultSpec {
        kind,
        schema,
        mime_type,
    } = inherited;
    ResultSpec {
        schema: schema.filter(|_| has_structure(kind)),
        mime_type: mime_type.filter(|it| is_type_of(kind, it)),
        kind,
    }
}

fn has_structure(kind: OutputKind) -> bool {
    matches!(kind, OutputKind::Json | OutputKind::Events)
}

fn has_type(kind: OutputKind) -> bool {
    matches!(kind, OutputKind::Image | OutputKind::Audio)
}

fn is_type_of(kind: OutputKind, mime_type: &str) -> bool {
    match kind {
        OutputKind::Image => mime_type.starts_with("image/"),
        OutputKind::Audio => mime_type.starts_with("audio/"),
        _ => false,
    }
}

/// Many clients cannot read a list of tools in which a schema is anything else.
fn is_of_object(
    document: &Map<String, Value>,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
    hint: &str,
) -> bool {
    let is_of_object = document.get("type").and_then(Value::as_str) == Some("object");
    if !is_of_object {
        let message = "the schema is not one of an object";
        checks.faults.add_with_hint(place, message, hint);
    }
    is_of_object
}

/// What goes together in a tool, and what does not.
pub(super) fn check_leaf(
    raw: Level<'_>,
    inherited: &Inherited,
    is_sequence: bool,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) {
    let result = &inherited.result;
    let kind = result.kind;
    if is_sequence && raw.output.is_present() && kind != OutputKind::Text {
        let hint = "the steps' own outputs are its result".to_owned();
        let why = "a sequence has no output of its own";
        checks.faults.add_to_key(&place.key("output"), why, hint);
    }
    if raw.output_schema.is_present() && !has_structure(kind) {
        let belongs = "tools with `\"output\": \"json\"` or `\"events\"`";
        checks.misplaced("output_schema", belongs, place);
    }
    if raw.mime_type.is_present() && !has_type(kind) {
        let belongs = "tools with `\"output\": \"image\"` or `\"audio\"`";
        checks.misplaced("mime_type", belongs, place);
    } else if let (true, Some(mime_type)) = (raw.mime_type.is_present(), &result.mime_type)
        && !is_type_of(kind, mime_type)
    {
        let (thing, such) = match kind {
            OutputKind::Audio => ("sound", "audio/wav"),
            _ => ("picture", "image/png"),
        };
        let message = format!("`{mime_type}` is not the type of a {thing}");
        let hint = format!("write one such as `{such}`, or leave it out: the first bytes tell");
        checks
            .faults
            .add_with_hint(&place.key("mime_type"), message, hint);
    }
    let lists = [
        ("options", raw.options),
        ("positional_args", raw.positional_args),
    ];
    for (field, list) in lists.into_iter().filter(|_| kind == OutputKind::Events) {
        for (index, argument) in list.elements().iter().enumerate() {
            let stdin = argument.value().and_then(|it| it.stdin.copied());
            if stdin == Some(true) {
                checks.faults.add_to_key(
                    &place.key(field).index(index).key("stdin"),
                    "a command with `\"output\": \"events\"` reads its arguments and answers from its standard input",
                    "remove `stdin`; the command finds the value in the first line that it reads".to_owned(),
                );
            }
        }
    }
    if result.schema.is_some() && has_structure(kind) && inherited.task == Some(TaskMode::Never) {
        let hint = "remove `task`: a call with an `output_schema` waits for its result".to_owned();
        let why = "`task` has no effect beside `output_schema`";
        if raw.task.is_present() {
            checks.faults.add_to_key(&place.key("task"), why, hint);
        }
    }
}

fn schema(
    document: &Map<String, Value>,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Option<CheckedSchema> {
    match CheckedSchema::new(document) {
        Ok(schema) => Some(schema),
        Err(fault) => {
            add_at_pointer(&fault, place, checks);
            None
        }
    }
}

fn add_at_pointer(fault: &SchemaFault, place: &JsonLocation<'_>, checks: Checks<'_>) {
    let path: Vec<String> = fault.pointer.split('/').skip(1).map(unescaped).collect();
    add_below(fault, &path, place, checks);
}

/// A step of a JSON pointer as the key that it means.
fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

fn add_below(fault: &SchemaFault, path: &[String], place: &JsonLocation<'_>, checks: Checks<'_>) {
    match path.split_first() {
        Some((first, rest)) => add_below(fault, rest, &place.key(first), checks),
        None => {
            let message = fault.message.as_str();
            checks.faults.add_with_hint(place, message, fault.hint);
        }
    }
}
