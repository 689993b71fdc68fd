//! What is changed in a client's file, and how one such change is taken back while everything else stays. Must not know clients
//! or touch files.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fault::{Fault, dotted};
use super::text::Text;

/// What the program is called; an entry that starts one of this name is ours.
pub const PROGRAM: &str = "ahma_mcp";

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Edit {
    /// The entry of a server.
    Entry {
        /// The key that holds all entries.
        list: String,
        /// Its name.
        name: String,
        /// What we decide of it; others may stand beside.
        fields: Map<String, Value>,
    },
    /// A word in a list.
    Word {
        /// The key of the list.
        path: Vec<String>,
        /// The word.
        word: String,
    },
    /// A switch that is off.
    Off {
        /// Its key.
        path: Vec<String>,
    },
}

/// What may be replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Manner {
    /// Also an entry that starts something else.
    pub replace: bool,
    /// The arguments of an entry of ours stay.
    pub keep_args: bool,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    /// The text is another one.
    Changed,
    /// It said so already.
    AlreadyThere,
}

/// What became of taking a change back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakenBack {
    /// The text is another one.
    Changed,
    /// It is there no more.
    Gone,
    /// Somebody has made something else of it, which stays.
    Theirs,
}

impl Edit {
    /// Its key, for people; also whether two are about the same.
    pub fn key(&self) -> String {
        match self {
            Edit::Entry { list, name, .. } => dotted(&[list, name]),
            Edit::Word { path, word } => format!("{} \"{word}\"", dotted(path)),
            Edit::Off { path } => dotted(path),
        }
    }

    /// Makes the change.
    pub(crate) fn make(&self, text: &mut Text, manner: Manner) -> Result<Made, Fault> {
        match self {
            Edit::Entry { list, name, fields } => make_entry(text, list, name, fields, manner),
            Edit::Word { path, word } => {
                let path = parts(path);
                match text.at(&path) {
                    Some(Value::Array(words)) if words.iter().any(|it| it == word) => {
                        Ok(Made::AlreadyThere)
                    }
                    Some(Value::Array(_)) | None => {
                        text.add_word(&path, word)?;
                        Ok(Made::Changed)
                    }
                    Some(_) => Err(Fault::WrongType {
                        key: dotted(&path),
                        wanted: "a list",
                    }),
                }
            }
            Edit::Off { path } => {
                let path = parts(path);
                match text.at(&path) {
                    Some(Value::Bool(false)) => Ok(Made::AlreadyThere),
                    Some(Value::Bool(true)) | None => {
                        text.set(&path, &Value::Bool(false))?;
                        Ok(Made::Changed)
                    }
                    Some(_) => Err(Fault::WrongType {
                        key: dotted(&path),
                        wanted: "true or false",
                    }),
                }
            }
        }
    }

    /// Whether it is in the text as it was made.
    pub(crate) fn is_in(&self, text: &Text) -> bool {
        match self {
            Edit::Entry { list, name, .. } => {
                text.at(&[list, name]).is_some_and(starts_this_program)
            }
            Edit::Word { path, word } => {
                let words = text.at(&parts(path)).and_then(Value::as_array);
                words.is_some_and(|it| it.iter().any(|it| it == word))
            }
            Edit::Off { path } => text.at(&parts(path)) == Some(&Value::Bool(false)),
        }
    }

    /// Takes the change back: what was there before it is there again, and the rest stays.
    pub(crate) fn take_back(&self, text: &mut Text, before: &Text) -> Result<TakenBack, Fault> {
        let path = self.path();
        let path = parts(&path);
        if !self.is_in(text) {
            let is_there = text.at(&path).is_some() && !matches!(self, Edit::Word { .. });
            return Ok(match is_there {
                true => TakenBack::Theirs,
                false => TakenBack::Gone,
            });
        }
        match (self, before.at(&path)) {
            (Edit::Word { word, .. }, _) => {
                text.remove_word(&path, word)?;
                let is_empty = text.at(&path) == Some(&Value::Array(Vec::new()));
                if is_empty && before.at(&path).is_none() {
                    text.remove(&path)?;
                }
            }
            (_, None) => text.remove(&path)?,
            (Edit::Entry { fields, .. }, Some(prior)) if starts_this_program(prior) => {
                for field in fields.keys() {
                    let field_path = [&path[..], &[field.as_str()]].concat();
                    match prior.get(field) {
                        Some(value) if text.at(&field_path) == Some(value) => {}
                        Some(value) => text.set(&field_path, value)?,
                        None => text.remove(&field_path)?,
                    }
                }
            }
            (_, Some(prior)) => text.set(&path, prior)?,
        }
        // What was made to hold it goes too.
        for depth in (1..path.len()).rev() {
            let above = &path[..depth];
            let is_empty = text.at(above) == Some(&Value::Object(Map::new()));
            if is_empty && before.at(above).is_none() {
                text.remove(above)?;
            }
        }
        Ok(TakenBack::Changed)
    }

    fn path(&self) -> Vec<String> {
        match self {
            Edit::Entry { list, name, .. } => vec![list.clone(), name.clone()],
            Edit::Word { path, .. } | Edit::Off { path } => path.clone(),
        }
    }
}

fn make_entry(
    text: &mut Text,
    list: &str,
    name: &str,
    fields: &Map<String, Value>,
    manner: Manner,
) -> Result<Made, Fault> {
    let path = [list, name];
    let whole = Value::Object(fields.clone());
    match text.at(&path).cloned() {
        None => text.set(&path, &whole)?,
        Some(there) if starts_this_program(&there) => {
            let is_kept = |field: &str| {
                manner.keep_args && !manner.replace && field == "args" && there[field].is_array()
            };
            let mut made = Made::AlreadyThere;
            for (field, value) in fields {
                if !is_kept(field) && there.get(field) != Some(value) {
                    text.set(&[list, name, field], value)?;
                    made = Made::Changed;
                }
            }
            return Ok(made);
        }
        Some(_) if manner.replace => text.set(&path, &whole)?,
        Some(_) => {
            return Err(Fault::Foreign {
                name: name.to_owned(),
            });
        }
    }
    Ok(Made::Changed)
}

/// Whether an entry starts this program, from wherever.
fn starts_this_program(entry: &Value) -> bool {
    let command = &entry["command"];
    // Older entries of Zed.
    let command = command.as_str().or_else(|| command["path"].as_str());
    let program = command.map(Path::new).and_then(Path::file_name);
    program.is_some_and(|it| it == PROGRAM)
}

fn parts(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}
