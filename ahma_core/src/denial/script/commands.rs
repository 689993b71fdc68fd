//! Simple commands: a program with its words and redirections, and the directory it runs in.
//!
//! Follows `cd`, variables with a plain value, and shells that are given a script. Must not follow conditions: both ways
//! are read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::lexer::{Token, VARIABLE, Word, tokens};
use crate::lexical_path::normal;

/// How deep scripts in scripts are read.
const MAX_DEPTH: usize = 4;
/// How many commands are read.
const MAX_COMMANDS: usize = 500;

/// A file that takes the place of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirection {
    pub(crate) target: String,
    pub(crate) writes: bool,
}

/// One program and what it is given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Simple {
    /// The program, and what is run by it if it only runs others.
    pub(crate) words: Vec<String>,
    pub(crate) redirections: Vec<Redirection>,
    /// Variables that are set for it alone, or for good.
    pub(crate) assignments: Vec<(String, String)>,
    /// Text that it reads.
    pub(crate) input: String,
    pub(crate) directory: PathBuf,
    /// Whether its output goes to another command.
    pub(crate) piped: bool,
}

impl Simple {
    /// The program, without its directory.
    pub(crate) fn name(&self) -> &str {
        let word = self.words.first().map_or("", String::as_str);
        word.rsplit('/').next().unwrap_or(word)
    }

    /// Its words after the program.
    pub(crate) fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The first of its words that are no options: `clone` of `git -c x=y clone`.
    pub(crate) fn action(&self) -> &str {
        let mut rest = self.arguments().iter();
        while let Some(word) = rest.next() {
            if matches!(
                word.as_str(),
                "-c" | "-C" | "--git-dir" | "--work-tree" | "-m"
            ) {
                rest.next();
            } else if !word.starts_with(['-', '+']) {
                return word;
            }
        }
        ""
    }
}

const KEYWORDS: [&str; 18] = [
    "if", "then", "elif", "else", "fi", "do", "done", "while", "until", "!", "{", "}", "time",
    "exec", "command", "builtin", "nohup", "coproc",
];

/// Programs that run another one, which is named among their words.
pub(crate) const RUNNERS: [&str; 14] = [
    "env", "timeout", "nice", "ionice", "xargs", "sudo", "doas", "stdbuf", "setsid", "setpriv",
    "unbuffer", "chronic", "npx", "ltrace",
];

pub(crate) const SHELLS: [&str; 6] = ["bash", "sh", "dash", "zsh", "ksh", "ash"];

/// The commands of a script that begins in `directory`, with `~` standing for `home`.
pub(super) fn commands(script: &str, directory: &Path, home: &Path) -> Vec<Simple> {
    let variables = HashMap::from([("HOME".to_owned(), home.display().to_string())]);
    let mut reading = Reading {
        directory: directory.to_owned(),
        home,
        variables,
        commands: Vec::new(),
    };
    reading.script(script, 0);
    reading.commands
}

/// The commands of a program with its arguments.
pub(super) fn commands_of(argv: &[String], directory: &Path, home: &Path) -> Vec<Simple> {
    let variables = HashMap::new();
    let mut reading = Reading {
        directory: directory.to_owned(),
        home,
        variables,
        commands: Vec::new(),
    };
    let words = argv.to_vec();
    reading.finish(
        Simple {
            words,
            directory: directory.to_owned(),
            ..Simple::default()
        },
        0,
    );
    reading.commands
}

struct Reading<'h> {
    directory: PathBuf,
    home: &'h Path,
    variables: HashMap<String, String>,
    commands: Vec<Simple>,
}

