//! From the raw form to the resolved form: inheritance written out, every rule of meaning checked.
//!
//! Works on one file at a time and reports all of its faults; what needs more than one file (names
//! taken twice, targets of steps) is files by [`link`](super::link). Reads no file and runs nothing.

mod answer;
mod argument;
mod availability;
mod delivery;
mod inherit;
mod relations;
mod scalar;
mod sequence;

use std::path::Path;
use std::sync::Arc;

use self::inherit::Inherited;
use super::checks::Checks;
use super::describe;
use super::fault::{Faults, JsonLocation};
use super::field::Field;
use super::input_schema::input_schema;
use super::limits;
use super::lint;
use super::names::{self, DEFAULT_SUBCOMMAND, MAX_NAME_LENGTH, SEQUENCE_COMMAND};
use super::raw::{Level, RawToolFile};
use super::server_facts::ServerFacts;
use super::spec::{Action, CommandLine, ToolFile, ToolSpec};

/// Resolves a decoded file. The result is to be used only when `faults` stayed empty; otherwise it
/// tells which names the file would have offered.
pub(super) fn resolve(
    raw: &RawToolFile,
    source: &Path,
    facts: &ServerFacts,
    faults: &Faults,
) -> ToolFile {
    let checks = Checks::new(faults);
    let root = JsonLocation::ROOT;
    let name = checks
        .required(&raw.name, &root, "name")
        .cloned()
        .unwrap_or_default();
    if let Some(fault) = raw
        .name
        .value()
        .and_then(|name| names::tool_name_fault(name))
    {
        let rule = "use letters, digits, `_` and `-`, beginning with a letter";
        faults.add_with_hint(&root.key("name"), fault, rule);
    }
    checks.required(&raw.command, &root, "command");

    let mut resolver = Resolver {
        checks,
        facts,
        file: ToolFile {
            source: source.to_owned(),
            name: name.clone(),
            is_shipped: false,
            tools: Vec::new(),
            disabled: Vec::new(),
        },
    };
    let start = Start {
        name: &name,
        is_tool: true,
    };
    resolver.level(raw.level(), Inherited::default(), &root, start);
    resolver.file
}

struct Resolver<'f> {
    checks: Checks<'f>,
    facts: &'f ServerFacts,
    file: ToolFile,
}

/// Where a level begins: its full name so far, and whether it is the tool itself.
#[derive(Clone, Copy)]
struct Start<'n> {
    name: &'n str,
    is_tool: bool,
}

