//! JSON as programs write it and people edit it, with comments and trailing commas: one value is set or taken out, and nothing
//! else of the text changes. (The syntax tree of the parser can be edited too, but that breaks the lines of objects that are
//! written on one.)

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::errors::ParseError;
use jsonc_parser::tokens::TokenAndRange;
use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast, parse_to_serde_value,
};
use serde_json::{Map, Value};

use super::fault::{Fault, dotted};
use super::json_container::Container;
use super::json_layout::{Style, is_first_of_line, line_indent, newline_of, spliced, written};

/// What the text says; nothing is an empty object.
pub(crate) fn value(text: &str) -> Result<Value, Fault> {
    let value = parse_to_serde_value::<Option<Value>>(text, &options());
    let value = value.map_err(|error| syntax(&error))?;
    Ok(value.unwrap_or_else(|| Value::Object(Map::new())))
}

/// The text with a value at a key; what is above it is made where it is missing.
pub(crate) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, Fault> {
    let document = Document::parse(text)?;
    let (object, depth) = match &document.root {
        None => return Ok(document.with_root(&nested(path, value))),
        Some(Node::Object(root)) => descend(root, path)?,
        Some(_) => return Err(wrong_root()),
    };
    let style = document.style();
    let key = path[depth];
    let splices = match property(object, key, &path[..=depth])? {
        // Only the last one can be there: the way down ended here.
        Some(property) => {
            let range = property.range();
            let indent = line_indent(text, range.start);
            let indent = (!style.is_one_line).then_some(indent);
            vec![(range.start..range.end, written(value, &style, indent))]
        }
        None => {
            let value = nested(&path[depth + 1..], value);
            let colon = if style.is_spaced { ": " } else { ":" };
            let container = Container::of_object(text, &document.tokens, object);
            container.add(&style, |indent| {
                let value = written(&value, &style, indent);
                format!("{}{colon}{value}", Value::from(key))
            })
        }
    };
    Ok(spliced(text, splices))
}

/// The text without a key.
pub(crate) fn remove(text: &str, path: &[&str]) -> Result<String, Fault> {
    let document = Document::parse(text)?;
    let Some(Node::Object(root)) = &document.root else {
        return Ok(text.to_owned());
    };
    let (object, depth) = descend(root, path)?;
    let mut names = object.properties.iter().map(|it| it.name.as_str());
    let Some(index) = names.position(|it| it == path[depth]) else {
        return Ok(text.to_owned());
    };
    let container = Container::of_object(text, &document.tokens, object);
    Ok(spliced(text, container.take_out(index)))
}

/// The text with one more word in a list.
pub(crate) fn add_word(text: &str, path: &[&str], word: &str) -> Result<String, Fault> {
    let document = Document::parse(text)?;
    if let Some(Node::Object(root)) = &document.root {
        let (object, depth) = descend(root, path)?;
        if let Some(Node::Array(array)) = property(object, path[depth], path)? {
            let container = Container::of_array(text, &document.tokens, array);
            let splices = container.add(&document.style(), |_| Value::from(word).to_string());
            return Ok(spliced(text, splices));
        }
    }
    set(text, path, &Value::from(vec![word]))
}

/// The text without a word of a list.
pub(crate) fn remove_word(text: &str, path: &[&str], word: &str) -> Result<String, Fault> {
    let document = Document::parse(text)?;
    if let Some(Node::Object(root)) = &document.root {
        let (object, depth) = descend(root, path)?;
        if let Some(Node::Array(array)) = property(object, path[depth], path)? {
            let mut words = array.elements.iter().map(|it| it.as_string_lit());
            if let Some(index) = words.position(|it| it.is_some_and(|it| it.value == word)) {
                let container = Container::of_array(text, &document.tokens, array);
                return Ok(spliced(text, container.take_out(index)));
            }
        }
    }
    Ok(text.to_owned())
}

struct Document<'t> {
    text: &'t str,
    root: Option<Node<'t>>,
    tokens: Vec<TokenAndRange<'t>>,
}

impl<'t> Document<'t> {
    fn parse(text: &'t str) -> Result<Self, Fault> {
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
        let parsed = parse_to_ast(text, &collect, &options()).map_err(|error| syntax(&error))?;
        Ok(Document {
            text,
            root: parsed.value,
            tokens: parsed.tokens.unwrap_or_default(),
        })
    }

    fn style(&self) -> Style<'t> {
        let text = self.text;
        let mut style = Style {
            newline: newline_of(text),
            unit: "  ".to_owned(),
            is_one_line: false,
            is_spaced: true,
        };
        let Some(Node::Object(root)) = &self.root else {
            return style;
        };
        let Some(first) = root.properties.first() else {
            return style;
        };
        style.is_one_line = !text[root.range.start..root.range.end].contains('\n');
        let name = first.name.range();
        let value = first.value.range();
        let is_spaced = text[name.end..value.start].ends_with([' ', '\t', '\n']);
        style.is_spaced = is_spaced || !style.is_one_line;
        if is_first_of_line(text, name.start) {
            let outer = line_indent(text, root.range.start);
            let inner = line_indent(text, name.start);
            style.unit = inner.strip_prefix(outer).unwrap_or(inner).to_owned();
        }
        style
    }

    /// For a text that says nothing yet: comments stay above.
    fn with_root(&self, root: &Value) -> String {
        let style = self.style();
        let kept = self.text.trim_end();
        let root = written(root, &style, Some(""));
        let between = if kept.is_empty() { "" } else { style.newline };
        format!("{kept}{between}{root}{}", style.newline)
    }
}

/// The object that the last existing part of a path leads to, and how many parts that are.
fn descend<'n, 't>(root: &'n Object<'t>, path: &[&str]) -> Result<(&'n Object<'t>, usize), Fault> {
    let mut object = root;
    for (depth, key) in path[..path.len() - 1].iter().enumerate() {
        match property(object, key, &path[..=depth])? {
            None => return Ok((object, depth)),
            Some(Node::Object(inner)) => object = inner,
            Some(_) => {
                return Err(Fault::WrongType {
                    key: dotted(&path[..=depth]),
                    wanted: "an object",
                });
            }
        }
    }
    Ok((object, path.len() - 1))
}

fn property<'n, 't>(
    object: &'n Object<'t>,
    key: &str,
    path: &[&str],
) -> Result<Option<&'n Node<'t>>, Fault> {
    let mut found = object.properties.iter();
    let mut found = found.by_ref().filter(|it| it.name.as_str() == key);
    let first = found.next();
    match found.next() {
        Some(_) => Err(Fault::Twice { key: dotted(path) }),
        None => Ok(first.map(|it| &it.value)),
    }
}

fn nested(path: &[&str], value: &Value) -> Value {
    let parts = path.iter().rev();
    parts.fold(value.clone(), |inner, key| {
        Value::Object(Map::from_iter([((*key).to_owned(), inner)]))
    })
}

fn wrong_root() -> Fault {
    Fault::WrongType {
        key: "the whole file".to_owned(),
        wanted: "an object",
    }
}

/// JSON with comments and trailing commas, as editors read it; nothing else that the parser could take.
fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        ..strict_options()
    }
}

fn strict_options() -> ParseOptions {
    ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// Whether it has neither comments nor trailing commas.
pub(crate) fn is_strict(text: &str) -> bool {
    parse_to_serde_value::<Option<Value>>(text, &strict_options()).is_ok()
}

fn syntax(error: &ParseError) -> Fault {
    Fault::Syntax {
        line: error.line_display(),
        column: error.column_display(),
        message: error.kind().to_string(),
    }
}
