//! Text that is data: what a command only printed, compared or raised itself.
//!
//! Old logs, assertions, diffs and made-up errors speak like refusals. Must not judge what is complained about.

use std::cell::RefCell;
use std::collections::HashMap;

use super::phrases::{Class, Found};
use super::script::{Script, Simple};

/// What is known of the text that a command may print.
pub(super) struct Data<'a> {
    script: &'a Script,
    /// The words of the command that it may print, in lower case.
    printed: String,
    /// Phrases, and whether they are among those words.
    seen: RefCell<HashMap<String, bool>>,
    lines: &'a [String],
    is_diff: bool,
    only_shows_text: bool,
}

/// Programs whose words are looked for, not printed.
const SEARCHING: [&str; 7] = ["grep", "egrep", "fgrep", "rg", "zgrep", "pgrep", "case"];

impl<'a> Data<'a> {
    pub(super) fn new(script: &'a Script, lines: &'a [String]) -> Self {
        let mut printed = String::new();
        for command in &script.commands {
            if SEARCHING.contains(&command.name()) {
                continue;
            }
            for word in command
                .words
                .iter()
                .chain(command.assignments.iter().map(|(_, value)| value))
            {
                printed.push_str(&word.to_lowercase());
                printed.push(' ');
            }
            printed.push_str(&command.input.to_lowercase());
            printed.push('\n');
        }
        let is_diff = lines
            .iter()
            .any(|line| line.starts_with("@@ ") || is_hunk(line));
        Self {
            script,
            printed,
            seen: RefCell::default(),
            lines,
            is_diff,
            only_shows_text: script.only_shows_text(),
        }
    }

    /// Whether a line, given in lower case too, is data.
    pub(super) fn is_data(&self, at: usize, lower: &str, found: &[Found]) -> bool {
        self.is_of_a_diff(at)
            || self.is_printed(lower, found)
            || self.is_compared(lower)
            || self.is_raised(at)
            || self.is_shown(at)
    }

    fn line(&self, at: usize) -> &str {
        self.lines.get(at).map_or("", String::as_str)
    }

    fn is_of_a_diff(&self, at: usize) -> bool {
        self.is_diff && self.line(at).starts_with(['+', '-', '<', '>'])
    }

    /// Whether the words of the complaint are words of the command.
    fn is_printed(&self, lower: &str, found: &[Found]) -> bool {
        let telling = found
            .iter()
            .filter(|found| !matches!(found.class, Class::Trouble | Class::NoCommand));
        let mut phrases = telling
            .filter_map(|found| lower.get(found.start..found.end))
            .filter(|phrase| phrase.len() > 4)
            .peekable();
        // What the kernel adds to the words of the command is not printed.
        if phrases.peek().is_some() && phrases.all(|phrase| self.prints(phrase)) {
            return true;
        }
        let line = lower.trim();
        // Who speaks may have been put before it; what is left must still complain.
        let behind_speaker = lower.split_once(": ").map_or("", |(_, rest)| rest);
        let complains = found
            .iter()
            .any(|found| found.start >= lower.len() - behind_speaker.len());
        let behind_speaker = behind_speaker.trim();
        line.len() > 12
            && (self.printed.contains(line)
                || (complains
                    && behind_speaker.len() > 20
                    && self.printed.contains(behind_speaker)))
    }

    /// Whether a phrase is among the words of the command.
    fn prints(&self, phrase: &str) -> bool {
        if let Some(known) = self.seen.borrow().get(phrase) {
            return *known;
        }
        let is_printed = self.printed.contains(phrase);
        self.seen.borrow_mut().insert(phrase.to_owned(), is_printed);
        is_printed
    }

    /// Whether it says that two things are not the same.
    fn is_compared(&self, lower: &str) -> bool {
        let compares = [
            " == ",
            " != ",
            " in '",
            " in \"",
            "expected:",
            "got \"",
            "got '",
            ", want ",
            "received:",
            "expected '",
            "assert_eq",
            " to equal ",
            "tobe(",
            "assert '",
            "assert \"",
        ];
        let sides = [
            "left:",
            "right:",
            "expected",
            "actual:",
            "received",
            "got:",
            "want:",
            "assert ",
            "assert_",
            "assertion `",
        ];
        let is_side = sides.iter().any(|it| lower.trim_start().starts_with(it));
        is_side || compares.iter().any(|it| lower.contains(it))
    }

