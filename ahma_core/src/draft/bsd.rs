//! Help that is usage lines alone, as of BSD programs and manual pages: `usage: prog [-abc] [-f file] name ...`.

use super::flag_spec::{FlagSpec, SpelledFlag};
use super::help::{Help, HelpOption};
use super::layout::Layout;

pub(super) fn is_it(layout: &Layout) -> bool {
    let has_rows = layout.sections.iter().any(|it| !it.options.is_empty());
    !has_rows
        && layout
            .usage
            .iter()
            .any(|it| it.contains("[-") || it.contains(" -"))
}

/// Letters behind one dash that are as many flags. By custom they stand in alphabetical order; a word seldom does.
pub(super) fn cluster(flag: &str) -> Option<Vec<char>> {
    let letters: Vec<char> = flag.strip_prefix('-')?.chars().collect();
    let is_plain = letters.len() > 1 && letters.iter().all(char::is_ascii_alphanumeric);
    let in_order = letters.windows(2).all(|pair| {
        let [one, next] = [pair[0], pair[1]].map(|it| it.to_ascii_lowercase());
        pair[0] != pair[1] && (one <= next || (!one.is_ascii_digit() && next.is_ascii_digit()))
    });
    (is_plain && in_order).then_some(letters)
}

/// Takes groups of letters apart.
pub(super) fn refine(help: &mut Help) {
    let mut options: Vec<HelpOption> = Vec::new();
    for option in std::mem::take(&mut help.options) {
        let letters = option
            .spec
            .main()
            .filter(|it| it.values.is_empty() && !it.is_long())
            .and_then(|it| cluster(&it.text));
        let Some(letters) = letters else {
            options.push(option);
            continue;
        };
        for letter in letters {
            let text = format!("-{letter}");
            let flag = SpelledFlag {
                text,
                ..SpelledFlag::default()
            };
            options.push(HelpOption {
                spec: FlagSpec {
                    flags: vec![flag],
                    has_slash: false,
                },
                doubt: Some("one letter of a group in the usage line".to_owned()),
                ..HelpOption::default()
            });
        }
    }
    let mut known: Vec<String> = Vec::new();
    options.retain(|it| {
        let Some(flag) = it.spec.main() else {
            return false;
        };
        let is_new = !known.contains(&flag.text);
        known.push(flag.text.clone());
        is_new
    });
    help.options = options;
}
