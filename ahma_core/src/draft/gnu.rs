//! Help of GNU programs: `Usage: prog [OPTION]... FILE`, `or:`, `--help     display this help and exit`.

use super::help::Help;

pub(super) fn is_it(text: &str) -> bool {
    text.contains("[OPTION]")
        || text.contains("[OPTION...]")
        || text.contains("display this help and exit")
        || text.contains("arguments to long options are mandatory")
}

pub(super) fn refine(help: &mut Help) {
    for option in &mut help.options {
        let text = option.whole_text().replace('\n', " ");
        // `WORD is 'a', 'b' or 'c'` says examples as often as all values; only `WHEN` has one meaning everywhere.
        let value = option.spec.with_value().and_then(|it| it.values.first());
        if value.is_some_and(|it| it == "WHEN") && says_when(&text) {
            option.choices = ["always", "auto", "never"].map(str::to_owned).into();
        }
    }
}

fn says_when(text: &str) -> bool {
    ["always", "auto", "never"]
        .iter()
        .all(|it| text.contains(it))
}
