//! Whether a JSON value is right for an argument. Used for defaults, for steps of sequences, and for
//! calls; it says what is wrong and leaves the place to its caller.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::limits::PATTERN_VALUE;
use super::raw::bounds;
use super::spec::{ArgumentSpec, Delivery, ScalarKind, ScalarSpec, Separator, ToolSpec, ValueSpec};
use super::suggest::nearest;

/// Letters or elements of a value that are repeated in a message.
const MAX_SHOWN: usize = 200;
/// Faults of one call that are told; with more, the rest of its arguments is not looked at.
pub(crate) const MAX_FAULTS: usize = 20;

/// Parameters of every tool that steer the call and are never passed on to the command.
pub const META_PARAMETERS: [&str; 4] = [
    "working_directory",
    "execution_mode",
    "timeout_seconds",
    READY,
];

/// When a service counts as started; only for calls that start one.
const READY: &str = "ready";

/// The values of `execution_mode`.
pub const EXECUTION_MODES: [&str; 3] = ["async", "sync", "auto"];

/// One more value of it, where a tool allows that.
pub const SERVICE_MODE: &str = "service";

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
    pub(crate) fn new(argument: &str, message: String, hint: Option<String>) -> Self {
        ArgumentFault {
            argument: short(argument).into_owned(),
            message,
            hint,
        }
    }
}

/// Everything that is wrong with the arguments of a call of `tool`.
pub fn check_arguments(tool: &ToolSpec, given: &Map<String, Value>) -> Vec<ArgumentFault> {
    check_call(&tool.name, &tool.arguments, tool.service, given)
}

/// The same for any tool, by its name, the arguments it takes, and whether it may be started as a service.
pub fn check_call(
    tool: &str,
    arguments: &[ArgumentSpec],
    allows_service: bool,
    given: &Map<String, Value>,
) -> Vec<ArgumentFault> {
    let mut faults = Vec::new();
    for (looked_at, (name, value)) in given.iter().enumerate() {
        if faults.len() >= MAX_FAULTS {
            let more = given.len() - looked_at;
            let message = format!("{more} further arguments were not looked at");
            faults.push(ArgumentFault::new(tool, message, None));
            return faults;
        }
        if is_meta_parameter(name, allows_service) {
            if let Err(message) = check_meta_parameter(name, value, allows_service) {
                faults.push(ArgumentFault::new(name, message, None));
            }
            continue;
        }
        let found = arguments.iter().find(|argument| is_called(argument, name));
        match found {
            None => faults.push(unknown_argument(tool, arguments, allows_service, name)),
            Some(argument) if *name != argument.name && given.contains_key(&argument.name) => {
                let message = format!(
                    "`{name}` is another name of `{}`, which is given too",
                    argument.name
                );
                faults.push(ArgumentFault::new(name, message, None));
            }
            Some(argument) => {
                if let Err(message) = check_argument(argument, value) {
                    faults.push(ArgumentFault::new(
                        name,
                        message,
                        argument.description.clone(),
                    ));
                }
            }
        }
    }
    for argument in arguments.iter().filter(|argument| argument.required) {
        if !given.keys().any(|name| is_called(argument, name)) {
            faults.push(missing(&argument.name, argument.description.clone()));
        }
    }
    faults.extend(sliding_positional(arguments, given));
    for argument in arguments.iter().filter(|it| is_used(it, given)) {
        faults.extend(relation_fault(argument, arguments, given));
    }
    faults
}

/// Whether an argument is given and says something: `false` leaves a flag out.
fn is_used(argument: &ArgumentSpec, given: &Map<String, Value>) -> bool {
    let says_no = |name: &String| given.get(name) == Some(&Value::Bool(false));
    let is_off = argument.negated_flag.is_none()
        && (says_no(&argument.name) || argument.alias.as_ref().is_some_and(says_no));
    is_given(argument, given) && !is_off
}

/// An argument that excludes, or needs, another one.
fn relation_fault(
    argument: &ArgumentSpec,
    arguments: &[ArgumentSpec],
    given: &Map<String, Value>,
) -> Option<ArgumentFault> {
    let other = |name: &String| arguments.iter().find(|it| it.name == *name);
    let is_there = |name: &&String| other(name).is_some_and(|it| is_used(it, given));
    let fault = |message, hint| Some(ArgumentFault::new(&argument.name, message, Some(hint)));
    if let Some(excluded) = argument.conflicts_with.iter().find(is_there) {
        let message = format!("it cannot be given together with `{excluded}`");
        return fault(message, "leave out one of the two".to_owned());
    }
    let has_default = |name: &&String| other(name).is_some_and(|it| it.default.is_some());
    let mut needed = argument.requires.iter();
    let missing = needed.find(|it| !is_there(it) && !has_default(it))?;
    fault(
        format!("it needs `{missing}`, which is not given"),
        format!("give `{missing}` too"),
    )
}

