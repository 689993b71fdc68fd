//! Help of Python's `click`: words for types, `--shout / --no-shout`, `[default: …; required]`.

use super::help::{Help, HelpOption, TypeWord};

pub(super) fn is_it(text: &str) -> bool {
    text.contains("Show this message and exit.") && text.contains("Usage: ")
}

pub(super) fn refine(help: &mut Help) {
    for option in &mut help.options {
        let text = option.whole_text().replace('\n', " ");
        for note in notes(&text) {
            if note == "required" {
                option.is_required = true;
            } else if let Some(default) = note.strip_prefix("default: ") {
                option.default = Some(default.to_owned());
            }
        }
        type_of(option);
        // `--on / --off`: the second takes the first back.
        if let ([_, second], true, None) = (
            option.spec.flags.as_slice(),
            option.spec.has_slash,
            option.spec.with_value(),
        ) {
            option.negated = Some(second.text.clone());
        }
    }
}

/// What stands in the brackets at the end.
fn notes(text: &str) -> impl Iterator<Item = &str> {
    let last = text
        .rsplit_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let last = last.map(|(inside, _)| inside).unwrap_or_default();
    last.split(';').map(str::trim)
}

fn type_of(option: &mut HelpOption) {
    let Some(flag) = option.spec.with_value() else {
        return;
    };
    let Some(first) = flag.values.first() else {
        return;
    };
    let inner = first.trim_matches(['[', ']']);
    // `<INTEGER INTEGER>` are two.
    let words: Vec<String> = first.split(' ').map(str::to_owned).collect();
    if first.starts_with('<') && words.len() > 1 {
        for flag in &mut option.spec.flags {
            flag.values.clone_from(&words);
        }
        return;
    }
    if first.starts_with('[') && inner.contains('|') {
        option.choices = inner.split('|').map(str::to_owned).collect();
        for flag in &mut option.spec.flags {
            flag.is_optional = false;
            flag.values.truncate(1);
        }
        return;
    }
    option.type_word = match first.as_str() {
        "INTEGER" => Some(TypeWord::Integer),
        "FLOAT" => Some(TypeWord::Number),
        "PATH" | "FILE" | "FILENAME" | "DIRECTORY" => Some(TypeWord::Path),
        "TEXT" | "UUID" => Some(TypeWord::Text),
        _ => None,
    };
    let is_range = flag.values.get(1).is_some_and(|it| it == "RANGE");
    if is_range {
        for flag in &mut option.spec.flags {
            flag.values.truncate(1);
        }
        if option.type_word.is_none() {
            option.type_word = Some(TypeWord::Number);
        }
    }
}
