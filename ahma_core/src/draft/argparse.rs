//! Help of Python's `argparse`: `{a,b}`, `NAME [NAME ...]`, `(default: …)`.

use super::help::Help;

pub(super) fn is_it(text: &str) -> bool {
    text.contains("usage: ")
        && (text.contains("show this help message and exit")
            || text.contains("positional arguments:"))
}

pub(super) fn refine(help: &mut Help) {
    for option in &mut help.options {
        let text = option.whole_text().replace('\n', " ");
        let default = text.rsplit_once("(default: ");
        option.default = default
            .and_then(|(_, rest)| rest.split_once(')'))
            .map(|(value, _)| value.trim().to_owned())
            .filter(|it| !matches!(it.as_str(), "None" | "False" | "True" | "[]"));
        let several = option
            .spec
            .with_value()
            .is_some_and(|it| it.values.iter().any(|it| it.contains("...")));
        if several {
            // One after the other behind one flag, which no tool file can say.
            option.doubt = Some(
                "the program takes several values behind this flag; here it is one".to_owned(),
            );
            for flag in &mut option.spec.flags {
                flag.values.truncate(1);
                flag.is_optional = false;
                for value in &mut flag.values {
                    let first = value.trim_matches(['[', ']']).split(' ').next();
                    *value = first.unwrap_or_default().to_owned();
                }
            }
        }
    }
}
