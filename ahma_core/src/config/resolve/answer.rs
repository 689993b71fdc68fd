//! What a call answers with, and what it asks of its client: output, schemas, tasks, pictures.

use super::super::checked_schema::CheckedSchema;
use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::field::Field;
use super::super::raw::{AnyObject, Level, RawNeed, RawOutput, RawTask};
use super::super::shared_fields::{icons, mime_type};
use super::super::spec::{ArgumentSpec, Delivery, OutputKind, TaskMode};
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
    if raw.output_schema.is_present() {
        result.schema = schema(raw.output_schema, &place.key("output_schema"), checks);
    }
    if let Some(mime_type) = mime_type(raw.mime_type, &place.key("mime_type"), checks) {
        result.mime_type = Some(mime_type);
    }
    if raw.requires.is_present() {
        checks.not_empty(raw.requires, &place.key("requires"));
        let all: Vec<RawNeed> = (raw.requires.elements().iter())
            .filter_map(Field::copied)
            .collect();
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
    if document.get("type").and_then(|it| it.as_str()) != Some("object") {
        let hint = "add `\"type\": \"object\"`: arguments of a call have names";
        checks
            .faults
            .add_with_hint(&at, "the schema is not one of an object", hint);
        return None;
    }
    schema(raw.input_schema, &at, checks)
}

/// What goes together in a tool, and what does not.
pub(super) fn check_leaf(
    raw: Level<'_>,
    inherited: &Inherited,
    is_sequence: bool,
    arguments: &[ArgumentSpec],
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
    let has_structure = matches!(kind, OutputKind::Json | OutputKind::Events);
    if raw.output_schema.is_present() && !has_structure {
        let belongs = "tools with `\"output\": \"json\"` or `\"events\"`";
        checks.misplaced("output_schema", belongs, place);
    }
    let has_type = matches!(kind, OutputKind::Image | OutputKind::Audio);
    if raw.mime_type.is_present() && !has_type {
        let belongs = "tools with `\"output\": \"image\"` or `\"audio\"`";
        checks.misplaced("mime_type", belongs, place);
    }
    let reads = arguments.iter().find(|it| it.delivery == Delivery::Stdin);
    if let (OutputKind::Events, Some(argument)) = (kind, reads) {
        let name = &argument.name;
        checks.faults.add_with_hint(
            place,
            format!("the value of `{name}` would be the standard input, where a command with `\"output\": \"events\"` reads its arguments and answers"),
            "remove `stdin` of the argument; the command finds its value in the first line that it reads",
        );
    }
    if result.schema.is_some() && has_structure && inherited.task == Some(TaskMode::Never) {
        let hint = "remove `task`: a call with an `output_schema` waits for its result".to_owned();
        let why = "`task` has no effect beside `output_schema`";
        if raw.task.is_present() {
            checks.faults.add_to_key(&place.key("task"), why, hint);
        }
    }
}

fn schema(
    given: &AnyObject,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Option<CheckedSchema> {
    match CheckedSchema::new(given.value()?) {
        Ok(schema) => Some(schema),
        Err((why, below)) => {
            let message = format!("this is not a JSON Schema that can be used: {why}");
            let hint = match below.is_empty() {
                true => {
                    "write one of draft 2020-12 that refers to nothing outside of itself".to_owned()
                }
                false => format!("look at `{below}` in it; it has to be of draft 2020-12"),
            };
            checks.faults.add_with_hint(place, message, hint);
            None
        }
    }
}
