//! Help of Go programs, by `cobra` and `pflag` or by the standard library: words for types, `(default …)`.

use super::help::{Help, HelpOption, TypeWord};
use super::layout::Layout;

/// Words for types that Go programs use for values.
const TYPES: [(&str, TypeWord); 21] = [
    ("int", TypeWord::Integer),
    ("int32", TypeWord::Integer),
    ("int64", TypeWord::Integer),
    ("uint", TypeWord::Integer),
    ("uint16", TypeWord::Integer),
    ("uint32", TypeWord::Integer),
    ("uint64", TypeWord::Integer),
    ("count", TypeWord::Integer),
    ("float", TypeWord::Number),
    ("float32", TypeWord::Number),
    ("float64", TypeWord::Number),
    ("decimal", TypeWord::Number),
    ("string", TypeWord::Text),
    ("duration", TypeWord::Text),
    ("bytes", TypeWord::Text),
    ("strings", TypeWord::Texts),
    ("stringArray", TypeWord::Texts),
    ("stringSlice", TypeWord::Texts),
    ("list", TypeWord::Texts),
    ("ints", TypeWord::Integers),
    ("intSlice", TypeWord::Integers),
];

pub(super) fn is_it(layout: &Layout) -> bool {
    let heading = |it: &str| {
        matches!(
            it,
            "Flags"
                | "FLAGS"
                | "Global Flags"
                | "INHERITED FLAGS"
                | "Available Commands"
                | "Management Commands"
        )
    };
    let has_heading = layout.sections.iter().any(|it| heading(&it.heading));
    has_heading || typed(layout) >= 3
}

/// How many rows have a word for a type.
fn typed(layout: &Layout) -> usize {
    let rows = layout.sections.iter().flat_map(|it| &it.options);
    let values = rows
        .flat_map(|it| &it.spec.flags)
        .filter_map(|it| it.values.first());
    values
        .filter(|it| TYPES.iter().any(|(word, _)| word == it))
        .count()
}

pub(super) fn refine(help: &mut Help) {
    for option in &mut help.options {
        let text = option.whole_text().replace('\n', " ");
        option.default = text
            .rsplit_once("(default ")
            .and_then(|(_, rest)| rest.split_once(')'))
            .map(|(value, _)| value.trim_matches('"').to_owned());
        option.choices = choices(&text);
        type_of(option);
    }
}

/// `{open|closed|all}` in the text.
fn choices(text: &str) -> Vec<String> {
    let inside = text
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'));
    let Some((inside, _)) = inside.filter(|(it, _)| it.contains('|')) else {
        return Vec::new();
    };
    let is_word = |it: &str| {
        !it.is_empty()
            && it
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_'))
    };
    match inside.split('|').all(is_word) {
        true => inside.split('|').map(str::to_owned).collect(),
        false => Vec::new(),
    }
}

fn type_of(option: &mut HelpOption) {
    let value = option.spec.with_value().and_then(|it| it.values.first());
    let word = value.and_then(|value| TYPES.iter().find(|(word, _)| word == value));
    option.type_word = word.map(|(_, of)| *of);
    option.is_repeated |= matches!(option.type_word, Some(TypeWord::Texts | TypeWord::Integers));
}
