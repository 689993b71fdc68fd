//! What a program wrote for a terminal, as plain lines: without colours, letters typed twice, and tabs. Must not judge what it says.

/// Lines beyond this are not looked at.
const MAX_LINES: usize = 20_000;
/// Where tabs lead to.
const TAB: usize = 8;

/// The lines of a text, in plain letters.
pub(super) fn lines(text: &str) -> Vec<String> {
    text.lines().take(MAX_LINES).map(plain).collect()
}

fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut column = 0;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => skip_sequence(&mut letters),
            // A letter over another one: bold or underlined, on paper.
            '\u{8}' => {
                column -= usize::from(plain.pop().is_some());
            }
            '\t' => {
                let width = TAB - column % TAB;
                plain.extend(std::iter::repeat_n(' ', width));
                column += width;
            }
            letter if letter.is_control() => {}
            '\u{a0}' => {
                plain.push(' ');
                column += 1;
            }
            letter => {
                plain.push(letter);
                column += 1;
            }
        }
    }
    plain.truncate(plain.trim_end().len());
    plain
}

/// What steers a terminal, up to its last letter.
fn skip_sequence(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match letters.next() {
        Some('[') => {
            letters.find(|it| ('@'..='~').contains(it));
        }
        Some(']') => {
            letters.find(|it| matches!(it, '\u{7}' | '\\'));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_not_text() {
        let text = "\u{1b}[1mUsage:\u{1b}[0m x\r\nB\u{8}Bo\u{8}ol\u{8}ld\u{8}d\n\t-a\tall\n\u{1b}]8;;u\u{7}link";
        assert_eq!(
            lines(text),
            ["Usage: x", "Bold", "        -a      all", "link"]
        );
    }
}
