//! TOML: one value is set or taken out, and nothing else of the text changes. (The parser can write documents too, but ends
//! every line that it touches in its own way.)

use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{Document, InlineTable, Item, Key, Table};

use super::fault::{Fault, dotted};
use super::json_layout::{line_start, newline_of, spliced};

/// What the text says.
pub(crate) fn value(text: &str) -> Result<Value, Fault> {
    toml::from_str(text).map_err(|error| syntax(text, error.span(), error.message()))
}

/// The text with a value at a key of a table; the table is made where it is missing.
pub(crate) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, Fault> {
    let document = parse(text)?;
    let (table, depth) = descend(document.as_table(), path)?;
    let key = path[depth];
    let newline = newline_of(text);
    let rest = &path[depth + 1..];
    match (table.get(key), value) {
        (Some(_), Value::Object(fields)) => {
            let without = remove(text, path)?;
            Ok(with_table(&without, path, fields))
        }
        (Some(item), value) => {
            let span = item.as_value().and_then(toml_edit::Value::span);
            let span = span.ok_or_else(|| wrong(path, "a single value"))?;
            Ok(spliced(text, vec![(span, literal(value).to_string())]))
        }
        (None, Value::Object(fields)) => Ok(with_table(text, path, fields)),
        // Its table has a place of its own.
        (None, value) if rest.is_empty() && (!table.is_implicit() || table.is_dotted()) => {
            let whose = path.iter().enumerate().take(depth);
            let mut inner = document.as_table();
            let mut prefix = Vec::new();
            for (_, key) in whose {
                match inner.get(key).and_then(Item::as_table) {
                    Some(next) => inner = next,
                    None => return Err(wrong(path, "in a table")),
                }
                if inner.is_dotted() {
                    prefix.push(*key);
                }
            }
            prefix.push(key);
            let end = last_end(table).ok_or(Fault::Unclear)?;
            let at = line_end(text, end);
            let line = format!("{} = {}{newline}", keys(&prefix), literal(value));
            let before = if text[..at].ends_with('\n') {
                ""
            } else {
                newline
            };
            Ok(spliced(text, vec![(at..at, format!("{before}{line}"))]))
        }
        (None, value) => {
            let (last, table) = path.split_last().ok_or(Fault::Unclear)?;
            let fields = Map::from_iter([((*last).to_owned(), value.clone())]);
            Ok(with_table(text, table, &fields))
        }
    }
}

/// The text without a key, and what belongs to it.
pub(crate) fn remove(text: &str, path: &[&str]) -> Result<String, Fault> {
    let document = parse(text)?;
    let (table, depth) = descend(document.as_table(), path)?;
    let Some((key, item)) = table.get_key_value(path[depth]) else {
        return Ok(text.to_owned());
    };
    let mut regions = Vec::new();
    collect(text, key, item, &mut regions);
    regions.sort_by_key(|it| it.start);
    let splices = regions.into_iter().map(|it| (it, String::new()));
    Ok(spliced(text, splices.collect()))
}

fn parse(text: &str) -> Result<Document<&str>, Fault> {
    Document::parse(text).map_err(|error| syntax(text, error.span(), error.message()))
}

/// The table that the last existing part of a path leads to, and how many parts that are.
fn descend<'d>(root: &'d Table, path: &[&str]) -> Result<(&'d Table, usize), Fault> {
    let mut table = root;
    for (depth, key) in path[..path.len() - 1].iter().enumerate() {
        match table.get(key) {
            None => return Ok((table, depth)),
            Some(Item::Table(inner)) => table = inner,
            Some(Item::Value(toml_edit::Value::InlineTable(_))) => {
                return Err(Fault::Braces {
                    key: dotted(&path[..=depth]),
                });
            }
            Some(_) => return Err(wrong(&path[..=depth], "a table")),
        }
    }
    Ok((table, path.len() - 1))
}

fn with_table(text: &str, path: &[&str], fields: &Map<String, Value>) -> String {
    let newline = newline_of(text);
    let mut result = text.to_owned();
    if !result.is_empty() && !result.ends_with('\n') {
        result.push_str(newline);
    }
    if !result.is_empty() {
        result.push_str(newline);
    }
    result.push_str(&format!("[{}]{newline}", keys(path)));
    for (name, value) in fields {
        let name = keys(&[name]);
        result.push_str(&format!("{name} = {}{newline}", literal(value)));
    }
    result
}

/// Where what a table holds itself ends.
fn last_end(table: &Table) -> Option<usize> {
    let own = match table.is_implicit() || table.is_dotted() {
        true => None,
        false => table.span().map(|it| it.end),
    };
    let ends = table.iter().filter_map(|(_, item)| match item {
        Item::Value(value) => value.span().map(|it| it.end),
        Item::Table(inner) if inner.is_dotted() => last_end(inner),
        _ => None,
    });
    ends.chain(own).max()
}

/// The lines that an item has.
fn collect(text: &str, key: &Key, item: &Item, regions: &mut Vec<Range<usize>>) {
    match item {
        Item::None => {}
        Item::Value(value) => {
            if let (Some(key), Some(value)) = (key.span(), value.span()) {
                regions.push(line_start(text, key.start)..line_end(text, value.end));
            }
        }
        Item::Table(table) => collect_table(text, table, regions),
        Item::ArrayOfTables(tables) => {
            for table in tables {
                collect_table(text, table, regions);
            }
        }
    }
}

fn collect_table(text: &str, table: &Table, regions: &mut Vec<Range<usize>>) {
    let has_header = !table.is_implicit() && !table.is_dotted();
    if let (true, Some(header), Some(end)) = (has_header, table.span(), last_end(table)) {
        let start = line_start(text, header.start);
        // With the empty line above.
        let above = &text[..start];
        let empty = ["\r\n", "\n"].into_iter().find(|it| {
            let before = above.strip_suffix(it);
            before.is_some_and(|it| it.is_empty() || it.ends_with('\n'))
        });
        regions.push(start - empty.map_or(0, str::len)..line_end(text, end));
    }
    for (name, item) in table {
        let is_inside =
            has_header && (item.is_value() || item.as_table().is_some_and(Table::is_dotted));
        if let (false, Some(key)) = (is_inside, table.key(name)) {
            collect(text, key, item, regions);
        }
    }
}

/// Behind the end of the line.
fn line_end(text: &str, position: usize) -> usize {
    text[position..]
        .find('\n')
        .map_or(text.len(), |it| position + it + 1)
}

fn keys(path: &[&str]) -> String {
    let keys: Vec<String> = path.iter().map(|it| Key::new(*it).to_string()).collect();
    keys.join(".")
}

fn literal(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::Array(items) => items.iter().map(literal).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name, literal(value)));
            toml_edit::Value::InlineTable(fields.collect::<InlineTable>())
        }
        Value::String(text) => text.as_str().into(),
        // There is none in TOML.
        Value::Null => "".into(),
    }
}

fn wrong(path: &[&str], wanted: &'static str) -> Fault {
    Fault::WrongType {
        key: dotted(path),
        wanted,
    }
}

fn syntax(text: &str, span: Option<Range<usize>>, message: &str) -> Fault {
    let position = span.map_or(0, |it| it.start.min(text.len()));
    let before = text.get(..position).unwrap_or_default();
    Fault::Syntax {
        line: before.matches('\n').count() + 1,
        column: before.len() - line_start(before, before.len()) + 1,
        message: message.lines().collect::<Vec<_>>().join("; "),
    }
}
