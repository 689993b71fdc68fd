//! Shell text as words and operators.
//!
//! Removes quotes; marks what the shell would expand. Must not expand anything itself.

/// How much of a script is read.
const MAX_TOKENS: usize = 4000;

/// Stands before and after the name of a variable that the shell would expand.
pub(super) const VARIABLE: char = '\u{E000}';

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Word {
    /// Without quotes; variables are marked.
    pub(super) text: String,
    /// Whether any part of it was quoted.
    pub(super) quoted: bool,
    /// The scripts of its command substitutions.
    pub(super) nested: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    /// The end of a command; whether its output goes to the next.
    End {
        piped: bool,
    },
    /// A redirection to or from the next word; whether it writes.
    Redirect {
        writes: bool,
    },
    /// Text that the command before it reads.
    Input(String),
}

/// The tokens of a script.
pub(super) fn tokens(script: &str) -> Vec<Token> {
    Lexer {
        rest: script,
        tokens: Vec::new(),
        word: None,
        heredocs: Vec::new(),
    }
    .run()
}

struct Lexer<'s> {
    rest: &'s str,
    tokens: Vec<Token>,
    word: Option<Word>,
    /// Where the texts end that begin after this line.
    heredocs: Vec<String>,
}

impl<'s> Lexer<'s> {
    fn run(mut self) -> Vec<Token> {
        while let Some(letter) = self.next() {
            if self.tokens.len() > MAX_TOKENS {
                break;
            }
            match letter {
                '\'' => {
                    let quoted = self.until('\'');
                    self.push_quoted(quoted);
                }
                '"' => self.double_quoted(),
                '\\' => {
                    if let Some(escaped) = self.next().filter(|it| *it != '\n') {
                        self.push(escaped);
                    }
                }
                '$' => self.dollar(),
                '`' => {
                    let script = self.until('`').to_owned();
                    self.word().nested.push(script);
                }
                '#' if self.word.is_none() => {
                    self.until('\n');
                    self.end(false);
                }
                '\n' => {
                    self.end(false);
                    self.read_heredocs();
                }
                '&' if self.rest.starts_with('>') => self.finish_word(),
                ' ' | '\t' | '\r' => self.finish_word(),
                ';' | '(' | ')' | '&' => self.end(false),
                '|' => {
                    let is_or = self.rest.starts_with('|');
                    self.end(!is_or);
                }
                '<' | '>' => self.redirect(letter),
                letter => self.push(letter),
            }
        }
        self.end(false);
        self.tokens
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(letter)
    }

    /// What is left before a letter, or all; the letter is passed.
    fn until(&mut self, end: char) -> &'s str {
        let (before, after) = self.rest.split_once(end).unwrap_or((self.rest, ""));
        self.rest = after;
        before
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn push(&mut self, letter: char) {
        self.word().text.push(letter);
    }

    fn push_quoted(&mut self, text: &str) {
        let word = self.word();
        word.text.push_str(text);
        word.quoted = true;
    }

    fn finish_word(&mut self) {
        if let Some(word) = self.word.take() {
            self.tokens.push(Token::Word(word));
        }
    }

    fn end(&mut self, piped: bool) {
        self.finish_word();
        self.tokens.push(Token::End { piped });
    }