impl Reading<'_> {
    fn script(&mut self, script: &str, depth: usize) {
        if depth > MAX_DEPTH || self.commands.len() > MAX_COMMANDS {
            return;
        }
        let mut command = Simple::default();
        let mut redirect = None;
        for token in tokens(script) {
            match token {
                Token::Word(word) => {
                    for nested in &word.nested {
                        self.script(nested, depth + 1);
                    }
                    let text = self.expand(&word);
                    if let Some(writes) = redirect.take() {
                        command.redirections.push(Redirection {
                            target: text,
                            writes,
                        });
                        continue;
                    }
                    let is_first = command.words.is_empty();
                    if is_first && !word.quoted && KEYWORDS.contains(&text.as_str()) {
                        continue;
                    }
                    if let Some((name, value)) = assignment(&text).filter(|_| is_first) {
                        self.variables.insert(name.to_owned(), value.to_owned());
                        command
                            .assignments
                            .push((name.to_owned(), value.to_owned()));
                    } else if !text.is_empty() || word.nested.is_empty() {
                        command.words.push(text);
                    }
                }
                Token::Redirect { writes } => redirect = Some(writes),
                Token::Input(text) => {
                    // The text comes after the line, when its command has ended already.
                    if let Some(last) = self.commands.last_mut() {
                        last.input.push_str(&text);
                    }
                }
                Token::End { piped } => {
                    command.piped = piped;
                    self.finish(std::mem::take(&mut command), depth);
                    redirect = None;
                }
            }
        }
    }

    fn finish(&mut self, mut command: Simple, depth: usize) {
        if command.words.is_empty()
            && command.redirections.is_empty()
            && command.assignments.is_empty()
        {
            return;
        }
        command.directory.clone_from(&self.directory);
        if matches!(command.name(), "export" | "declare" | "local" | "readonly") {
            for word in command.arguments().to_vec() {
                if let Some((name, value)) = assignment(&word) {
                    self.variables.insert(name.to_owned(), value.to_owned());
                    command
                        .assignments
                        .push((name.to_owned(), value.to_owned()));
                }
            }
        }
        if matches!(command.name(), "cd" | "pushd") {
            let target = command
                .arguments()
                .iter()
                .find(|word| !word.starts_with('-'));
            let target = target.map_or(self.home.to_owned(), PathBuf::from);
            self.directory = normal(&self.directory.join(target));
        }
        let inner = shell_script(&command.words);
        self.commands.push(command);
        if let Some((script, positions)) = inner {
            let before = self.directory.clone();
            for (position, word) in positions.iter().enumerate() {
                self.variables.insert(position.to_string(), word.clone());
            }
            self.script(&script, depth + 1);
            self.directory = before;
        }
    }

    /// A word with the variables that are known.
    fn expand(&self, word: &Word) -> String {
        let mut text = String::new();
        for (part, piece) in word.text.split(VARIABLE).enumerate() {
            if part % 2 == 0 {
                text.push_str(piece);
            } else if let Some(value) = self.variables.get(piece) {
                text.push_str(value);
            } else {
                text.push('$');
                text.push_str(piece);
            }
        }
        let is_home = !word.quoted && (text == "~" || text.starts_with("~/"));
        if is_home {
            return format!("{}{}", self.home.display(), &text[1..]);
        }
        // `--option=~/x` is left alone by shells, `VARIABLE=~/x` is not.
        match text.split_once("=~/") {
            Some((name, rest)) if !word.quoted && is_name(name) => {
                format!("{name}={}/{rest}", self.home.display())
            }
            _ => text,
        }
    }
}

fn is_name(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !text.is_empty()
        && text.chars().all(is_letter)
        && !text.starts_with(|it: char| it.is_ascii_digit())
}

fn assignment(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').filter(|(name, _)| is_name(name))
}

/// The script that a shell is given as a word, with the words that follow it.
fn shell_script(words: &[String]) -> Option<(String, Vec<String>)> {
    let name = |word: &String| word.rsplit('/').next().unwrap_or("").to_owned();
    let is_wrapped = words
        .first()
        .is_some_and(|it| RUNNERS.contains(&name(it).as_str()));
    let mut all = words.iter().enumerate();
    let shell = if is_wrapped {
        all.position(|(_, word)| SHELLS.contains(&name(word).as_str()))?
    } else {
        words
            .first()
            .filter(|it| SHELLS.contains(&name(it).as_str()))?;
        0
    };
    let rest = &words[shell + 1..];
    let is_option =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let option = rest.iter().position(is_option)?;
    let script = rest.get(option + 1)?;
    Some((script.clone(), rest[option + 2..].to_vec()))
}
