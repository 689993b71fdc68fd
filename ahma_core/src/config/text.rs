//! From bytes to a tree of JSON values that knows where each value stands.
//!
//! Strict JSON: no trailing commas, no byte-order mark, no repeated keys, and comments where a kind of file may have them. This
//! module knows nothing of tools.

use std::collections::HashMap;
use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::fault::{Fault, FaultList, Faults, JsonLocation, Mark, PlacedFault, Severity};

/// A tool file is written by people; a larger one is a mistake, or an attack on memory.
pub const MAX_FILE_BYTES: usize = 1024 * 1024;

/// Deeper nesting than any tool can use: a tool name has 64 characters, so at most 32 subcommands
/// below each other, two levels each. Keeps recursion far from the end of a thread's stack.
pub(super) const MAX_DEPTH: usize = 80;

/// What to do about a text that is not one document of its kind.
pub(super) struct Advice {
    pub(super) too_large: &'static str,
    pub(super) too_deep: &'static str,
    pub(super) empty: &'static str,
    pub(super) several_documents: &'static str,
    /// Whether it may hold comments.
    pub(super) has_comments: bool,
}

/// For tool files.
pub(super) const TOOL_FILE: Advice = Advice {
    too_large: "split it into several tools, one per file",
    too_deep: "a tool file needs only a few levels of nesting",
    empty: "a tool file holds one JSON object with `name`, `description` and `command`",
    several_documents: "one file holds one tool; use a file for each",
    has_comments: true,
};

/// Decodes the bytes of a file, or says what is wrong with them.
pub(super) fn decode_utf8<'b>(bytes: &'b [u8], advice: &Advice) -> Result<&'b str, Box<Fault>> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(whole_file_fault(
            format!("the file is larger than {MAX_FILE_BYTES} bytes"),
            advice.too_large,
        ));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(whole_file_fault(
            "the file begins with a byte-order mark".to_owned(),
            "save it as UTF-8 without a byte-order mark",
        ));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = error.valid_up_to();
        let before = std::str::from_utf8(&bytes[..valid]).unwrap_or_default();
        let (line, column) = line_and_column(before, valid);
        Box::new(Fault {
            severity: Severity::Error,
            line,
            column,
            span: valid..valid,
            pointer: String::new(),
            message: format!("byte {valid} of the file is not valid UTF-8"),
            hint: Some("save the file as UTF-8".to_owned()),
        })
    })
}

pub(super) fn whole_file_fault(message: String, hint: &str) -> Box<Fault> {
    Box::new(Fault {
        severity: Severity::Error,
        line: 1,
        column: 1,
        span: 0..0,
        pointer: String::new(),
        message,
        hint: Some(hint.to_owned()),
    })
}

/// Parses strict JSON. Repeated keys are reported to `faults`, anything else wrong ends the parse.
pub(super) fn parse<'t>(
    text: &'t str,
    advice: &Advice,
    faults: &Faults,
) -> Result<Value<'t>, Box<Fault>> {
    refuse_control_characters(text)?;
    let value = parse_tree(text, advice)?;
    check_structure(&value, &JsonLocation::ROOT, 1, (advice, faults))
        .map_err(|too_deep| Box::new(located(text, Some(&value), too_deep)))?;
    Ok(value)
}

fn parse_tree<'t>(text: &'t str, advice: &Advice) -> Result<Value<'t>, Box<Fault>> {
    let strict = ParseOptions {
        allow_comments: advice.has_comments,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    match parse_to_ast(text, &CollectOptions::default(), &strict) {
        Ok(result) => result
            .value
            .ok_or_else(|| whole_file_fault("the file is empty".to_owned(), advice.empty)),
        Err(error) => {
            let start = error.range().start.min(text.len());
            let end = error.range().end.clamp(start, text.len());
            let (line, column) = line_and_column(text, start);
            let (message, hint) = syntax_advice(error.kind(), advice);
            Err(Box::new(Fault {
                severity: Severity::Error,
                line,
                column,
                span: start..end,
                pointer: String::new(),
                message,
                hint: Some(hint.to_owned()),
            }))
        }
    }
}

