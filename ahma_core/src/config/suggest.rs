//! "Did you mean": the nearest of the names that would have been right.

/// The known name most like `wrong`, if one is near enough to be what was meant.
pub(crate) fn nearest<'n>(
    wrong: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    let folded = fold(wrong);
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&folded, &fold(name)), name))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, name)| name)
}

/// Case and the kind of separator are the most common slips; they count for nothing.
fn fold(name: &str) -> String {
    name.chars()
        .take(64)
        .filter(|letter| !matches!(letter, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    const FIELDS: [&str; 4] = [
        "description",
        "synchronous",
        "subcommand",
        "timeout_seconds",
    ];

    #[test]
    fn a_slip_of_the_pen_finds_its_field() {
        for (wrong, right) in [
            ("descripton", "description"),
            ("timeoutSeconds", "timeout_seconds"),
            ("sub_commands", "subcommand"),
            ("Synchronous", "synchronous"),
        ] {
            assert_eq!(nearest(wrong, FIELDS), Some(right));
        }
    }

    #[test]
    fn a_foreign_word_finds_nothing() {
        assert_eq!(nearest("colour", FIELDS), None);
    }
}
