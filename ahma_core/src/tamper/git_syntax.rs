//! The syntax of Git's configuration, read as Git reads it.
//!
//! Letter by letter, in the same order of decisions: a command may have written the file to be parsed
//! by Git and not by us. Where Git would refuse to read on, this stops: then Git runs nothing.

use std::iter::Peekable;
use std::str::Chars;

/// One setting: `section.subsection.key`, the middle part only where there is one, and its value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) section: String,
    pub(crate) subsection: Option<String>,
    pub(crate) key: String,
    pub(crate) value: String,
}

/// No file that is read has more: a value is compared whole, and what is shown of it is cut elsewhere, so that a command
/// cannot make the server hold more.
pub(super) const MAX_LEN: usize = 1 << 20;

/// Hands over every setting of a configuration, in order.
pub(crate) fn read(text: &str, mut take: impl FnMut(Setting)) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut letters = Letters(text.chars().peekable());
    let (mut section, mut subsection) = (String::new(), None);
    while let Some(letter) = letters.next() {
        match letter {
            '#' | ';' => letters.skip_line(),
            '[' => match header(&mut letters) {
                Some(header) => (section, subsection) = header,
                None => return,
            },
            letter if letter.is_ascii_alphabetic() => {
                let Some((key, value)) = setting(letter, &mut letters) else {
                    return;
                };
                take(Setting {
                    section: section.clone(),
                    subsection: subsection.clone(),
                    key,
                    value,
                });
            }
            letter if is_space(letter) => {}
            _ => return,
        }
    }
}

/// The letters of a text, every line end as one.
struct Letters<'t>(Peekable<Chars<'t>>);

impl Iterator for Letters<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self.0.next() {
            Some('\r') if self.0.peek() == Some(&'\n') => self.0.next(),
            letter => letter,
        }
    }
}

impl Letters<'_> {
    fn skip_line(&mut self) {
        for letter in self {
            if letter == '\n' {
                return;
            }
        }
    }

    /// The next letter; the end of the text is the end of a line.
    fn or_line_end(&mut self) -> char {
        self.next().unwrap_or('\n')
    }
}

/// What Git takes for white space.
fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r')
}

fn push(text: &mut String, letter: char) {
    if text.len() < MAX_LEN {
        text.push(letter);
    }
}

/// What is between the brackets: `section`, `section.subsection` or `section "subsection"`.
fn header(letters: &mut Letters<'_>) -> Option<(String, Option<String>)> {
    let mut name = String::new();
    loop {
        match letters.next()? {
            ']' => break,
            letter if is_space(letter) => {
                let subsection = quoted_part(letter, letters)?;
                return Some((name, Some(subsection)));
            }
            letter if letter.is_ascii_alphanumeric() || "-.".contains(letter) => {
                push(&mut name, letter.to_ascii_lowercase());
            }
            _ => return None,
        }
    }
    match name.split_once('.') {
        Some((section, subsection)) => Some((section.to_owned(), Some(subsection.to_owned()))),
        None => Some((name, None)),
    }
}

fn quoted_part(mut letter: char, letters: &mut Letters<'_>) -> Option<String> {
    while is_space(letter) {
        if letter == '\n' {
            return None;
        }
        letter = letters.next()?;
    }
    if letter != '"' {
        return None;
    }
    let mut subsection = String::new();
    loop {
        let letter = match letters.next()? {
            '\n' => return None,
            '"' => break,
            '\\' => letters.next().filter(|letter| *letter != '\n')?,
            letter => letter,
        };
        push(&mut subsection, letter);
    }
    (letters.next()? == ']').then_some(subsection)
}

/// A key that begins with this letter, and its value.
fn setting(first: char, letters: &mut Letters<'_>) -> Option<(String, String)> {
    let mut key = first.to_ascii_lowercase().to_string();
    let mut letter = letters.or_line_end();
    while letter.is_ascii_alphanumeric() || letter == '-' {
        push(&mut key, letter.to_ascii_lowercase());
        letter = letters.or_line_end();
    }
    while matches!(letter, ' ' | '\t') {
        letter = letters.or_line_end();
    }
    match letter {
        '\n' => Some((key, "true".to_owned())),
        '=' => Some((key, value(letters)?)),
        _ => None,
    }
}