fn is_called(argument: &ArgumentSpec, name: &str) -> bool {
    argument.name == name || argument.alias.as_deref() == Some(name)
}

/// An empty array says nothing, so it counts as not given.
fn is_given(argument: &ArgumentSpec, given: &Map<String, Value>) -> bool {
    given.iter().any(|(name, value)| {
        is_called(argument, name) && value.as_array().is_none_or(|elements| !elements.is_empty())
    })
}

/// A positional argument whose predecessor is left out would take its place on the command line,
/// unless `--` stands between them.
fn sliding_positional(
    arguments: &[ArgumentSpec],
    given: &Map<String, Value>,
) -> Option<ArgumentFault> {
    let mut left_out: Option<&ArgumentSpec> = None;
    for argument in arguments {
        let Delivery::Positional(separator) = &argument.delivery else {
            continue;
        };
        if *separator == Separator::Dashes {
            left_out = None;
        }
        if is_given(argument, given) {
            if let Some(before) = left_out {
                let message = format!(
                    "`{}` needs `{}`, which stands before it on the command line",
                    argument.name, before.name
                );
                let hint = Some(format!("give `{}` too", before.name));
                return Some(ArgumentFault::new(&argument.name, message, hint));
            }
        } else if !argument.required && argument.default.is_none() {
            left_out = Some(argument);
        }
    }
    None
}

/// Checks the value of one argument: its type and limits, and that it cannot be read as a flag.
pub(super) fn check_argument(argument: &ArgumentSpec, value: &Value) -> Result<(), String> {
    check_value(&argument.values, value)?;
    if argument.required && value.as_array().is_some_and(Vec::is_empty) {
        return Err("at least one element is required".to_owned());
    }
    let elements = value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice);
    let on_command_line = matches!(
        argument.delivery,
        Delivery::Flag(_) | Delivery::Positional(_) | Delivery::Env(_)
    );
    if on_command_line && elements.iter().any(holds_nul) {
        return Err("a command-line argument cannot hold a NUL character".to_owned());
    }
    if argument.allow_dash || !argument.delivery.is_a_word() {
        return Ok(());
    }
    match elements.iter().find(|element| begins_with_dash(element)) {
        Some(element) => Err(format!(
            "{} begins with `-` and could be read as a flag",
            shown(element)
        )),
        None => Ok(()),
    }
}

fn holds_nul(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains('\0'))
}

fn begins_with_dash(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with('-'),
        Value::Number(number) => number.as_f64().is_some_and(f64::is_sign_negative),
        _ => false,
    }
}

fn is_meta_parameter(name: &str, allows_service: bool) -> bool {
    META_PARAMETERS.contains(&name) && (allows_service || name != READY)
}

fn check_meta_parameter(name: &str, value: &Value, allows_service: bool) -> Result<(), String> {
    match name {
        "execution_mode" => {
            let service = allows_service.then_some(SERVICE_MODE);
            let modes: Vec<&str> = EXECUTION_MODES.into_iter().chain(service).collect();
            if modes.iter().any(|mode| value == mode) {
                return Ok(());
            }
            let modes: Vec<String> = modes.iter().map(|mode| format!("{mode:?}")).collect();
            Err(format!(
                "expected {}, found {}",
                modes.join(", "),
                shown(value)
            ))
        }
        READY => check_ready(value),
        "timeout_seconds" => {
            let seconds = whole(value).and_then(|seconds| u32::try_from(seconds).ok());
            let range = bounds::TIMEOUT_SECONDS;
            if seconds.is_some_and(|seconds| range.contains(&seconds)) {
                return Ok(());
            }
            let (least, most) = (range.start(), range.end());
            Err(format!(
                "expected a whole number from {least} to {most}, found {}",
                shown(value)
            ))
        }
        _ if value.is_string() => Ok(()),
        _ => Err(format!("expected a string, found {}", shown(value))),
    }
}

fn check_ready(value: &Value) -> Result<(), String> {
    let expected = || {
        let found = shown(value);
        format!("expected {{\"port\": N}} or {{\"pattern\": REGEX}}, found {found}")
    };
    let condition = value.as_object().filter(|it| it.len() == 1);
    let condition = condition.and_then(|it| it.iter().next());
    match condition {
        Some((name, port)) if name == "port" => {
            let port = whole(port).and_then(|port| u16::try_from(port).ok());
            port.filter(|port| *port > 0)
                .map(|_| ())
                .ok_or_else(expected)
        }
        Some((name, Value::String(_))) if name == "pattern" => Ok(()),
        _ => Err(expected()),
    }
}

