//! Options and positional arguments: names, types, limits and defaults.

use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::field::Field;
use super::super::limits;
use super::super::names::argument_name_fault;
use super::super::raw::{ArgumentType, ItemType, Level, List, RawArgument, RawItems, ValueFormat};
use super::super::shared_fields;
use super::super::spec::{ArgumentSpec, Delivery, ScalarKind, ScalarSpec, ValueSpec};
use super::super::values::{META_PARAMETERS, check_argument};
use super::{delivery, relations, scalar};

/// Where an argument stands on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    Option,
    Positional,
}

/// The arguments of a tool: options first, then positionals, each in the order of the file.
pub(super) fn resolve_arguments(
    raw: Level<'_>,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Vec<ArgumentSpec> {
    let mut resolved = Resolved {
        checks,
        arguments: Vec::new(),
        names: Vec::new(),
    };
    let count = raw.options.elements().len() + raw.positional_args.elements().len();
    if checks.too_many(count, limits::ARGUMENTS_PER_LEAF, "arguments", place) {
        return Vec::new();
    }
    resolved.take(raw.options, Position::Option, &place.key("options"));
    resolved.take(
        raw.positional_args,
        Position::Positional,
        &place.key("positional_args"),
    );
    relations::check(raw, &resolved.arguments, place, checks);
    resolved.arguments
}

struct Resolved<'f> {
    checks: Checks<'f>,
    arguments: Vec<ArgumentSpec>,
    /// Names and aliases used so far, with the pointer of their argument.
    names: Vec<(String, String)>,
}

