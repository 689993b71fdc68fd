//! A file's text in either language: what it says, and one change after the other. Every change is checked against what the text
//! said before; one that would say something else is not made. Must not touch files.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fault::Fault;
use super::{json_text, toml_text};

/// The language of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// JSON, where comments and trailing commas are kept.
    Json,
    /// TOML.
    Toml,
}

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A text as it is changed.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    language: Language,
    /// Without the mark.
    text: String,
    has_mark: bool,
    value: Value,
}

impl Text {
    /// What is in a file; nothing where there is none.
    pub(crate) fn read(language: Language, bytes: Option<&[u8]>) -> Result<Self, Fault> {
        let text = std::str::from_utf8(bytes.unwrap_or_default()).map_err(|_| Fault::Encoding)?;
        let stripped = text.strip_prefix(BYTE_ORDER_MARK);
        let has_mark = stripped.is_some();
        let text = stripped.unwrap_or(text).to_owned();
        let value = read(language, &text)?;
        if !value.is_object() {
            return Err(Fault::WrongType {
                key: "the whole file".to_owned(),
                wanted: "an object",
            });
        }
        Ok(Text {
            language,
            text,
            has_mark,
            value,
        })
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mark = if self.has_mark { BYTE_ORDER_MARK } else { "" };
        format!("{mark}{}", self.text).into_bytes()
    }

    /// What is at a key.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Value> {
        at(&self.value, path)
    }

    /// Whether it says nothing, and has no comments either.
    pub(crate) fn is_bare(&self) -> bool {
        let bare: String = self.text.split_whitespace().collect();
        bare.is_empty() || bare == "{}"
    }

    /// Whether it has comments or trailing commas, which readers of JSON proper do not take.
    pub(crate) fn is_more_than_json(&self) -> bool {
        self.language == Language::Json && !json_text::is_strict(&self.text)
    }

    pub(crate) fn set(&mut self, path: &[&str], value: &Value) -> Result<(), Fault> {
        let text = match self.language {
            Language::Json => json_text::set(&self.text, path, value)?,
            Language::Toml => toml_text::set(&self.text, path, value)?,
        };
        let mut expected = self.value.clone();
        let Some((last, above)) = path.split_last() else {
            return Err(Fault::Unclear);
        };
        let mut place = &mut expected;
        for key in above {
            let Value::Object(object) = place else {
                return Err(Fault::Unclear);
            };
            let empty = Value::Object(Map::new());
            place = object.entry((*key).to_owned()).or_insert(empty);
        }
        let Value::Object(object) = place else {
            return Err(Fault::Unclear);
        };
        object.insert((*last).to_owned(), value.clone());
        self.take(text, expected)
    }

    pub(crate) fn remove(&mut self, path: &[&str]) -> Result<(), Fault> {
        let text = match self.language {
            Language::Json => json_text::remove(&self.text, path)?,
            Language::Toml => toml_text::remove(&self.text, path)?,
        };
        let mut expected = self.value.clone();
        take_out(&mut expected, path);
        if self.language == Language::Toml {
            // A table that only its inner tables made is gone with the last of them.
            let says = read(self.language, &text)?;
            for depth in (1..path.len()).rev() {
                let above = &path[..depth];
                let is_empty = at(&expected, above) == Some(&Value::Object(Map::new()));
                if is_empty && at(&says, above).is_none() {
                    take_out(&mut expected, above);
                }
            }
        }
        self.take(text, expected)
    }

    /// Adds a word to a list; only files of JSON have such.
    pub(crate) fn add_word(&mut self, path: &[&str], word: &str) -> Result<(), Fault> {
        let text = json_text::add_word(&self.text, path, word)?;
        let mut words = match self.at(path) {
            None => Vec::new(),
            Some(Value::Array(words)) => words.clone(),
            Some(_) => return Err(Fault::Unclear),
        };
        words.push(word.into());
        let mut expected = self.clone();
        expected.set(path, &Value::Array(words))?;
        self.take(text, expected.value)
    }

    pub(crate) fn remove_word(&mut self, path: &[&str], word: &str) -> Result<(), Fault> {
        let text = json_text::remove_word(&self.text, path, word)?;
        let Some(Value::Array(words)) = self.at(path) else {
            return Ok(());
        };
        let mut words = words.clone();
        if let Some(index) = words.iter().position(|it| it == word) {
            words.remove(index);
        }
        let mut expected = self.clone();
        expected.set(path, &Value::Array(words))?;
        self.take(text, expected.value)
    }

    /// Takes a changed text over, if it says what it should.
    fn take(&mut self, text: String, expected: Value) -> Result<(), Fault> {
        if read(self.language, &text)? != expected {
            return Err(Fault::Unclear);
        }
        self.text = text;
        self.value = expected;
        Ok(())
    }
}

fn read(language: Language, text: &str) -> Result<Value, Fault> {
    match language {
        Language::Json => json_text::value(text),
        Language::Toml => toml_text::value(text),
    }
}

fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |it, key| it.get(*key))
}

fn take_out(value: &mut Value, path: &[&str]) {
    let Some((last, above)) = path.split_last() else {
        return;
    };
    let place = above.iter().try_fold(value, |it, key| it.get_mut(*key));
    if let Some(Value::Object(object)) = place {
        object.shift_remove(*last);
    }
}