fn value(letters: &mut Letters<'_>) -> Option<String> {
    let mut text = String::new();
    // White space at the end counts only inside quotes.
    let mut kept = 0;
    let mut is_quoted = false;
    loop {
        match letters.or_line_end() {
            '\n' if is_quoted => return None,
            '\n' => break,
            letter if is_space(letter) && !is_quoted => {
                if !text.is_empty() {
                    push(&mut text, letter);
                }
                continue;
            }
            '#' | ';' if !is_quoted => {
                letters.skip_line();
                break;
            }
            '\\' => match letters.or_line_end() {
                '\n' => {}
                't' => push(&mut text, '\t'),
                'n' => push(&mut text, '\n'),
                'b' => push(&mut text, '\u{8}'),
                letter @ ('\\' | '"') => push(&mut text, letter),
                _ => return None,
            },
            '"' => is_quoted = !is_quoted,
            letter => push(&mut text, letter),
        }
        kept = text.len();
    }
    text.truncate(kept);
    Some(text)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block and start git")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ours(text: &str) -> Vec<(String, String)> {
        let mut all = Vec::new();
        read(text, |setting| {
            let middle = setting.subsection.map(|name| format!(".{name}"));
            let middle = middle.unwrap_or_default();
            let name = format!("{}{middle}.{}", setting.section, setting.key);
            // Before the first header Git has no dot either.
            let name = name.strip_prefix('.').map(str::to_owned).unwrap_or(name);
            all.push((name, setting.value));
        });
        all
    }

    /// What Git itself finds; none when it refuses the file.
    fn gits(text: &str) -> Option<Vec<(String, String)>> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        std::fs::write(&file, text).unwrap();
        let git = std::process::Command::new("git")
            .args(["config", "--list", "--null", "--no-includes", "--file"])
            .arg(&file)
            .output()
            .unwrap();
        let listed = String::from_utf8(git.stdout).unwrap();
        let entries = listed.split_terminator('\0').map(|entry| {
            let (name, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            (name.to_owned(), value.to_owned())
        });
        git.status.success().then(|| entries.collect())
    }

    /// Whatever Git finds in a file that it accepts, we find too.
    fn agrees(text: &str) {
        if let Some(gits) = gits(text) {
            assert_eq!(ours(text), gits, "{text:?}");
        }
    }

    /// Proves: S37.
    #[test]
    fn git_finds_the_same_in_odd_configurations() {
        for text in [
            "[Core] Pager = \"less -R\"\n[filter \"x y\"]\n\tClean = c ; comment\n[alias]\n\tgo = !run\n",
            "[section.Sub] key = v\n[a.b.c]\nk\n",
            "[core]\n\tx = a\\\\\n\tfsmonitor = ./evil\n",
            "[core]\n\tx = 1 # c \\\n\tfsmonitor = ./evil\n",
            "[core] # c \\\n\tfsmonitor = ./evil\n",
            "[a] [core]\n\tfsmonitor = ./evil\n",
            "[a] [core] fsmonitor = ./evil\n",
            "[core]\n\tfsmonitor = ./evil\\b\\b\\btrue\n",
            "[core]\n\tfsmonitor = a\\\n  b \\\n\tc\n",
            "[core]\r\n\tfsmonitor = ./evil\r\n",
            "\u{feff}[core]\nfsmonitor = \" x \"  y  # z\n",
            "[a \"b\\\"c\\\\d]\"]\n k = \"# no comment\" ; comment\n",
            "[core]\n fsmonitor\n",
            "[core]\n fsmonitor = \n k = x\n",
            "[core]k=v\n[x]\n-k = v\n",
            "[core]\nk = \"a\nb\"\n",
            "[core]\nk = \\x\n",
            "[core]\nk # c\n",
            "[core\n]\nk = v\n",
            "[core]fsmonitor=./evil",
            "# c\n; d\n\n\n[a]\nk=v",
        ] {
            agrees(text);
        }
        assert!(gits("[core]\nk = \\x\n").is_none(), "Git refuses some");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

        /// Proves: S37.
        #[test]
        fn git_finds_the_same_in_rubbish(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("[core]"), Just("[a \"b\"]"), Just("[x.y]"), Just("k"), Just("fsmonitor"), Just("="),
                    Just(" "), Just("\t"), Just("\n"), Just("\\"), Just("\\\n"), Just("\""), Just("#"), Just(";"),
                    Just("v"), Just("\r\n"), Just("\r"), Just("-"), Just("\\b"), Just("\\n"), Just("["), Just("]"),
                ],
                0..24,
            )
        ) {
            agrees(&parts.concat());
        }
    }

    #[test]
    fn long_names_and_values_are_cut() {
        let text = format!(
            "[a \"{}\"]\n{}k = {}\n",
            "x".repeat(5000),
            "k".repeat(5000),
            "v".repeat(5000)
        );
        read(&text, |setting| {
            let lengths = [setting.subsection.unwrap(), setting.key, setting.value];
            assert!(lengths.iter().all(|text| text.len() <= MAX_LEN));
        });
    }
}
