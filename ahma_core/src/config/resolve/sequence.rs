//! Steps of a sequence: each becomes the call of a tool by its full name. Whether that tool exists
//! is files when all files are known.

use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::field::Field;
use super::super::limits;
use super::super::names::{self, SEQUENCE_COMMAND};
use super::super::raw::{Level, RawStep};
use super::super::spec::{Sequence, StepSpec};
use super::Start;
use super::inherit::Inherited;

pub(super) fn resolve_steps(
    raw: Level<'_>,
    tool_name: &str,
    start: Start<'_>,
    inherited: &Inherited,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Sequence {
    let list = place.key("sequence");
    if raw.sequence.is_absent() {
        checks.faults.add_with_hint(
            place,
            "`\"command\": \"sequence\"` needs a `sequence`",
            "add the steps, or name the program to run",
        );
    }
    if start.is_tool && raw.command.is_present() && inherited.command != SEQUENCE_COMMAND {
        checks.faults.add_to_key(
            &list,
            format!(
                "`sequence` has no effect beside the command `{}`",
                inherited.command
            ),
            "set `\"command\": \"sequence\"`, or move the sequence into a subcommand".to_owned(),
        );
    }
    if !start.is_tool && raw.sequence.is_present() && raw.command.is_present() {
        checks.faults.add_to_key(
            &place.key("command"),
            "`command` has no effect beside `sequence`",
            "remove one of the two".to_owned(),
        );
    }
    checks.not_empty(raw.sequence, &list);
    let count = raw.sequence.elements().len();
    checks.too_many(count, limits::STEPS_PER_SEQUENCE, "steps", &list);
    let mut steps = Vec::with_capacity(raw.sequence.elements().len());
    for (index, given) in raw.sequence.elements().iter().enumerate() {
        if let Field::Value(step) = given {
            let enclosing = (!start.is_tool).then_some(tool_name);
            steps.push(resolve_step(step, enclosing, &list.index(index), checks));
        }
    }
    Sequence {
        steps,
        step_delay_ms: inherited.step_delay_ms,
    }
}

/// `enclosing` is the tool that a step inside a subcommand means when it names none.
fn resolve_step(
    raw: &RawStep,
    enclosing: Option<&str>,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> StepSpec {
    if enclosing.is_none() {
        checks.required(&raw.tool, place, "tool");
    }
    let tool = checks.text(&raw.tool, &place.key("tool"));
    let subcommand = checks.text(&raw.subcommand, &place.key("subcommand"));
    if raw.tool.is_absent() && raw.subcommand.is_absent() && enclosing.is_some() {
        checks.faults.add_with_hint(
            place,
            "the step names neither a `tool` nor a `subcommand`",
            "add the `subcommand` of this tool that the step calls",
        );
    }
    refuse_double_condition(raw, place, checks);
    let names_something = raw.tool.is_present() || raw.subcommand.is_present();
    let target = match (tool.or_else(|| enclosing.map(str::to_owned)), subcommand) {
        (Some(tool), Some(subcommand)) => subcommand
            .split('_')
            .fold(tool, |name, word| names::join(&name, word)),
        (Some(tool), None) if names_something => tool,
        // The fault has been reported; there is no target to look for.
        _ => String::new(),
    };
    StepSpec {
        pointer: place.pointer(),
        target,
        args: raw.args.value().cloned().unwrap_or_default(),
        description: raw.description.value().cloned(),
        skip_if_file_exists: relative_path(
            &raw.skip_if_file_exists,
            &place.key("skip_if_file_exists"),
            checks,
        ),
        skip_if_file_missing: relative_path(
            &raw.skip_if_file_missing,
            &place.key("skip_if_file_missing"),
            checks,
        ),
        continue_on_error: raw.continue_on_error.copied().unwrap_or_default(),
    }
}

fn refuse_double_condition(raw: &RawStep, place: &JsonLocation<'_>, checks: Checks<'_>) {
    let exists = raw.skip_if_file_exists.value();
    if exists.is_some() && exists == raw.skip_if_file_missing.value() {
        checks.faults.add_with_hint(
            &place.key("skip_if_file_missing"),
            "the step would always be skipped",
            "name two different paths, or remove one of the conditions",
        );
    }
}

fn relative_path(
    given: &Field<String>,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Option<String> {
    let path = given.value()?;
    checks.path_below(path, place).then(|| path.clone())
}
