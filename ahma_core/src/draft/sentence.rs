//! One sentence of a text, for a list that costs its readers tokens. Cuts; must not rephrase.

/// Letters of a description.
const MAX: usize = 200;
/// Behind these a sentence goes on.
const ABBREVIATIONS: [&str; 9] = [
    "e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "incl.", "resp.", "no.",
];

/// The first sentence of these lines; none when they say nothing.
pub(super) fn first(lines: &[String]) -> Option<String> {
    let mut words: Vec<&str> = Vec::new();
    let begins = lines
        .iter()
        .map(|it| it.trim())
        .skip_while(|it| it.is_empty());
    for line in begins {
        let is_list = line.starts_with("* ") || line.starts_with("- ") || line.starts_with("• ");
        if line.is_empty() || is_list || line.starts_with("Possible values:") {
            break;
        }
        words.extend(line.split_whitespace());
        if words.len() > MAX {
            break;
        }
    }
    let text = without_notes(&words.join(" "));
    let mut sentence = String::new();
    let mut all = text.split(' ').peekable();
    while let Some(word) = all.next() {
        if sentence.chars().count() + word.chars().count() > MAX {
            sentence.push('…');
            break;
        }
        if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.push_str(word);
        let is_end = word.ends_with(['.', '!'])
            && word.contains(char::is_alphanumeric)
            && !ABBREVIATIONS.contains(&word.to_ascii_lowercase().as_str());
        let goes_on = all
            .peek()
            .is_some_and(|next| next.starts_with(|it: char| it.is_lowercase()));
        if is_end && !goes_on {
            break;
        }
    }
    finished(&sentence)
}

/// What stands in brackets for programs rather than readers.
fn without_notes(text: &str) -> String {
    let mut kept = text.to_owned();
    for beginning in [
        "[possible values:",
        "[default:",
        "[env:",
        "[required",
        "[alias",
        "[aliases:",
        "[short aliases:",
        "[x>=",
        "[0<=",
        "[1<=",
        "(default: ",
        "(default \"",
        "(default ",
    ] {
        let close = if beginning.starts_with('[') { ']' } else { ')' };
        while let Some(start) = kept.find(beginning) {
            let end = kept[start..]
                .find(close)
                .map_or(kept.len(), |it| start + it + 1);
            kept.replace_range(start..end, "");
        }
    }
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Begins with a capital and ends with a dot.
fn finished(sentence: &str) -> Option<String> {
    let sentence = sentence.trim().trim_end_matches([';', ':', ',']).trim_end();
    // `. and ..` are names.
    let bare = match sentence.ends_with(" .") || sentence.ends_with("..") {
        true => sentence,
        false => sentence.trim_end_matches('.'),
    };
    let bare = bare.trim_start_matches(['-', ':', ',', '=']).trim_start();
    let mut letters = bare.chars();
    let first = letters.next()?;
    let is_word = letters
        .clone()
        .next()
        .is_none_or(|it| it.is_lowercase() || it == ' ');
    let first = match is_word {
        true => first.to_uppercase().to_string(),
        false => first.to_string(),
    };
    let rest = letters.as_str();
    let end = match bare.ends_with(['…', '!', '?', '.']) {
        true => "",
        false => ".",
    };
    let whole = format!("{first}{rest}{end}");
    whole.chars().any(char::is_alphanumeric).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sentence_is_left() {
        for (text, expected) in [
            ("print the byte counts", Some("Print the byte counts.")),
            ("Use it. Then not.", Some("Use it.")),
            (
                "scale sizes, e.g. 'M'; see below",
                Some("Scale sizes, e.g. 'M'; see below."),
            ),
            ("Coloring [possible values: auto, never]", Some("Coloring.")),
            ("Limit (default 30)", Some("Limit.")),
            (
                "use Python 3.7.3 here. Or else.",
                Some("Use Python 3.7.3 here."),
            ),
            ("UTF-8 input", Some("UTF-8 input.")),
            (
                "do not list implied . and ..",
                Some("Do not list implied . and .."),
            ),
            ("", None),
            ("[default: 4]", None),
        ] {
            assert_eq!(first(&[text.to_owned()]).as_deref(), expected, "{text}");
        }
        let long = first(&["word ".repeat(100)]).unwrap();
        assert!(
            long.chars().count() <= MAX + 1 && long.ends_with('…'),
            "{long}"
        );
    }
}
