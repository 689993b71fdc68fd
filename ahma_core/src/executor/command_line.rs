//! From the arguments of a call to the words of a command line. No shell is involved: a value is one
//! word, or the part of one behind `=`, whatever it holds.
//!
//! Pure: nothing is read, written or run. What must be written first, such as the content of a file
//! argument, is part of the result.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::config::{
    Action, ArgumentFault, ArgumentSpec, CommandLine, Delivery, Flag, MAX_FAULTS, ScalarSpec,
    Separator, ToolSpec, ValueSpec,
};
use crate::lexical_path::normal;

/// A command line, as far as it is known before anything is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltCommand {
    /// Program and arguments.
    pub words: Vec<Arg>,
    /// The standard input.
    pub input: Option<String>,
    /// Variables beside the usual ones.
    pub env: Vec<(String, String)>,
}

/// One word of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arg {
    /// The word itself.
    Text(String),
    /// The path of a private file with this content, behind a prefix such as `--file=`.
    File {
        /// What stands before the path in the same word.
        prefix: String,
        /// What the file holds.
        content: String,
    },
}

impl Arg {
    /// The word, or what the file behind it holds.
    pub fn text(&self) -> &str {
        match self {
            Arg::Text(text) => text,
            Arg::File { content, .. } => content,
        }
    }
}

impl From<&str> for Arg {
    fn from(text: &str) -> Self {
        Arg::Text(text.to_owned())
    }
}

/// Where paths may lead.
#[derive(Debug, Clone, Copy)]
pub struct PathContext<'s> {
    /// The directory the command runs in.
    pub working_directory: &'s Path,
    /// The scope and the operator's grants.
    pub roots: &'s [PathBuf],
}

/// The kernel takes no longer ones.
const MAX_PATH_LEN: usize = 4096;

/// Builds the command line of a call whose arguments have been checked, or names the paths that lead outside.
pub fn build(
    tool: &ToolSpec,
    given: &Map<String, Value>,
    context: PathContext<'_>,
) -> Result<BuiltCommand, Vec<ArgumentFault>> {
    let faults = paths_outside(tool, given, context);
    if !faults.is_empty() {
        return Err(faults);
    }
    let Action::Run(line) = &tool.action else {
        return Ok(BuiltCommand {
            words: Vec::new(),
            input: None,
            env: Vec::new(),
        });
    };
    Ok(assemble(line, tool, given))
}

fn assemble(line: &CommandLine, tool: &ToolSpec, given: &Map<String, Value>) -> BuiltCommand {
    let mut options = Vec::new();
    let mut positionals = Vec::new();
    let mut input = None;
    let mut env = Vec::new();
    for argument in &tool.arguments {
        let Some(value) = value_of(argument, given) else {
            continue;
        };
        match &argument.delivery {
            Delivery::Flag(flag) => match (value, &argument.negated_flag) {
                (Value::Bool(false), Some(negated)) => options.push(Arg::Text(negated.clone())),
                _ => add_flag(&mut options, flag, value),
            },
            Delivery::Positional(separator) => {
                if *separator == Separator::Dashes {
                    positionals.push(Arg::Text("--".to_owned()));
                }
                positionals.extend(scalars(value).map(|scalar| Arg::Text(text(scalar))));
            }
            Delivery::File(Some(flag)) => add_file_flag(&mut options, flag, text(value)),
            Delivery::File(None) => {
                positionals.push(Arg::File {
                    prefix: String::new(),
                    content: text(value),
                });
            }
            Delivery::Stdin => input = Some(text(value)),
            Delivery::Env(name) => env.push((name.clone(), text(value))),
        }
    }
    if line.end_of_options && !positionals.is_empty() {
        positionals.insert(0, Arg::Text("--".to_owned()));
    }
    let mut words: Vec<Arg> = std::iter::once(&line.program)
        .chain(&line.words)
        .cloned()
        .map(Arg::Text)
        .collect();
    if line.positionals_first {
        words.extend(positionals);
        words.extend(options);
    } else {
        words.extend(options);
        words.extend(positionals);
    }
    BuiltCommand { words, input, env }
}

/// What the caller gave, else the default. An empty array says nothing.
fn value_of<'v>(argument: &'v ArgumentSpec, given: &'v Map<String, Value>) -> Option<&'v Value> {
    let by_name = given.get(&argument.name);
    let by_alias = argument.alias.as_ref().and_then(|alias| given.get(alias));
    let says_something =
        |value: &&Value| value.as_array().is_none_or(|elements| !elements.is_empty());
    let value = by_name.or(by_alias).filter(says_something);
    value.or(argument.default.as_ref()).filter(says_something)
}

fn add_flag(words: &mut Vec<Arg>, flag: &Flag, value: &Value) {
    match value {
        Value::Bool(true) => words.push(Arg::Text(flag.text.clone())),
        Value::Bool(false) => {}
        value => {
            for scalar in scalars(value) {
                if flag.joined {
                    words.push(Arg::Text(format!("{}={}", flag.text, text(scalar))));
                } else {
                    words.push(Arg::Text(flag.text.clone()));
                    words.push(Arg::Text(text(scalar)));
                }
            }
        }
    }
}

fn add_file_flag(words: &mut Vec<Arg>, flag: &Flag, content: String) {
    if flag.joined {
        words.push(Arg::File {
            prefix: format!("{}=", flag.text),
            content,
        });
    } else {
        words.push(Arg::Text(flag.text.clone()));
        words.push(Arg::File {
            prefix: String::new(),
            content,
        });
    }
}

/// The elements of an array, or the one value.
fn scalars(value: &Value) -> impl Iterator<Item = &Value> {
    value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice)
        .iter()
}

/// A value as a program reads it: a whole number never with a fraction.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
                format!("{float:.0}")
            }
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// Paths that lead outside of what commands may use. An early, helpful message: links are not
/// followed here, and the kernel is what holds a command back.
fn paths_outside(
    tool: &ToolSpec,
    given: &Map<String, Value>,
    context: PathContext<'_>,
) -> Vec<ArgumentFault> {
    let mut faults = Vec::new();
    for argument in tool
        .arguments
        .iter()
        .filter(|argument| is_path(&argument.values))
    {
        let Some(value) = value_of(argument, given) else {
            continue;
        };
        for path in scalars(value).filter_map(Value::as_str) {
            if faults.len() >= MAX_FAULTS {
                return faults;
            }
            if path.len() > MAX_PATH_LEN {
                faults.push(ArgumentFault {
                    argument: argument.name.clone(),
                    message: format!("a path of {} bytes is longer than any can be", path.len()),
                    hint: None,
                });
                continue;
            }
            let real = normal(&context.working_directory.join(path));
            if !context.roots.iter().any(|root| real.starts_with(root)) {
                faults.push(ArgumentFault {
                    argument: argument.name.clone(),
                    message: format!("the path {path:?} is outside the sandbox"),
                    hint: context
                        .roots
                        .first()
                        .map(|scope| format!("use a path below {}", scope.display())),
                });
            }
        }
    }
    faults
}

fn is_path(values: &ValueSpec) -> bool {
    match values {
        ValueSpec::One(ScalarSpec { is_path, .. })
        | ValueSpec::Many(ScalarSpec { is_path, .. }) => *is_path,
        ValueSpec::Boolean => false,
    }
}