/// Between values, JSON knows only three control characters; inside a string it knows none. The
/// parser is lenient about the latter, and a line feed inside a string is most often a lost quote.
fn refuse_control_characters(text: &str) -> Result<(), Box<Fault>> {
    let mut in_string = false;
    let mut escaped = false;
    let mut comment_ends = 0;
    for (offset, byte) in text.bytes().enumerate() {
        if offset < comment_ends {
            continue;
        }
        if !in_string && byte == b'/' {
            // What is neither is rubbish: the parser says so, and quotes behind it mean nothing.
            match end_of_comment(text, offset) {
                Some(end) => comment_ends = end,
                None => return Ok(()),
            }
            continue;
        }
        if byte < 0x20 && (in_string || !matches!(byte, b'\n' | b'\r' | b'\t')) {
            let (message, hint) = match (in_string, byte) {
                (true, b'\n' | b'\r') => (
                    "the string is not closed at the end of the line".to_owned(),
                    "close it with a double quote, or write a line break as `\\n`",
                ),
                (true, _) => (
                    format!("a string holds the raw control character \\u{byte:04x}"),
                    "write it as an escape, e.g. `\\t`",
                ),
                (false, _) => (
                    format!("the control character \\u{byte:04x} stands between values"),
                    "remove it",
                ),
            };
            let (line, column) = line_and_column(text, offset);
            return Err(Box::new(Fault {
                severity: Severity::Error,
                line,
                column,
                span: offset..offset,
                pointer: String::new(),
                message: format!("not valid JSON: {message}"),
                hint: Some(hint.to_owned()),
            }));
        }
        if byte == b'"' && !escaped {
            in_string = !in_string;
        }
        escaped = in_string && byte == b'\\' && !escaped;
    }
    Ok(())
}

/// Where a comment ends that begins here, if one does and ends.
fn end_of_comment(text: &str, start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    match rest.get(..2)? {
        "//" => Some(start + rest.find('\n').unwrap_or(rest.len())),
        "/*" => Some(start + 2 + rest.get(2..)?.find("*/")? + 2),
        _ => None,
    }
}

/// Rewords the parser's verdict and adds the next step.
fn syntax_advice(kind: &ParseErrorKind, advice: &Advice) -> (String, &'static str) {
    let hint = match kind {
        ParseErrorKind::CommentsNotAllowed => {
            "JSON has no comments; put the text into `description`"
        }
        ParseErrorKind::TrailingCommasNotAllowed => "remove the comma after the last element",
        ParseErrorKind::ExpectedComma => {
            "put a comma between the two elements, or correct the value before this place"
        }
        ParseErrorKind::UnterminatedObject | ParseErrorKind::UnterminatedArray => {
            "the file ends, or a closing bracket is missing, before this is complete"
        }
        ParseErrorKind::SingleQuotedStringsNotAllowed => "use double quotes",
        ParseErrorKind::ExpectedStringObjectProperty => "put the key into double quotes",
        ParseErrorKind::MultipleRootJsonValues => advice.several_documents,
        ParseErrorKind::NestingDepthExceeded => {
            return (too_deep_message(), advice.too_deep);
        }
        _ => "correct the JSON at this place",
    };
    let text = kind.to_string();
    let mut letters = text.chars();
    let message = letters
        .next()
        .map(|first| first.to_lowercase().collect::<String>() + letters.as_str())
        .unwrap_or_default();
    (format!("not valid JSON: {message}"), hint)
}

fn too_deep_message() -> String {
    format!("the document is nested more than {MAX_DEPTH} levels deep")
}

/// Reports repeated keys and refuses depth that later recursion could not bear.
fn check_structure(
    value: &Value<'_>,
    place: &JsonLocation<'_>,
    depth: usize,
    (advice, faults): (&Advice, &Faults),
) -> Result<(), PlacedFault> {
    if depth > MAX_DEPTH {
        return Err(PlacedFault::at(
            place.pointer(),
            too_deep_message(),
            advice.too_deep.to_owned(),
        ));
    }
    match value {
        Value::Array(array) => {
            for (index, element) in array.elements.iter().enumerate() {
                check_structure(element, &place.index(index), depth + 1, (advice, faults))?;
            }
        }
        Value::Object(object) => {
            report_repeated_keys(object, place, faults);
            for member in &object.properties {
                let key = member.name.as_str();
                check_structure(&member.value, &place.key(key), depth + 1, (advice, faults))?;
            }
        }
        Value::StringLit(_)
        | Value::NumberLit(_)
        | Value::BooleanLit(_)
        | Value::NullKeyword(_) => {}
    }
    Ok(())
}

