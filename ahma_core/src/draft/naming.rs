//! Names of tools, subcommands and arguments, made from words of a help text so that a tool file may have them.

use crate::config::{MAX_NAME_LENGTH, META_PARAMETERS};

/// The name of a tool for a program, by its file name, and its subcommand.
pub(crate) fn tool_name(
    program: &str,
    command: &[String],
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let file = program.rsplit('/').next().unwrap_or(program);
    let words = std::iter::once(file).chain(command.iter().map(String::as_str));
    let joined: Vec<String> = words.map(|it| letters(it, &['-'])).collect();
    let name = beginning_with_a_letter(joined.join("_"), "run-");
    let name: String = name.chars().take(MAX_NAME_LENGTH).collect();
    match is_taken(&name) {
        true => format!("{name}-program"),
        false => name,
    }
}

/// The name of a subcommand; none when no tool file can say it.
pub(super) fn subcommand_name(word: &str) -> Option<String> {
    let is_name = word.starts_with(|it: char| it.is_ascii_alphabetic())
        && word
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || it == '-')
        && word != "default"
        && word.len() <= MAX_NAME_LENGTH;
    is_name.then(|| word.to_owned())
}

/// A name for an argument that none of the others has.
pub(super) fn argument_name(word: &str, taken: &[String]) -> String {
    let plain = letters(word, &['-', '_', '.']);
    let plain = plain.trim_matches(['-', '_', '.']);
    let plain = match plain.is_empty() {
        true => "value",
        false => plain,
    };
    let plain: String = plain.chars().take(MAX_NAME_LENGTH - 12).collect();
    let is_free =
        |it: &str| !taken.iter().any(|taken| taken == it) && !META_PARAMETERS.contains(&it);
    if is_free(&plain) {
        return plain;
    }
    let second = format!("{plain}_argument");
    if is_free(&second) {
        return second;
    }
    let mut numbered = (2..).map(|number| format!("{plain}_{number}"));
    numbered.find(|it| is_free(it)).unwrap_or(plain)
}

/// Letters and digits, and these; one dash for everything else.
fn letters(word: &str, also: &[char]) -> String {
    let mut name = String::new();
    for letter in word.chars() {
        if letter.is_ascii_alphanumeric() || also.contains(&letter) {
            name.push(letter);
        } else if !name.ends_with(['-', '_']) && !name.is_empty() {
            name.push(if also.contains(&'_') { '_' } else { '-' });
        }
    }
    name.trim_end_matches(['-', '_']).to_owned()
}

fn beginning_with_a_letter(name: String, prefix: &str) -> String {
    match name.starts_with(|it: char| it.is_ascii_alphabetic()) {
        true => name,
        false => format!("{prefix}{}", name.trim_start_matches(['-', '_'])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ones_that_tool_files_may_have() {
        let name = |program: &str, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
            tool_name(program, &words, |it| it == "status")
        };
        assert_eq!(name("./bin/demo.py", &[]), "demo-py");
        assert_eq!(name("gh", &["pr", "list"]), "gh_pr_list");
        assert_eq!(name("7z", &[]), "run-7z");
        assert_eq!(name("[", &[]), "run-");
        assert_eq!(name("status", &[]), "status-program");
        let taken = ["file".to_owned(), "file_argument".to_owned()];
        assert_eq!(argument_name("FILE.x", &[]), "FILE.x");
        assert_eq!(argument_name("file", &taken[..1]), "file_argument");
        assert_eq!(argument_name("file", &taken), "file_2");
        assert_eq!(
            argument_name("working_directory", &[]),
            "working_directory_argument"
        );
        assert_eq!(argument_name("<...>", &[]), "value");
        assert_eq!(subcommand_name("a_b"), None);
        assert_eq!(subcommand_name("a-b").as_deref(), Some("a-b"));
    }
}