impl Resolver<'_> {
    fn level(
        &mut self,
        raw: Level<'_>,
        above: Inherited,
        place: &JsonLocation<'_>,
        start: Start<'_>,
    ) {
        let checks = self.checks;
        checks.required(raw.description, place, "description");
        checks.text(raw.description, &place.key("description"));
        checks.text(raw.title, &place.key("title"));
        let inherited = above.with(raw, place, checks);
        lint::words(raw.fixed_args, &place.key("fixed_args"), checks);
        lint::values(raw.env, &place.key("env"), checks);
        if inherited.availability.is_none() && inherited.command != SEQUENCE_COMMAND {
            let around = (self.facts, inherited.local_bin.as_slice());
            lint::program(raw.command, &place.key("command"), around, checks);
        }
        if raw.subcommand.elements().is_empty() {
            self.tool(raw, inherited, place, start);
        } else {
            self.group(raw, &inherited, place, start);
        }
    }

    /// A level with subcommands: it passes on what it sets and is not callable itself.
    fn group(
        &mut self,
        raw: Level<'_>,
        inherited: &Inherited,
        place: &JsonLocation<'_>,
        start: Start<'_>,
    ) {
        for (field, present) in [
            ("options", raw.options.is_present()),
            ("positional_args", raw.positional_args.is_present()),
            (
                "positional_args_first",
                raw.positional_args_first.is_present(),
            ),
            ("end_of_options", raw.end_of_options.is_present()),
            ("sequence", raw.sequence.is_present()),
            ("input_schema", raw.input_schema.is_present()),
        ] {
            if present {
                self.checks.faults.add_to_key(
                    &place.key(field),
                    format!("`{field}` has no effect beside `subcommand`"),
                    format!(
                        "move `{field}` into the subcommands it belongs to; a subcommand called \
                         `{DEFAULT_SUBCOMMAND}` stands for the command without one"
                    ),
                );
            }
        }
        let list = place.key("subcommand");
        let so_far = self.file.tools.len() + self.file.disabled.len();
        let count = so_far + raw.subcommand.elements().len();
        if self
            .checks
            .too_many(count, limits::LEAVES_PER_FILE, "tools in this file", &list)
        {
            return;
        }
        for (index, given) in raw.subcommand.elements().iter().enumerate() {
            let Field::Value(subcommand) = given else {
                continue;
            };
            let place = list.index(index);
            let word = self.subcommand_name(&subcommand.name, &place);
            let name = names::join(start.name, &word);
            let mut inherited = inherited.clone();
            if word != DEFAULT_SUBCOMMAND {
                inherited.words.push(word);
            }
            let start = Start {
                name: &name,
                is_tool: false,
            };
            self.level(subcommand.level(), inherited, &place, start);
        }
    }

    fn subcommand_name(&self, given: &Field<String>, place: &JsonLocation<'_>) -> String {
        let Some(name) = self.checks.required(given, place, "name") else {
            return String::new();
        };
        if let Some(fault) = names::subcommand_name_fault(name) {
            let rule = if name.contains('_') {
                "`_` separates the levels of a tool's name; use `-`, or nest the subcommands"
            } else {
                "use letters, digits and `-`, beginning with a letter"
            };
            self.checks
                .faults
                .add_with_hint(&place.key("name"), fault, rule);
        }
        name.clone()
    }

    fn tool(
        &mut self,
        raw: Level<'_>,
        inherited: Inherited,
        place: &JsonLocation<'_>,
        start: Start<'_>,
    ) {
        self.check_full_name(start, place);
        let is_sequence = raw.sequence.is_present() || inherited.command == SEQUENCE_COMMAND;
        let arguments = if is_sequence {
            self.refuse_arguments_of_sequence(raw, place);
            Vec::new()
        } else {
            argument::resolve_arguments(raw, place, self.checks)
        };
        let own_schema = answer::own_schema(raw, is_sequence, &arguments, place, self.checks);
        answer::check_leaf(raw, &inherited, is_sequence, place, self.checks);
        let action = if is_sequence {
            let steps = sequence::resolve_steps(
                raw,
                &self.file.name,
                start,
                &inherited,
                place,
                self.checks,
            );
            Action::Sequence(steps)
        } else {
            self.refuse_options_behind_dashes(raw, place);
            Action::Run(CommandLine {
                program: inherited.command.clone(),
                words: inherited.words.clone(),
                positionals_first: raw.positional_args_first.copied().unwrap_or_default(),
                end_of_options: raw.end_of_options.copied().unwrap_or_default(),
            })
        };
        if !inherited.enabled {
            self.file.disabled.push(start.name.to_owned());
            return;
        }
        let description = raw
            .description
            .value()
            .map(String::as_str)
            .unwrap_or_default();
        self.file.tools.push(Arc::new(ToolSpec {
            name: start.name.to_owned(),
            pointer: place.pointer(),
            title: raw.title.value().cloned(),
            description: describe::with_hints(
                description,
                &inherited.hints,
                inherited.guidance_key.as_deref(),
            ),
            action,
            input_schema: match &own_schema {
                Some(schema) => Arc::clone(schema.document()),
                None => Arc::new(input_schema(
                    &arguments,
                    self.facts.parameters(inherited.service),
                )),
            },
            own_schema,
            arguments,
            synchronous: inherited.synchronous,
            service: inherited.service,
            core: inherited.core,
            timeout_seconds: inherited.timeout_seconds,
            env: inherited.env,
            only_if: inherited.only_if,
            local_bin: inherited.local_bin,
            availability: inherited.availability,
            install_instructions: inherited.install_instructions,
            annotations: inherited.annotations,
            restrictions: inherited.restrictions,
            success_exit_codes: inherited.success_exit_codes,
            result: answer::result_of_leaf(inherited.result, is_sequence),
            requires: inherited.requires,
            task: inherited.task,
            icons: inherited.icons,
        }));
    }

    fn refuse_options_behind_dashes(&self, raw: Level<'_>, place: &JsonLocation<'_>) {
        let first = raw.positional_args_first.copied() == Some(true);
        let dashes = raw.end_of_options.copied() == Some(true)
            || raw.positional_args.elements().iter().any(|given| {
                given
                    .value()
                    .is_some_and(|raw| raw.end_of_options.copied() == Some(true))
            });
        if first && dashes {
            self.checks.faults.add_to_key(
                &place.key("positional_args_first"),
                "the options would stand behind `--`, where they are no options any more",
                "remove `positional_args_first` or `end_of_options`".to_owned(),
            );
        }
    }

    /// The parts of a name can be right one by one and too long together.
    fn check_full_name(&self, start: Start<'_>, place: &JsonLocation<'_>) {
        let length = start.name.chars().count();
        if !start.is_tool && length > MAX_NAME_LENGTH && self.file.name.len() <= MAX_NAME_LENGTH {
            self.checks.faults.add_with_hint(
                &place.key("name"),
                format!(
                    "the tool name `{}` has {length} characters; at most {MAX_NAME_LENGTH} are \
                     allowed",
                    start.name
                ),
                "shorten the tool's or the subcommand's name",
            );
        }
    }

    fn refuse_arguments_of_sequence(&self, raw: Level<'_>, place: &JsonLocation<'_>) {
        for (field, present) in [
            ("options", raw.options.is_present()),
            ("positional_args", raw.positional_args.is_present()),
            ("fixed_args", raw.fixed_args.is_present()),
            (
                "positional_args_first",
                raw.positional_args_first.is_present(),
            ),
            ("end_of_options", raw.end_of_options.is_present()),
        ] {
            if present {
                self.checks.faults.add_to_key(
                    &place.key(field),
                    format!("a sequence takes no `{field}`"),
                    "give each step its `args` instead".to_owned(),
                );
            }
        }
    }
}
