//! The left column of a table of options: `-n, --lines=NUM`, `--color[=WHEN]`, `--[no-]x`, `-t {a,b}`. Reads what stands there; must
//! not guess what it means.

/// The flags of one row, and their value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FlagSpec {
    /// The flags, as they stand there.
    pub(super) flags: Vec<SpelledFlag>,
    /// Whether a pair of flags is divided by a slash.
    pub(super) has_slash: bool,
}

/// A flag and the value behind it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SpelledFlag {
    /// With its dashes, without `[no-]`.
    pub(super) text: String,
    /// Whether it is written `--[no-]x`.
    pub(super) is_negatable: bool,
    /// Its value, as named there; several words for several values.
    pub(super) values: Vec<String>,
    /// Whether the value may be left out.
    pub(super) is_optional: bool,
    /// Whether the value stands in the same word, behind `=`.
    pub(super) is_joined: bool,
}

impl SpelledFlag {
    /// Whether it begins with two dashes.
    pub(super) fn is_long(&self) -> bool {
        self.text.starts_with("--")
    }

    /// The flag without dashes.
    pub(super) fn name(&self) -> &str {
        self.text.trim_start_matches('-')
    }
}

impl FlagSpec {
    /// The flag that is offered: the first with two dashes, else the first.
    pub(super) fn main(&self) -> Option<&SpelledFlag> {
        let long = self
            .flags
            .iter()
            .find(|it| it.is_long() && !it.text.starts_with("--no-"));
        let long = long.or_else(|| self.flags.iter().find(|it| it.is_long()));
        long.or_else(|| self.flags.first())
    }

    /// The flag whose value is known, of which there is one for all: the offered one, else another.
    pub(super) fn with_value(&self) -> Option<&SpelledFlag> {
        let own = self.main().filter(|it| !it.values.is_empty());
        own.or_else(|| self.flags.iter().find(|it| !it.values.is_empty()))
    }

    /// Whether one of its flags is this one.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|it| it.text == flag)
    }
}

/// Reads a row that begins with a flag: the flags, and what stands behind them.
pub(super) fn parse(row: &str) -> Option<(FlagSpec, String)> {
    let mut reader = Reader { rest: row.trim() };
    let mut spec = FlagSpec::default();
    loop {
        let flag = reader.flag()?;
        spec.flags.push(flag);
        match reader.separator() {
            Separator::Another => {}
            Separator::Slash => spec.has_slash = true,
            Separator::End => break,
        }
    }
    // Flags in a row are a list of flags, not several names of one.
    let is_list = reader
        .rest
        .strip_prefix(" -")
        .is_some_and(|it| !it.starts_with(' '));
    let text = reader.rest.trim().trim_start_matches([':', '-']).trim();
    (!is_list).then(|| (spec, text.to_owned()))
}

enum Separator {
    Another,
    Slash,
    End,
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn flag(&mut self) -> Option<SpelledFlag> {
        let (dashes, after) = match self.rest.strip_prefix("--") {
            Some(after) => ("--", after),
            None => ("-", self.rest.strip_prefix('-')?),
        };
        let (is_negatable, after) = match after.strip_prefix("[no-]") {
            Some(after) => (true, after),
            None => (false, after),
        };
        let end = after
            .find(|it: char| !it.is_ascii_alphanumeric() && !matches!(it, '-' | '_' | '.'))
            .unwrap_or(after.len());
        // Dots are part of a name only between letters.
        let name = after.get(..end)?;
        let name = name.split("..").next()?.trim_end_matches(['.', '-']);
        if !name.starts_with(|it: char| it.is_ascii_alphanumeric()) {
            return None;
        }
        self.rest = &after[name.len()..];
        let mut flag = SpelledFlag {
            text: format!("{dashes}{name}"),
            is_negatable,
            ..SpelledFlag::default()
        };
        self.values(&mut flag);
        Some(flag)
    }

    /// The value behind a flag, if there is one.
    fn values(&mut self, flag: &mut SpelledFlag) {
        if self.rest.starts_with("...") {
            self.rest = self.rest.trim_start_matches('.');
            return;
        }
        if let Some(after) = self.rest.strip_prefix('=') {
            let (word, rest) = word(after);
            flag.is_joined = true;
            flag.values = vec![word.to_owned()];
            self.rest = rest;
            return;
        }
        if self.rest.starts_with('[') {
            let (group, rest) = word(self.rest);
            let inner = group.trim_start_matches('[').trim_end_matches(['.', ']']);
            flag.is_joined = inner.starts_with('=');
            flag.is_optional = true;
            flag.values = vec![inner.trim_start_matches('=').to_owned()];
            self.rest = rest;
            return;
        }
        if self.rest.starts_with('<') {
            let (group, rest) = word(self.rest);
            flag.values = vec![group.to_owned()];
            self.rest = rest;
            return;
        }
        let column_ends = self.rest.find("  ").or(self.rest.find(" : "));
        while let Some(after) = self.rest.strip_prefix(' ') {
            if !self.takes(after, column_ends.is_some(), flag.values.len()) {
                return;
            }
            let (word, rest) = word(after);
            if word.starts_with('[') && flag.values.is_empty() {
                flag.is_optional = true;
            }
            flag.values.push(word.to_owned());
            self.rest = rest;
        }
    }

