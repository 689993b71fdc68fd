//! What headings say of the lines below them, and whether such a line is a name or several. Knows words; must not know the rest of
//! the text.

/// What a section is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SectionKind {
    /// Flags, or a heading that says nothing of it.
    #[default]
    Options,
    Commands,
    Arguments,
    /// A description of the command.
    About,
    /// Examples and the like: flags in it are no table.
    Other,
}

/// What the section below a heading is about.
pub(super) fn kind_of(heading: &str) -> SectionKind {
    if says(heading, &["option", "options", "flag", "flags", "switches"]) {
        SectionKind::Options
    } else if says(
        heading,
        &[
            "command",
            "commands",
            "subcommand",
            "subcommands",
            "functions",
        ],
    ) {
        SectionKind::Commands
    } else if says(
        heading,
        &[
            "arguments",
            "args",
            "positional",
            "positionals",
            "parameters",
            "operands",
        ],
    ) {
        SectionKind::Arguments
    } else if says(heading, &["description"]) {
        SectionKind::About
    } else if says(
        heading,
        &[
            "example",
            "examples",
            "environment",
            "also",
            "topics",
            "status",
            "notes",
            "note",
            "aliases",
            "more",
            "report",
            "bugs",
            "author",
            "authors",
            "version",
            "codes",
            "valid",
        ],
    ) {
        SectionKind::Other
    } else {
        SectionKind::Options
    }
}

/// Whether a heading holds one of these words.
pub(super) fn says(heading: &str, words: &[&str]) -> bool {
    let heading = heading.to_ascii_lowercase();
    let mut all = heading.split(|it: char| !it.is_ascii_alphabetic());
    all.any(|it| words.contains(&it))
}

/// Whether a line is names alone: divided by commas, or in several columns.
pub(super) fn is_list(line: &str) -> bool {
    let is_name = |it: &str| {
        let mut letters = it.chars();
        letters
            .next()
            .is_some_and(|it| it.is_ascii_alphanumeric() || it == '[')
            && letters.all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.' | '['))
    };
    if line.contains(", ") || line.ends_with(',') {
        let mut names = line.split(',').map(str::trim).filter(|it| !it.is_empty());
        return line.contains(',') && names.all(is_name);
    }
    // One name by itself is a row without text, and two may be a name and a word about it.
    let columns: Vec<&str> = line
        .split("  ")
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect();
    columns.len() >= 3 && columns.iter().all(|it| is_name(it))
}

/// Whether the left column of a row begins with a name.
pub(super) fn begins_with_a_name(left: &str) -> bool {
    let word = left.split([' ', ',']).next().unwrap_or_default();
    let word = word.trim_end_matches(['*', ':']);
    word.starts_with(|it: char| it.is_ascii_alphanumeric())
        && word
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.'))
}