fn unknown_argument(
    tool: &str,
    arguments: &[ArgumentSpec],
    allows_service: bool,
    name: &str,
) -> ArgumentFault {
    let known = arguments.iter().map(|argument| argument.name.as_str());
    let meta = META_PARAMETERS.into_iter();
    let meta = meta.filter(|it| is_meta_parameter(it, allows_service));
    unknown(tool, &known.chain(meta).collect::<Vec<_>>(), name)
}

/// The fault of an argument that is none of those which the tool takes.
pub(crate) fn unknown(tool: &str, known: &[&str], name: &str) -> ArgumentFault {
    let hint = match (nearest(name, known.iter().copied()), known) {
        (Some(right), _) => format!("did you mean `{right}`?"),
        (None, []) => format!("`{tool}` takes no arguments"),
        (None, _) => format!("arguments of `{tool}`: {}", known.join(", ")),
    };
    let message = format!("`{tool}` has no argument `{}`", short(name));
    ArgumentFault::new(name, message, Some(hint))
}

/// The fault of an argument that is left out.
pub(crate) fn missing(name: &str, description: Option<String>) -> ArgumentFault {
    let message = format!("the argument `{name}` is required");
    ArgumentFault::new(name, message, description)
}

/// Checks one value, and says what would have been right.
pub(crate) fn check_value(values: &ValueSpec, value: &Value) -> Result<(), String> {
    match (values, value) {
        (ValueSpec::Boolean, Value::Bool(_)) => Ok(()),
        (ValueSpec::Boolean, _) => {
            let found = shown(value);
            Err(format!("expected `true` or `false`, found {found}"))
        }
        (ValueSpec::One(scalar), _) => check_scalar(scalar, value),
        (ValueSpec::Many(scalar), Value::Array(elements)) => elements
            .iter()
            .enumerate()
            .try_for_each(|(index, element)| {
                check_scalar(scalar, element).map_err(|fault| format!("element {index}: {fault}"))
            }),
        (ValueSpec::Many(_), _) => Err(format!("expected an array, found {}", shown(value))),
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
            "expected {}, found {}",
            kind_name(scalar.kind),
            shown(value)
        ));
    }
    if !scalar.allowed.is_empty() && !scalar.allowed.iter().any(|allowed| same(allowed, value)) {
        let allowed: Vec<String> = scalar.allowed.iter().map(Value::to_string).collect();
        let (value, allowed) = (shown(value), allowed.join(", "));
        return Err(format!("{value} is not one of {allowed}"));
    }
    if let Some(number) = value.as_f64() {
        if let Some(minimum) = scalar.minimum.filter(|minimum| number < *minimum) {
            return Err(format!("{value} is below the minimum {minimum}"));
        }
        if let Some(maximum) = scalar.maximum.filter(|maximum| number > *maximum) {
            return Err(format!("{value} is above the maximum {maximum}"));
        }
    }
    if let (Some(pattern), Some(text)) = (&scalar.pattern, value.as_str()) {
        if text.len() > PATTERN_VALUE {
            return Err(format!(
                "it has {} bytes; a value that has to match a pattern may have {PATTERN_VALUE}",
                text.len()
            ));
        }
        if !pattern.is_match(text) {
            let value = shown(value);
            return Err(format!("{value} does not match the pattern `{pattern}`"));
        }
    }
    Ok(())
}

/// A name as far as it is repeated.
fn short(name: &str) -> Cow<'_, str> {
    match name.len() > MAX_SHOWN {
        true => format!("{}…", &name[..name.floor_char_boundary(MAX_SHOWN)]).into(),
        false => name.into(),
    }
}

/// A value as it is repeated in a message: a caller decides how long it is, and reads only its beginning.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text.len() > MAX_SHOWN => {
            let cut = &text[..text.floor_char_boundary(MAX_SHOWN)];
            format!("{cut:?}… ({} bytes)", text.len())
        }
        Value::Array(elements) if elements.len() > MAX_SHOWN => {
            format!("an array of {}", elements.len())
        }
        Value::Object(fields) if fields.len() > MAX_SHOWN => {
            format!("an object of {} fields", fields.len())
        }
        other => {
            let text = other.to_string();
            match text.len() > 4 * MAX_SHOWN {
                true => format!("{}…", &text[..text.floor_char_boundary(4 * MAX_SHOWN)]),
                false => text,
            }
        }
    }
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
    whole(value).is_some()
}

fn whole(value: &Value) -> Option<i128> {
    let exact = value
        .as_i64()
        .map(i128::from)
        .or_else(|| value.as_u64().map(i128::from));
    exact.or_else(|| {
        let float = value
            .as_f64()
            .filter(|float| float.fract() == 0.0 && float.abs() < 1e15)?;
        #[expect(clippy::cast_possible_truncation, reason = "whole and below 1e15")]
        Some(float as i128)
    })
}

/// Equality in which 2 and 2.0 are the same number.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    left == right || matches!((left.as_f64(), right.as_f64()), (Some(l), Some(r)) if l == r)
}
