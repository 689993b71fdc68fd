//! Values that may be secrets: plain text, references to where the value is, or both mixed.
//!
//! Reads them and puts them together again. Must not fetch anything, and must not show a plain value.

use std::fmt;
use std::path::PathBuf;

use super::super::suggest::nearest;

/// A value that is not shown: text with references in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Eq)]
enum Part {
    Plain(String),
    Reference(Reference),
}

/// Where a value is.
#[derive(Clone, PartialEq, Eq)]
pub enum Reference {
    /// `${env:NAME}`: in a variable of the server's environment.
    Env(String),
    /// `${file:PATH}`: in a file.
    File(PathBuf),
    /// `${command:…}`: what a command line prints.
    Command(String),
    /// `${PORT}`: the port that a managed server was given.
    Port,
}

/// Gives what references stand for. Implemented by whoever may read files and run programs.
pub trait SecretSource {
    /// A variable of the server's environment.
    fn env(&self, name: &str) -> Option<String>;
    /// The content of a file. A line break at its end is not part of the value.
    fn file(&self, path: &std::path::Path) -> Option<String>;
    /// What a command line prints. A line break at its end is not part of the value.
    fn command(&self, line: &str) -> Option<String>;
    /// The port of the managed server at hand.
    fn port(&self) -> Option<u16> {
        None
    }
}

/// A reference that leads nowhere. Names the reference, never a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingReference(pub Reference);

impl fmt::Display for MissingReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "there is no value for `{}`", self.0)
    }
}

impl std::error::Error for MissingReference {}

impl Secret {
    /// The value. What a reference stands for is not looked through for further references.
    pub fn resolve(&self, lookup: &impl SecretSource) -> Result<String, MissingReference> {
        let mut value = String::new();
        for part in &self.parts {
            match part {
                Part::Plain(text) => value.push_str(text),
                Part::Reference(reference) => match reference.fetch(lookup) {
                    Some(text) => value.push_str(&text),
                    None => return Err(MissingReference(reference.clone())),
                },
            }
        }
        Ok(value)
    }

    /// The references, in order: for a source that has to fetch them beforehand.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.parts.iter().filter_map(|part| match part {
            Part::Reference(reference) => Some(reference),
            Part::Plain(_) => None,
        })
    }

    /// The plain text between the references, for checks of its characters.
    pub(super) fn plain_parts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Plain(text) => Some(text.as_str()),
            Part::Reference(_) => None,
        })
    }

    /// Reads a value. `path` makes a path of the file one that can be opened.
    pub(super) fn parse(
        text: &str,
        path: impl Fn(&str) -> Option<PathBuf>,
    ) -> Result<Self, SecretFault> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let (before, from) = rest.split_at(start);
            // `$${` is how a plain `${` is written.
            if let Some(before) = before.strip_suffix('$') {
                plain.push_str(before);
                plain.push_str("${");
                rest = &from[2..];
                continue;
            }
            plain.push_str(before);
            let length = inner_length(&from[2..]).ok_or(SecretFault::NotClosed)?;
            if !plain.is_empty() {
                parts.push(Part::Plain(std::mem::take(&mut plain)));
            }
            let inner = &from[2..2 + length];
            parts.push(Part::Reference(Reference::parse(inner, &path)?));
            rest = &from[2 + length + 1..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Plain(plain));
        }
        Ok(Secret { parts })
    }
}

/// The length of what stands before the brace that closes a reference; command lines may hold pairs of braces.
fn inner_length(text: &str) -> Option<usize> {
    let mut open = 1_usize;
    for (offset, letter) in text.char_indices() {
        match letter {
            '{' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(offset);
        }
    }
    None
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(")?;
        for part in &self.parts {
            match part {
                Part::Plain(_) => formatter.write_str("…")?,
                Part::Reference(reference) => write!(formatter, "{reference}")?,
            }
        }
        formatter.write_str(")")
    }
}

