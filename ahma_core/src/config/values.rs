//! Whether a JSON value is right for an argument. Used for defaults, for steps of sequences, and for
//! calls; it says what is wrong and leaves the place to its caller.

use serde_json::{Map, Value};

use super::raw::bounds;
use super::spec::{ArgumentSpec, LeafSpec, ScalarKind, ScalarSpec, ValueSpec};
use super::suggest::nearest;

/// Parameters of every leaf that steer the call and are never passed on to the command.
pub const META_PARAMETERS: [&str; 3] = ["working_directory", "execution_mode", "timeout_seconds"];

/// The values of `execution_mode`.
pub(super) const EXECUTION_MODES: [&str; 3] = ["async", "sync", "auto"];

/// What is wrong with one argument of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentFault {
    /// The argument as the caller wrote it, or the name of the missing one.
    pub argument: String,
    /// What is wrong, as a lower-case fragment.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ArgumentFault {
    fn new(argument: &str, message: String, hint: Option<String>) -> Self {
        ArgumentFault {
            argument: argument.to_owned(),
            message,
            hint,
        }
    }
}

/// Everything that is wrong with the arguments of a call of `leaf`.
pub fn check_arguments(leaf: &LeafSpec, given: &Map<String, Value>) -> Vec<ArgumentFault> {
    let mut faults = Vec::new();
    for (name, value) in given {
        if META_PARAMETERS.contains(&name.as_str()) {
            if let Err(message) = check_meta_parameter(name, value) {
                faults.push(ArgumentFault::new(name, message, None));
            }
            continue;
        }
        match find_argument(leaf, name) {
            Some(argument) => {
                if name != &argument.name && given.contains_key(&argument.name) {
                    let message = format!(
                        "`{name}` is another name of `{}`, which is given too",
                        argument.name
                    );
                    faults.push(ArgumentFault::new(name, message, None));
                } else if let Err(message) = check_value(&argument.values, value) {
                    faults.push(ArgumentFault::new(name, message, None));
                } else if argument.required && value.as_array().is_some_and(Vec::is_empty) {
                    let message = "at least one element is required".to_owned();
                    faults.push(ArgumentFault::new(name, message, None));
                }
            }
            None => faults.push(unknown_argument(leaf, name)),
        }
    }
    for argument in leaf.arguments.iter().filter(|argument| argument.required) {
        let by_alias = argument
            .alias
            .as_ref()
            .is_some_and(|alias| given.contains_key(alias));
        if !given.contains_key(&argument.name) && !by_alias {
            let message = format!("the argument `{}` is required", argument.name);
            let hint = argument.description.clone();
            faults.push(ArgumentFault::new(&argument.name, message, hint));
        }
    }
    faults
}

fn check_meta_parameter(name: &str, value: &Value) -> Result<(), String> {
    match name {
        "execution_mode" if EXECUTION_MODES.iter().any(|mode| value == mode) => Ok(()),
        "execution_mode" => Err(format!(
            "expected {}, found {value}",
            EXECUTION_MODES.map(|mode| format!("{mode:?}")).join(", ")
        )),
        "timeout_seconds" => {
            let seconds = value
                .as_u64()
                .and_then(|seconds| u32::try_from(seconds).ok());
            let range = bounds::TIMEOUT_SECONDS;
            if seconds.is_some_and(|seconds| range.contains(&seconds)) {
                return Ok(());
            }
            let (least, most) = (range.start(), range.end());
            Err(format!(
                "expected a whole number from {least} to {most}, found {value}"
            ))
        }
        _ if value.is_string() => Ok(()),
        _ => Err(format!("expected a string, found {value}")),
    }
}

/// The argument a caller means by `name`.
pub fn find_argument<'l>(leaf: &'l LeafSpec, name: &str) -> Option<&'l ArgumentSpec> {
    leaf.arguments
        .iter()
        .find(|argument| argument.name == name || argument.alias.as_deref() == Some(name))
}

fn unknown_argument(leaf: &LeafSpec, name: &str) -> ArgumentFault {
    let known: Vec<&str> = leaf
        .arguments
        .iter()
        .map(|argument| argument.name.as_str())
        .chain(META_PARAMETERS)
        .collect();
    let hint = nearest(name, known.iter().copied()).map_or_else(
        || format!("arguments of `{}`: {}", leaf.name, known.join(", ")),
        |right| format!("did you mean `{right}`?"),
    );
    let message = format!("`{}` has no argument `{name}`", leaf.name);
    ArgumentFault::new(name, message, Some(hint))
}

/// Checks one value, and says what would have been right.
pub(super) fn check_value(values: &ValueSpec, value: &Value) -> Result<(), String> {
    match (values, value) {
        (ValueSpec::Boolean, Value::Bool(_)) => Ok(()),
        (ValueSpec::Boolean, _) => Err(format!("expected `true` or `false`, found {value}")),
        (ValueSpec::One(scalar), _) => check_scalar(scalar, value),
        (ValueSpec::Many(scalar), Value::Array(elements)) => elements
            .iter()
            .enumerate()
            .try_for_each(|(index, element)| {
                check_scalar(scalar, element).map_err(|fault| format!("element {index}: {fault}"))
            }),
        (ValueSpec::Many(_), _) => Err(format!("expected an array, found {value}")),
    }
}

fn check_scalar(scalar: &ScalarSpec, value: &Value) -> Result<(), String> {
    let right_type = match scalar.kind {
        ScalarKind::String => value.is_string(),
        ScalarKind::Integer => is_whole(value),
        ScalarKind::Number => value.is_number(),
    };
    if !right_type {
        return Err(format!(
            "expected {}, found {value}",
            kind_name(scalar.kind)
        ));
    }
    if !scalar.allowed.is_empty() && !scalar.allowed.iter().any(|allowed| same(allowed, value)) {
        let allowed: Vec<String> = scalar.allowed.iter().map(Value::to_string).collect();
        return Err(format!("{value} is not one of {}", allowed.join(", ")));
    }
    if let Some(number) = value.as_f64() {
        if let Some(minimum) = scalar.minimum.filter(|minimum| number < *minimum) {
            return Err(format!("{value} is below the minimum {minimum}"));
        }
        if let Some(maximum) = scalar.maximum.filter(|maximum| number > *maximum) {
            return Err(format!("{value} is above the maximum {maximum}"));
        }
    }
    if let Some(text) = value.as_str() {
        if text.contains('\0') {
            return Err("a command-line argument cannot hold a NUL character".to_owned());
        }
        if let Some(pattern) = scalar
            .pattern
            .as_ref()
            .filter(|pattern| !pattern.is_match(text))
        {
            return Err(format!("{value} does not match the pattern `{pattern}`"));
        }
    }
    Ok(())
}

/// The type as a person says it.
pub(super) fn kind_name(kind: ScalarKind) -> &'static str {
    match kind {
        ScalarKind::String => "a string",
        ScalarKind::Integer => "a whole number",
        ScalarKind::Number => "a number",
    }
}

/// JSON knows one kind of number: 2.0 is a whole number.
fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// Equality in which 2 and 2.0 are the same number.
fn same(left: &Value, right: &Value) -> bool {
    left == right || matches!((left.as_f64(), right.as_f64()), (Some(l), Some(r)) if l == r)
}