    /// Whether the next word is a value, and not the beginning of the text.
    fn takes(&self, after: &str, has_column: bool, already: usize) -> bool {
        let Some(first) = after.chars().next() else {
            return false;
        };
        let (next, rest) = word(after);
        if matches!(first, ' ' | '-' | '|' | '/' | ':' | ',') || next == "or" {
            return false;
        }
        let bare = next.trim_end_matches('.');
        let is_marked = matches!(first, '<' | '[' | '{' | '(');
        let is_capital = bare.chars().any(|it| it.is_ascii_uppercase())
            && !bare.chars().any(|it| it.is_ascii_lowercase());
        if has_column {
            return true;
        }
        // Without a second column it could be the beginning of a sentence.
        is_marked || is_capital || (already == 0 && (rest.is_empty() || rest.starts_with(',')))
    }

    fn separator(&mut self) -> Separator {
        let trimmed = self.rest.trim_start();
        let gap = self.rest.len() - trimmed.len();
        let starts_flag = |it: &str| {
            let name = it.trim_start_matches('-').trim_start_matches("[no-]");
            let dashes = it.len() - it.trim_start_matches('-').len();
            (1..=2).contains(&dashes) && name.starts_with(|it: char| it.is_ascii_alphanumeric())
        };
        for (mark, is_slash) in [(",", false), ("|", false), ("/", true), ("or ", false)] {
            if let Some(after) = trimmed.strip_prefix(mark) {
                let after = after.trim_start();
                if starts_flag(after) {
                    self.rest = after;
                    return match is_slash {
                        true => Separator::Slash,
                        false => Separator::Another,
                    };
                }
            }
        }
        // `-v      --verbose   text`, or `-v --verbose   text`
        if gap >= 1 && trimmed.starts_with("--") && starts_flag(trimmed) {
            self.rest = trimmed;
            return Separator::Another;
        }
        Separator::End
    }
}

/// A word, brackets in it closed, and what stands behind it.
pub(super) fn word(text: &str) -> (&str, &str) {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '[' | '<' | '{' | '(' => depth += 1,
            ']' | '>' | '}' | ')' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => return text.split_at(at),
            ',' if depth == 0 && matches!(text.as_bytes().get(at + 1), None | Some(b' ')) => {
                return text.split_at(at);
            }
            // A bracket that nobody closes.
            ' ' if text[at..].starts_with("   ") => return text.split_at(at),
            _ => {}
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(row: &str) -> String {
        let Some((spec, text)) = parse(row) else {
            return "none".to_owned();
        };
        let flags: Vec<String> = spec
            .flags
            .iter()
            .map(|it| {
                let negated = if it.is_negatable { "!" } else { "" };
                let joined = if it.is_joined { "=" } else { " " };
                let optional = if it.is_optional { "?" } else { "" };
                let values = it.values.join("+");
                match values.is_empty() {
                    true => format!("{}{negated}", it.text),
                    false => format!("{}{negated}{joined}{values}{optional}", it.text),
                }
            })
            .collect();
        format!("{} / {text}", flags.join(" & "))
    }

    #[test]
    fn rows_are_read_as_each_style_writes_them() {
        for (row, expected) in [
            ("-a, --all   all of it", "-a & --all / all of it"),
            (
                "    --block-size=SIZE      scale",
                "--block-size=SIZE / scale",
            ),
            ("--color[=WHEN]   color it", "--color=WHEN? / color it"),
            ("-j [N], --jobs[=N]   N jobs", "-j N]? & --jobs=N? / N jobs"),
            ("-C DIR, --directory=DIR", "-C DIR & --directory=DIR / "),
            ("-j, --jobs <N>    jobs", "-j & --jobs <N> / jobs"),
            (
                "-u, --user <user:password> Server user",
                "-u & --user <user:password> / Server user",
            ),
            (
                "--synchronous synchronous output (safer)",
                "--synchronous / synchronous output (safer)",
            ),
            (
                "-v, --[no-]verbose    be verbose",
                "-v & --verbose! / be verbose",
            ),
            ("--level {a,b}  level", "--level {a,b} / level"),
            ("--pair A B  two", "--pair A+B / two"),
            ("-c cmd : program", "-c cmd / program"),
            ("-b     : issue", "-b / issue"),
            ("--shout / --no-shout   loud", "--shout & --no-shout / loud"),
            ("-S|--save", "-S & --save / "),
            ("--verbose...  more", "--verbose / more"),
            ("-in infile            request", "-in infile / request"),
            (
                "--conditions=... additional",
                "--conditions=... / additional",
            ),
            ("-daystart -follow -nowarn", "none"),
            ("-", "none"),
            ("--   the end", "none"),
            ("-?   help", "none"),
        ] {
            let expected = expected.replace("N]?", "[N]?");
            assert_eq!(shown(row), expected, "{row}");
        }
    }
}