    fn double_quoted(&mut self) {
        self.push_quoted("");
        while let Some(letter) = self.next() {
            match letter {
                '"' => return,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(escaped) if "\"\\$`".contains(escaped) => self.push(escaped),
                    Some(other) => {
                        self.push('\\');
                        self.push(other);
                    }
                },
                '$' => self.dollar(),
                letter => self.push(letter),
            }
        }
    }

    /// What begins with a dollar sign.
    fn dollar(&mut self) {
        if self.rest.starts_with("((") {
            self.push('$');
        } else if let Some(rest) = self.rest.strip_prefix('(') {
            let length = substitution_length(rest);
            let (script, after) = rest.split_at(length);
            self.word().nested.push(script.to_owned());
            self.rest = after.strip_prefix(')').unwrap_or(after);
        } else if let Some(rest) = self.rest.strip_prefix('{') {
            self.rest = rest;
            let inside = self.until('}');
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let name = inside.split(|letter| !is_name(letter)).next().unwrap_or("");
            self.variable(name);
        } else if let Some(rest) = self
            .rest
            .strip_prefix('\'')
            .filter(|_| self.word.as_ref().is_none_or(|it| !it.quoted))
        {
            self.rest = rest;
            let quoted = self.until('\'').replace("\\n", "\n").replace("\\t", "\t");
            self.push_quoted(&quoted);
        } else {
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let first = self.rest.chars().next();
            let length = match first {
                Some(first) if first.is_ascii_digit() || "@*#?$!-".contains(first) => 1,
                _ => self
                    .rest
                    .find(|letter| !is_name(letter))
                    .unwrap_or(self.rest.len()),
            };
            let (name, after) = self.rest.split_at(length);
            self.rest = after;
            if name.is_empty() {
                self.push('$');
            } else {
                self.variable(name);
            }
        }
    }

    fn variable(&mut self, name: &str) {
        let word = self.word();
        word.text.push(VARIABLE);
        word.text.push_str(name);
        word.text.push(VARIABLE);
    }

    fn redirect(&mut self, letter: char) {
        // The number of a stream belongs to the redirection.
        let is_stream = self
            .word
            .as_ref()
            .is_some_and(|word| !word.quoted && word.text.bytes().all(|it| it.is_ascii_digit()));
        if is_stream {
            self.word = None;
        }
        self.finish_word();
        let rest = self.rest;
        if letter == '<' && rest.starts_with("<<") {
            self.rest = &rest[2..];
            return;
        }
        if letter == '<' && rest.starts_with('<') {
            self.rest = rest[1..].trim_start_matches('-');
            self.begin_heredoc();
            return;
        }
        if let Some(script) = rest.strip_prefix('(') {
            // A process in the place of a file.
            let length = substitution_length(script);
            let (script, after) = script.split_at(length);
            self.rest = after.strip_prefix(')').unwrap_or(after);
            self.word().nested.push(script.to_owned());
            return;
        }
        let operator = rest.trim_start_matches(['>', '|']);
        if let Some(after) = operator.strip_prefix('&') {
            // A copy of another stream, unless a name follows.
            let is_copy =
                after.starts_with(|letter: char| letter.is_ascii_digit() || letter == '-');
            self.rest = after;
            if is_copy {
                self.rest = after
                    .trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '-');
                return;
            }
        } else {
            self.rest = operator;
        }
        let writes = letter == '>' || rest.starts_with('>');
        self.tokens.push(Token::Redirect { writes });
    }

    fn begin_heredoc(&mut self) {
        let rest = self.rest.trim_start_matches([' ', '\t']);
        let length = rest
            .find([' ', '\t', '\n', ';', '|', '&', '>', ')'])
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(length);
        self.rest = after;
        self.heredocs.push(name.replace(['\'', '"', '\\'], ""));
    }

    fn read_heredocs(&mut self) {
        for name in std::mem::take(&mut self.heredocs) {
            let mut text = String::new();
            while !self.rest.is_empty() {
                let line = self.until('\n');
                if line.trim() == name {
                    break;
                }
                text.push_str(line);
                text.push('\n');
            }
            self.tokens.push(Token::Input(text));
        }
    }
}

/// How long the script of a substitution is, without the bracket that ends it.
fn substitution_length(text: &str) -> usize {
    let mut depth = 0;
    let mut quote = None;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => return at,
            (None, ')') => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(script: &str) -> Vec<String> {
        let words = tokens(script).into_iter().filter_map(|token| match token {
            Token::Word(word) => Some(word.text.replace(VARIABLE, "%")),
            _ => None,
        });
        words.collect()
    }

    #[test]
    fn quotes_are_removed_and_variables_marked() {
        assert_eq!(
            words(r#"cat 'a b' "c $D/e" f\ g ${X:-y}"#),
            ["cat", "a b", "c %D%/e", "f g", "%X%"]
        );
    }

    #[test]
    fn redirections_are_told_from_copies_of_streams() {
        let all = tokens("x 2>&1 >out 2> err <in");
        let redirections: Vec<bool> = all
            .iter()
            .filter_map(|token| match token {
                Token::Redirect { writes } => Some(*writes),
                _ => None,
            })
            .collect();
        assert_eq!(redirections, [true, true, false]);
        assert_eq!(words("x 2>&1 >out 2> err <in"), ["x", "out", "err", "in"]);
    }

    #[test]
    fn a_text_in_the_script_is_input_and_no_command() {
        let all = tokens("cat <<'EOF'\nrm /srv/x\nEOF\nls");
        assert!(all.contains(&Token::Input("rm /srv/x\n".into())));
        assert_eq!(words("cat <<EOF\nrm\nEOF\nls"), ["cat", "ls"]);
    }

    #[test]
    fn text_that_never_ends_its_quotes_is_read_to_its_end() {
        for script in [
            "'", "\"", "$(", "`", "<<", "$'", "${", "<<EOF", "\\", "cat <(",
        ] {
            tokens(script);
        }
    }
}