fn report_repeated_keys(object: &Object<'_>, place: &JsonLocation<'_>, faults: &Faults) {
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(object.properties.len());
    for member in &object.properties {
        *seen.entry(member.name.as_str()).or_default() += 1;
    }
    if seen.len() == object.properties.len() {
        return;
    }
    for member in &object.properties {
        let key = member.name.as_str();
        let count = seen.get(key).copied().unwrap_or_default();
        if count > 1 && seen.insert(key, 0).is_some() {
            faults.add_to_key(
                &place.key(key),
                format!("the key `{key}` stands {count} times in this object"),
                "keep one of them".to_owned(),
            );
        }
    }
}

/// Gives faults their line, column and span by looking the pointers up in the text again. Runs only
/// when there is something to report.
pub(super) fn locate(text: &str, list: FaultList) -> Vec<Fault> {
    let tree = parse_tree(text, &TOOL_FILE).ok();
    let mut located: Vec<Fault> = list
        .faults
        .into_iter()
        .map(|fault| located(text, tree.as_ref(), fault))
        .collect();
    located.sort_by_key(|fault| fault.span.start);
    if list.left_out > 0 {
        located.push(*whole_file_fault(
            format!("{} more faults in this file are not listed", list.left_out),
            "correct the ones above first",
        ));
    }
    located
}

fn located(text: &str, tree: Option<&Value<'_>>, fault: PlacedFault) -> Fault {
    let span = tree.map_or(0..0, |tree| span_of(tree, &fault.pointer, fault.mark));
    let (line, column) = line_and_column(text, span.start);
    Fault {
        severity: fault.severity,
        line,
        column,
        span,
        pointer: fault.pointer,
        message: fault.message,
        hint: fault.hint,
    }
}

/// The bytes a fault is about. An object or array is shown by its opening bracket: marking all of
/// its lines would hide where it begins.
fn span_of(tree: &Value<'_>, pointer: &str, mark: Mark) -> Range<usize> {
    let mut value = tree;
    let mut key: Option<Range<usize>> = None;
    for segment in pointer.split('/').skip(1) {
        let name = segment.replace("~1", "/").replace("~0", "~");
        match value {
            Value::Object(object) => match last_member(object, &name) {
                Some(member) => {
                    key = Some(member.name.start()..member.name.end());
                    value = &member.value;
                }
                None => break,
            },
            Value::Array(array) => {
                match name
                    .parse::<usize>()
                    .ok()
                    .and_then(|index| array.elements.get(index))
                {
                    Some(element) => {
                        key = None;
                        value = element;
                    }
                    None => break,
                }
            }
            _ => break,
        }
    }
    match (mark, key, value) {
        (Mark::Key, Some(key), _) => key,
        (_, _, Value::Object(_) | Value::Array(_)) => value.start()..value.start() + 1,
        _ => value.start()..value.end(),
    }
}

/// The member a repeated key is shown at: the later one is the one that was added.
fn last_member<'o, 't>(object: &'o Object<'t>, name: &str) -> Option<&'o ObjectProp<'t>> {
    object
        .properties
        .iter()
        .rev()
        .find(|member| member.name.as_str() == name)
}

/// The line a pointer leads to, counted from 1.
pub(super) fn line_of(text: &str, pointer: &str) -> usize {
    parse_tree(text, &TOOL_FILE).map_or(1, |tree| {
        line_and_column(text, span_of(&tree, pointer, Mark::Value).start).0
    })
}

/// Line and column, both counted from 1, of a byte offset. A column is a character.
pub(super) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before[line_start..].chars().count() + 1;
    (line, column)
}
