//! How a JSON text is laid out: indentation, line ends, commas. What is added looks like what is there. Must not know what the
//! text says.

use std::ops::Range;

use serde_json::Value;

/// What values of a text look like.
pub(crate) struct Style<'t> {
    pub(crate) newline: &'t str,
    /// What one level is indented by.
    pub(crate) unit: String,
    /// Whether the text has one line only.
    pub(crate) is_one_line: bool,
    /// Whether a space follows colons.
    pub(crate) is_spaced: bool,
}

/// The line end that a text uses first.
pub(crate) fn newline_of(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The white space that a line begins with.
pub(crate) fn line_indent(text: &str, position: usize) -> &str {
    let start = line_start(text, position);
    let line = &text[start..];
    let end = line.find(|it| it != ' ' && it != '\t');
    &line[..end.unwrap_or(line.len())]
}

/// Whether nothing but white space stands before it in its line.
pub(crate) fn is_first_of_line(text: &str, position: usize) -> bool {
    let start = line_start(text, position);
    text[start..position].trim().is_empty()
}

pub(crate) fn line_start(text: &str, position: usize) -> usize {
    text[..position].rfind('\n').map_or(0, |it| it + 1)
}

/// A value on one line, or on as many as it needs.
pub(crate) fn written(value: &Value, style: &Style<'_>, indent: Option<&str>) -> String {
    let (colon, comma) = match style.is_spaced {
        true => (": ", ", "),
        false => (":", ","),
    };
    match (value, indent) {
        (Value::Object(fields), Some(indent)) if !fields.is_empty() => {
            let inner = format!("{indent}{}", style.unit);
            let fields = fields.iter().map(|(name, value)| {
                let value = written(value, style, Some(&inner));
                format!("{inner}{}: {value}", Value::from(name.as_str()))
            });
            let fields: Vec<String> = fields.collect();
            let newline = style.newline;
            let fields = fields.join(&format!(",{newline}"));
            format!("{{{newline}{fields}{newline}{indent}}}")
        }
        (Value::Object(fields), _) => {
            let fields = fields.iter().map(|(name, value)| {
                let value = written(value, style, None);
                format!("{}{colon}{value}", Value::from(name.as_str()))
            });
            let fields: Vec<String> = fields.collect();
            format!("{{{}}}", fields.join(comma))
        }
        (Value::Array(items), _) => {
            let items = items.iter().map(|it| written(it, style, None));
            let items: Vec<String> = items.collect();
            format!("[{}]", items.join(comma))
        }
        (scalar, _) => scalar.to_string(),
    }
}

/// Replacements in a text; they do not touch each other.
pub(crate) fn spliced(text: &str, mut splices: Vec<(Range<usize>, String)>) -> String {
    splices.sort_by_key(|(range, _)| range.start);
    let mut result = String::with_capacity(text.len() + 256);
    let mut done = 0;
    for (range, new) in splices {
        result.push_str(&text[done..range.start]);
        result.push_str(&new);
        done = range.end;
    }
    result.push_str(&text[done..]);
    result
}
