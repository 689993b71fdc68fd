//! What type a value has, guessed from its name and the text beside it. A wrong guess would refuse good calls, so what is not plain
//! stays a string; must not look at programs by name.

use super::help::{HelpOption, HelpPositional, TypeWord};
use super::usage::alternatives;

/// The type of a value, and how sure that is.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Guess {
    pub(super) kind: Kind,
    /// What the values are, where they are named; texts.
    pub(super) choices: Vec<String>,
    /// Why it may be wrong.
    pub(super) doubt: Option<String>,
}

/// What a value is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Text,
    Integer,
    Number,
    Path,
}

/// Values that are files or directories by their names.
const PATHS: [&str; 16] = [
    "file",
    "files",
    "filename",
    "filenames",
    "path",
    "paths",
    "dir",
    "directory",
    "directories",
    "folder",
    "infile",
    "outfile",
    "input_file",
    "output_file",
    "config_file",
    "filepath",
];
/// Values that are whole numbers by their names.
const INTEGERS: [&str; 10] = [
    "n", "num", "number", "count", "int", "integer", "port", "nlines", "lines", "depth",
];
/// Words beside a number that say that it may be more than one.
const SUFFIXES: [&str; 10] = [
    "suffix",
    "multiplier",
    "percent",
    "unit",
    "ki",
    "kb",
    "1k",
    " k,",
    "fraction",
    "infinity",
];

/// The type of an option's value, whose name is this.
pub(super) fn of_option(option: &HelpOption, name: &str) -> Guess {
    let text = option.whole_text().replace('\n', " ");
    if !option.choices.is_empty() {
        return chosen(option.choices.clone());
    }
    if let Some(word) = option.type_word {
        return Guess {
            kind: match word {
                TypeWord::Integer | TypeWord::Integers => Kind::Integer,
                TypeWord::Number => Kind::Number,
                TypeWord::Path => Kind::Path,
                TypeWord::Text | TypeWord::Texts => Kind::Text,
            },
            ..Guess::default()
        };
    }
    let guess = of_name(name, &text);
    let is_plain = guess.kind == Kind::Text && guess.choices.is_empty();
    let default = option.default.as_deref().unwrap_or_default();
    if is_plain && default.parse::<i64>().is_ok() && default != "0" && !has_suffix(&text) {
        return Guess {
            kind: Kind::Integer,
            doubt: Some(format!("an integer because its default is {default}")),
            ..Guess::default()
        };
    }
    guess
}

/// The type of a positional argument.
pub(super) fn of_positional(positional: &HelpPositional) -> Guess {
    if !positional.choices.is_empty() {
        return chosen(positional.choices.clone());
    }
    let guess = of_name(&positional.name, &positional.text.join(" "));
    match guess.kind {
        // In a usage line `N` is seldom more than a mark.
        Kind::Integer => Guess::default(),
        _ => guess,
    }
}

fn chosen(mut choices: Vec<String>) -> Guess {
    choices.retain(|it| !it.is_empty() && !it.starts_with('-'));
    choices.dedup();
    Guess {
        choices,
        ..Guess::default()
    }
}

/// By the name of a value, as it stands in the text.
fn of_name(name: &str, text: &str) -> Guess {
    let inner = name.trim_matches(['<', '>', '[', ']', '{', '}', '(', ')']);
    let divided = match name.starts_with('{') && inner.contains(',') {
        true => inner.split(',').map(str::trim).collect(),
        false => alternatives(inner),
    };
    if divided.len() > 1 {
        return of_alternatives(&divided, name.starts_with(['<', '{', '(', '[']));
    }
    let is_signed = name.starts_with(['+', '[']) && name.contains(['+', '-', '/']);
    let lower = inner.to_ascii_lowercase().replace(['-', ' '], "_");
    let last = lower.rsplit('_').next().unwrap_or_default();
    if PATHS.contains(&lower.as_str())
        || (lower.contains('_') && ["file", "dir", "directory", "path", "filename"].contains(&last))
    {
        return Guess {
            kind: Kind::Path,
            ..Guess::default()
        };
    }
    if INTEGERS.contains(&lower.as_str()) && !is_signed && !has_suffix(text) {
        return Guess {
            kind: Kind::Integer,
            doubt: Some(format!("an integer because the help calls it {inner}")),
            ..Guess::default()
        };
    }
    Guess::default()
}

/// `always|never`: these values, unless one of them is a word for others.
fn of_alternatives(all: &[&str], is_enclosed: bool) -> Guess {
    let is_value = |it: &&str| {
        !it.is_empty()
            && it
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.' | '+'))
            && !it.starts_with('-')
    };
    let are_values = all.iter().all(is_value);
    // `FILE|DIR` are no values, and neither is one of `always|PATTERN`; `PEM|DER` are.
    let is_word_for_others =
        |it: &&&str| PATHS.contains(&it.to_ascii_lowercase().as_str()) || it.contains('_');
    let is_kind = all.iter().any(|it| is_word_for_others(&it));
    let are_mixed = all
        .iter()
        .any(|it| it.chars().any(|it| it.is_ascii_lowercase()))
        && all
            .iter()
            .any(|it| it.len() > 1 && it.chars().all(|it| it.is_ascii_uppercase()));
    if !are_values || is_kind || are_mixed {
        return Guess::default();
    }
    Guess {
        choices: all.iter().map(|it| (*it).to_owned()).collect(),
        doubt: (!is_enclosed || all[0].chars().all(|it| it.is_ascii_uppercase()))
            .then(|| "these may be words for values, and not the values".to_owned()),
        ..Guess::default()
    }
}

fn has_suffix(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    SUFFIXES.iter().any(|it| lower.contains(it)) || lower.contains('%')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str, text: &str) -> String {
        let guess = of_name(name, text);
        let doubt = if guess.doubt.is_some() { "?" } else { "" };
        format!("{:?}{doubt} {}", guess.kind, guess.choices.join("/"))
    }

    #[test]
    fn only_what_is_plain_is_more_than_text() {
        for (name, text, expected) in [
            ("<FILE>", "", "Path "),
            ("config-file", "", "Path "),
            ("<NUM>", "Show NUM lines.", "Integer? "),
            (
                "NUM",
                "print NUM bytes; it may have a multiplier suffix",
                "Text ",
            ),
            ("[-]NUM", "", "Text "),
            ("+int", "", "Text "),
            ("{a,b,c}", "", "Text a/b/c"),
            ("<low|high>", "", "Text low/high"),
            ("PEM|DER", "", "Text? PEM/DER"),
            ("<FILE|DIR>", "", "Text "),
            ("<KEY=VALUE|PATH>", "", "Text "),
            ("<pattern>", "", "Text "),
            ("SIZE", "", "Text "),
        ] {
            assert_eq!(shown(name, text), expected, "{name} {text}");
        }
    }
}