    /// Whether the program raised it itself.
    fn is_raised(&self, at: usize) -> bool {
        let line = self.line(at);
        let trimmed = line.trim_start().trim_start_matches('>').trim_start();
        if trimmed.starts_with("raise ") || trimmed.starts_with("throw new ") {
            return true;
        }
        let mut near = self.lines[at.saturating_sub(8)..].iter().take(12);
        if near.any(|line| line.contains("unittest/mock.py")) {
            return true;
        }
        if self.is_raised_in_the_frame_above(at) {
            return true;
        }
        // An error that is made of what the kernel answered is the kernel's.
        if self.script.text.contains("strerror") || self.script.text.contains("get_errno") {
            return false;
        }
        // Every place where the command names the path is one that raises.
        let names = super::candidates::quoted(line).into_iter().chain(
            line.rsplit(" - ")
                .next()
                .map(|it| it.split(" (").next().unwrap_or(it)),
        );
        let mut paths = names.filter(|name| name.len() > 2 && !name.contains(' '));
        paths.any(|path| {
            let text = &self.script.text;
            let mut places = text.match_indices(path).peekable();
            places.peek().is_some()
                && places.all(|(at, _)| {
                    is_raise(&text[text.floor_char_boundary(at.saturating_sub(90))..at])
                })
        })
    }

    /// Whether a traceback shows, right above, that code which is not a library's raised it.
    fn is_raised_in_the_frame_above(&self, at: usize) -> bool {
        let above = self.lines[..at].iter().rev().take(4);
        let mut code = above.skip_while(|line| {
            line.trim().is_empty() || line.trim_matches([' ', '^', '~', '|']).is_empty()
        });
        let Some(source) = code.next() else {
            return false;
        };
        let frame = code.next().map_or("", String::as_str);
        let is_library = frame.contains("/lib/python")
            || frame.contains("<frozen")
            || frame.contains("site-packages");
        let source = source.trim_start().trim_start_matches('>').trim_start();
        source.starts_with("raise ")
            && !is_library
            && (frame.contains("File \"") || self.line(at).starts_with("E  "))
    }

    /// Whether it stands in a text that the command only shows.
    fn is_shown(&self, at: usize) -> bool {
        if !self.only_shows_text {
            return false;
        }
        let line = self.line(at).trim_start();
        // What the command names itself is what it is about; the beginning of the line may be cut off.
        let first = line.split(": ").next().unwrap_or(line);
        let is_named = |name: &str| {
            name.len() > 3
                && (line.contains(name)
                    || (at == 0 && first.contains('/') && name.ends_with(first)))
        };
        if self
            .script
            .mentions
            .iter()
            .any(|mention| is_named(&mention.text))
        {
            return false;
        }
        let speaker = line.split(':').next().unwrap_or("");
        let speaker = speaker.rsplit('/').next().unwrap_or(speaker);
        if matches!(speaker, "fatal" | "error") {
            return false;
        }
        let is_shell = matches!(speaker, "bash" | "sh" | "dash");
        // What names nothing is said of the program itself.
        let rest = line
            .get(speaker.len()..)
            .unwrap_or("")
            .trim_start_matches(':')
            .trim();
        let names_nothing = !rest.contains(": ") && !rest.contains(['/', '\'', '"', '‘']);
        let is_run = self.script.commands.iter().any(|it| it.name() == speaker);
        if names_nothing && is_run {
            return false;
        }
        let mut said = self
            .script
            .commands
            .iter()
            .filter(|it| is_shell || it.name() == speaker);
        // Who shows old complaints about one file complains itself about another.
        !said.any(|command| could_name(command, line, is_shell))
    }
}

/// Whether a command is given, or may find, what a line names; of its program only others speak.
fn could_name(command: &Simple, line: &str, by_other: bool) -> bool {
    let targets = command.redirections.iter().map(|it| &it.target);
    let mut words = command.words.iter().chain(targets);
    words.any(|word| {
        let searches = word.starts_with('-') && word.contains(['r', 'R']);
        let expands = word.contains(['*', '?', '$', '[']);
        searches
            || expands
            || ((by_other || word != command.name()) && line.contains(word.as_str()))
    })
}

/// `1,2c3` and the like.
fn is_hunk(line: &str) -> bool {
    let is_range =
        |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit() || it == b',');
    line.split_once(['a', 'c', 'd'])
        .is_some_and(|(from, to)| is_range(from) && is_range(to))
}

/// Whether the text before a name raises an error with it.
fn is_raise(before: &str) -> bool {
    let statement = before.rsplit([';', '\n']).next().unwrap_or(before);
    let raises = ["raise ", "throw ", "croak", "new Error("];
    let mut raised = raises.iter().filter_map(|it| statement.rfind(it));
    raised.any(|at| {
        let after = &statement[at..];
        // What follows the code of which this is the end is not raised.
        let opened = after.matches('(').count() > after.matches(')').count();
        opened || (!after.contains('(') && after.contains(','))
    })
}