impl Resolved<'_> {
    fn take(&mut self, list: &List<RawArgument>, position: Position, place: &JsonLocation<'_>) {
        let mut optional_before: Option<String> = None;
        for (index, given) in list.elements().iter().enumerate() {
            let Field::Value(raw) = given else { continue };
            let at = place.index(index);
            let argument = self.argument(raw, position, &at);
            if position == Position::Positional && argument.delivery != Delivery::Stdin {
                let can_be_missing = !argument.required && argument.default.is_none();
                if let (true, Some(before)) = (argument.required, &optional_before) {
                    self.checks.faults.add_with_hint(
                        &at,
                        format!(
                            "the required `{}` stands behind `{before}`, which a caller may leave \
                             out; its value would then take the place of the other",
                            argument.name
                        ),
                        format!("make `{before}` required, or give it a `default`"),
                    );
                }
                if can_be_missing {
                    optional_before = Some(argument.name.clone());
                }
            }
            self.arguments.push(argument);
        }
    }

    fn argument(
        &mut self,
        raw: &RawArgument,
        position: Position,
        place: &JsonLocation<'_>,
    ) -> ArgumentSpec {
        let name = self
            .checks
            .required(&raw.name, place, "name")
            .cloned()
            .unwrap_or_default();
        self.claim(&raw.name, &place.key("name"));
        self.claim(&raw.alias, &place.key("alias"));
        self.checks.required(&raw.kind, place, "type");
        let values = self.values(raw, position, place);
        let argument = ArgumentSpec {
            delivery: self.delivery(raw, &name, position, place),
            name,
            alias: raw.alias.value().cloned(),
            description: raw.description.value().cloned(),
            values: values.clone().unwrap_or(ValueSpec::Boolean),
            required: raw.required.copied().unwrap_or_default(),
            default: raw.default.value().cloned(),
            allow_dash: raw.allow_dash.copied().unwrap_or_default(),
            negated_flag: delivery::flag(
                &raw.negated_flag,
                &place.key("negated_flag"),
                self.checks,
            ),
            conflicts_with: self
                .checks
                .strings(&raw.conflicts_with, &place.key("conflicts_with")),
            requires: self
                .checks
                .strings(&raw.requires_arguments, &place.key("requires_arguments")),
            complete: shared_fields::complete(&raw.complete, &place.key("complete"), self.checks),
        };
        // Without a type nothing can be said about its values.
        if values.is_some() {
            self.check_own_values(&argument, place);
        }
        argument
    }

    /// Checks a name and takes it, so that no other argument of the tool can have it.
    fn claim(&mut self, given: &Field<String>, place: &JsonLocation<'_>) {
        let Field::Value(name) = given else { return };
        let faults = self.checks.faults;
        if let Some(fault) = argument_name_fault(name) {
            let rule = "use letters, digits, `_`, `.` and `-`; set `flag` when the flag differs";
            faults.add_with_hint(place, fault, rule);
        } else if META_PARAMETERS.contains(&name.as_str()) {
            faults.add_with_hint(
                place,
                format!("`{name}` is a parameter that every tool has already"),
                "choose another name, and set `flag` to the flag it stands for",
            );
        } else if let Some((_, first)) = self.names.iter().find(|(taken, _)| taken == name) {
            faults.add_with_hint(
                place,
                format!("the name `{name}` is taken by the argument at {first}"),
                "every name and alias of a tool must differ",
            );
        } else {
            self.names.push((name.clone(), place.pointer()));
        }
    }

    /// The values the file itself names must be ones a caller could give.
    fn check_own_values(&self, argument: &ArgumentSpec, place: &JsonLocation<'_>) {
        let faults = self.checks.faults;
        let at = place.key("default");
        if argument.required && argument.default.is_some() {
            let message = "a required argument never uses its `default`";
            faults.add_with_hint(&at, message, "remove `default`, or `required`");
        }
        let check = |value| check_argument(argument, value).err();
        if let Some(message) = argument.default.as_ref().and_then(check) {
            faults.add_with_hint(
                &at,
                format!("the default does not fit the argument: {message}"),
                "correct the default, or the type and limits of the argument",
            );
        }
        let ValueSpec::One(scalar) = &argument.values else {
            return;
        };
        for (index, value) in scalar.allowed.iter().enumerate() {
            if let Some(message) = check_argument(argument, value).err() {
                let hint = "set `allow_dash` when the command takes such a value";
                faults.add_with_hint(&place.key("enum").index(index), message, hint);
            }
        }
    }

    /// The values the argument takes; `None` when its type is unknown.
    fn values(
        &self,
        raw: &RawArgument,
        position: Position,
        place: &JsonLocation<'_>,
    ) -> Option<ValueSpec> {
        let named = raw.kind.copied()?;
        let kind = match named {
            ArgumentType::Path => {
                let message = "`path` is not a type of its own; it is taken for a string with the format `path`";
                let hint = "write `\"type\": \"string\", \"format\": \"path\"`";
                self.checks.faults.warn(&place.key("type"), message, hint);
                ArgumentType::String
            }
            kind => kind,
        };
        self.refuse_misplaced(raw, kind, place);
        let limits = |kind: ScalarKind| {
            let mut limits = ScalarSpec {
                kind,
                allowed: Vec::new(),
                minimum: raw.minimum.copied(),
                maximum: raw.maximum.copied(),
                pattern: scalar::pattern(&raw.pattern, &place.key("pattern"), self.checks),
                is_path: raw.format.copied() == Some(ValueFormat::Path)
                    || named == ArgumentType::Path,
            };
            let at = place.key("enum");
            limits.allowed = scalar::allowed_values(&raw.allowed, &limits, &at, self.checks);
            limits
        };
        if let (Some(minimum), Some(maximum)) = (raw.minimum.copied(), raw.maximum.copied())
            && minimum > maximum
        {
            self.checks.faults.add_with_hint(
                &place.key("minimum"),
                format!("the minimum {minimum} is above the maximum {maximum}"),
                "no value could be given; swap them",
            );
        }
        Some(match kind {
            ArgumentType::Boolean => {
                if position == Position::Positional {
                    self.checks.faults.add_with_hint(
                        &place.key("type"),
                        "a positional argument cannot be a boolean",
                        "move it to `options`: a boolean is a flag that is there or not",
                    );
                }
                ValueSpec::Boolean
            }
            ArgumentType::String | ArgumentType::Path => ValueSpec::One(limits(ScalarKind::String)),
            ArgumentType::Integer => ValueSpec::One(limits(ScalarKind::Integer)),
            ArgumentType::Number => ValueSpec::One(limits(ScalarKind::Number)),
            ArgumentType::Array => ValueSpec::Many(match raw.items.value() {
                Some(items) => self.items(items, &place.key("items")),
                None => limits(ScalarKind::String),
            }),
        })
    }

    fn items(&self, raw: &RawItems, place: &JsonLocation<'_>) -> ScalarSpec {
        self.checks.required(&raw.kind, place, "type");
        let kind = match raw.kind.copied() {
            Some(ItemType::Integer) => ScalarKind::Integer,
            Some(ItemType::Number) => ScalarKind::Number,
            Some(ItemType::String) | None => ScalarKind::String,
        };
        if kind != ScalarKind::String && raw.format.is_present() {
            self.checks
                .misplaced("format", "items of type `string`", place);
        }
        let mut limits = ScalarSpec {
            kind,
            allowed: Vec::new(),
            minimum: None,
            maximum: None,
            pattern: None,
            is_path: raw.format.copied() == Some(ValueFormat::Path),
        };
        let at = place.key("enum");
        limits.allowed = scalar::allowed_values(&raw.allowed, &limits, &at, self.checks);
        limits
    }

    /// Fields that mean nothing for the type at hand.
    fn refuse_misplaced(&self, raw: &RawArgument, kind: ArgumentType, place: &JsonLocation<'_>) {
        use ArgumentType::{Array, Boolean, Integer, Number, String};
        let is_one_of = |kinds: &[ArgumentType]| kinds.contains(&kind);
        let rules: [(&str, bool, bool, &str); 12] = [
            (
                "minimum",
                raw.minimum.is_present(),
                is_one_of(&[Integer, Number]),
                "numbers",
            ),
            (
                "maximum",
                raw.maximum.is_present(),
                is_one_of(&[Integer, Number]),
                "numbers",
            ),
            (
                "pattern",
                raw.pattern.is_present(),
                is_one_of(&[String]),
                "strings",
            ),
            (
                "format",
                raw.format.is_present(),
                is_one_of(&[String]),
                "strings (in an array, put it into `items`)",
            ),
            (
                "enum",
                raw.allowed.is_present(),
                is_one_of(&[String, Integer, Number]),
                "strings and numbers (in an array, put it into `items`)",
            ),
            (
                "items",
                raw.items.is_present(),
                is_one_of(&[Array]),
                "arrays",
            ),
            (
                "value_style",
                raw.value_style.is_present(),
                !is_one_of(&[Boolean]),
                "arguments with a value",
            ),
            (
                "file_arg",
                raw.file_arg.is_present(),
                is_one_of(&[String]),
                "strings",
            ),
            (
                "stdin",
                raw.stdin.is_present(),
                is_one_of(&[String]),
                "strings",
            ),
            (
                "env",
                raw.env.is_present(),
                !is_one_of(&[Array]),
                "arguments with one value",
            ),
            (
                "negated_flag",
                raw.negated_flag.is_present(),
                is_one_of(&[Boolean]),
                "booleans",
            ),
            (
                "complete",
                raw.complete.is_present(),
                is_one_of(&[String, Array]),
                "strings, one or several",
            ),
        ];
        for (field, present, fits, where_it_belongs) in rules {
            if present && !fits {
                self.checks.misplaced(field, where_it_belongs, place);
            }
        }
    }

    fn delivery(
        &self,
        raw: &RawArgument,
        name: &str,
        position: Position,
        place: &JsonLocation<'_>,
    ) -> Delivery {
        let delivery = delivery::resolve(raw, name, position, place, self.checks);
        let stdin_is_taken = self
            .arguments
            .iter()
            .any(|other| other.delivery == Delivery::Stdin);
        if delivery == Delivery::Stdin && stdin_is_taken {
            let rule = "one argument of a tool; another one has it already";
            self.checks.misplaced("stdin", rule, place);
        }
        delivery
    }
}