impl Reference {
    fn parse(
        inner: &str,
        path: impl Fn(&str) -> Option<PathBuf>,
    ) -> Result<Reference, SecretFault> {
        if inner == "PORT" {
            return Ok(Reference::Port);
        }
        let (kind, name) = inner.split_once(':').unwrap_or((inner, ""));
        if !KINDS.contains(&kind) {
            return Err(SecretFault::UnknownKind {
                meant: nearest(kind, KINDS),
                is_bare_name: !inner.contains(':'),
            });
        }
        if name.trim().is_empty() {
            return Err(SecretFault::Empty);
        }
        match kind {
            "env" => Ok(Reference::Env(name.to_owned())),
            "file" => path(name).map(Reference::File).ok_or(SecretFault::NoHome),
            _ => checked_line(name).map(|()| Reference::Command(name.to_owned())),
        }
    }

    fn fetch(&self, lookup: &impl SecretSource) -> Option<String> {
        match self {
            Reference::Env(name) => lookup.env(name),
            Reference::File(path) => lookup.file(path).map(without_line_break),
            Reference::Command(line) => lookup.command(line).map(without_line_break),
            Reference::Port => lookup.port().map(|port| port.to_string()),
        }
    }
}

/// A command line is run without a shell: it has to be words that one would split it into, and nothing else of a shell.
fn checked_line(line: &str) -> Result<(), SecretFault> {
    let words = shell_words::split(line).map_err(|_| SecretFault::OpenQuote)?;
    let is_of_a_shell = |word: &String| OF_A_SHELL.contains(&word.as_str());
    match words.iter().any(is_of_a_shell) {
        true => Err(SecretFault::NeedsShell),
        false => Ok(()),
    }
}

/// Words that mean something to a shell only.
const OF_A_SHELL: [&str; 8] = ["|", "||", "&", "&&", ";", "<", ">", ">>"];

/// Editors and programs end their last line; no token does.
fn without_line_break(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

impl fmt::Display for Reference {
    /// As written, but of a command only its first word: the others may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Env(name) => write!(formatter, "${{env:{name}}}"),
            Reference::File(path) => write!(formatter, "${{file:{}}}", path.display()),
            Reference::Command(line) => match line.trim().split_once(char::is_whitespace) {
                Some((program, _)) => write!(formatter, "${{command:{program} …}}"),
                None => write!(formatter, "${{command:{}}}", line.trim()),
            },
            Reference::Port => formatter.write_str("${PORT}"),
        }
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Reference({self})")
    }
}

const KINDS: [&str; 3] = ["env", "file", "command"];

/// What is wrong with a value. Repeats nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretFault {
    /// `${` without its `}`.
    NotClosed,
    /// `${x:…}` or `${NAME}`.
    UnknownKind {
        meant: Option<&'static str>,
        is_bare_name: bool,
    },
    /// `${env:}`.
    Empty,
    /// A path below a home directory that is not known.
    NoHome,
    /// `${command:x 'y}`.
    OpenQuote,
    /// `${command:x | y}`.
    NeedsShell,
}

impl SecretFault {
    /// What is wrong, and what to do about it.
    pub(super) fn words(self) -> (&'static str, String) {
        const PLAIN: &str = "a plain `${` is written `$${`";
        match self {
            SecretFault::NotClosed => (
                "a reference is not closed",
                format!("end it with `}}`; {PLAIN}"),
            ),
            SecretFault::UnknownKind {
                meant: Some(kind), ..
            } => (
                "this kind of reference is not known",
                format!("did you mean `${{{kind}:…}}`? {PLAIN}"),
            ),
            SecretFault::UnknownKind {
                is_bare_name: true, ..
            } => (
                "a reference does not say where its value is",
                format!("a variable of the environment is written `${{env:NAME}}`; {PLAIN}"),
            ),
            SecretFault::UnknownKind { .. } => (
                "this kind of reference is not known",
                format!("use `${{env:NAME}}`, `${{file:PATH}}` or `${{command:…}}`; {PLAIN}"),
            ),
            SecretFault::Empty => (
                "a reference names nothing",
                "write what is meant behind the colon, e.g. `${env:TOKEN}`".to_owned(),
            ),
            SecretFault::NoHome => (
                "a path begins with `~`, and there is no home directory",
                "write the path in full".to_owned(),
            ),
            SecretFault::OpenQuote => (
                "a command line has a quote that is not closed",
                "its words are told apart as a shell does; close the quote".to_owned(),
            ),
            SecretFault::NeedsShell => (
                "a command line needs a shell, and is run without one",
                "write `${command:sh -c '…'}`, or one program with its arguments".to_owned(),
            ),
        }
    }
}
