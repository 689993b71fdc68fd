//! The names in a line of output that a complaint in it may be about.
//!
//! Knows how programs write names: in quotes, before the message, behind it, in brackets, with spaces. Must not know which
//! of them are refused.

use super::phrases::{Class, Found};
use super::script::looks_like_path;

/// How many names of a line are looked at.
const MAX_NAMES: usize = 24;
/// How many quotes of a text are tried, and how far apart two may be, in bytes.
const MAX_QUOTES: usize = 200;
const MAX_QUOTED: usize = 1024;
/// What is looked at of a line, in bytes.
pub(super) const MAX_LINE: usize = 4096;

/// Opening quotes with the closing ones.
const QUOTES: [(char, char); 9] = [
    ('»', '«'),
    ('„', '“'),
    ('\'', '\''),
    ('"', '"'),
    ('`', '`'),
    ('`', '\''),
    ('‘', '’'),
    ('“', '”'),
    ('«', '»'),
];

/// The names in a line, those first that are most likely meant. `known` tells whether a name stands in the command.
pub(super) fn names(line: &str, found: &[Found], known: impl Fn(&str) -> bool) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        let name = name
            .trim()
            .trim_matches(['\u{a0}', '\u{202f}'])
            .trim_end_matches(['\\', ',']);
        if !name.is_empty()
            && names.len() < MAX_NAMES
            && !is_place_in_code(name)
            && !names.iter().any(|it| it == name)
        {
            names.push(name.to_owned());
        }
    };
    // Where a program looked is not what it missed.
    let lists = ["@INC contains", "searched in", "search path:", "searched:"];
    let end = lists
        .iter()
        .filter_map(|it| line.find(it))
        .min()
        .unwrap_or(line.len());
    let line = &line[..end];
    let found: Vec<Found> = found.iter().copied().filter(|it| it.end <= end).collect();
    // What could not be made or moved is the second of two.
    if let Some((_, target)) = line.split_once(" -> ") {
        quoted(target).into_iter().take(1).for_each(&mut add);
    }
    for name in quoted(line) {
        add(name);
    }
    for at in path_starts(line) {
        for name in extents(line, at, &found, &known) {
            add(name);
        }
    }
    // Who says only that something is wrong says little about what.
    let is_clear = |found: &&Found| found.class != Class::Trouble;
    let clear: Vec<&Found> = found.iter().filter(is_clear).collect();
    for found in if clear.is_empty() {
        found.iter().collect()
    } else {
        clear
    } {
        for name in beside(line, *found) {
            add(name);
        }
    }
    names
}

/// What stands in quotes.
pub(super) fn quoted(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut tried = 0;
    while let Some(letter) = line[from..].chars().next() {
        let at = from;
        from += letter.len_utf8();
        let before = line[..at].chars().next_back();
        // The apostrophe of "can't" opens nothing.
        if before.is_some_and(char::is_alphanumeric) {
            continue;
        }
        if !QUOTES.iter().any(|(open, _)| *open == letter) {
            continue;
        }
        tried += 1;
        if tried > MAX_QUOTES {
            break;
        }
        let closing = QUOTES
            .iter()
            .filter(|(open, _)| *open == letter)
            .filter_map(|(_, close)| {
                let inside =
                    &line[from..line.floor_char_boundary((from + MAX_QUOTED).min(line.len()))];
                let ends = inside.match_indices(*close).map(|(end, _)| end);
                let mut ends = ends.filter(|end| {
                    let after = inside[end + close.len_utf8()..].chars().next();
                    *end > 0 && !after.is_some_and(char::is_alphanumeric)
                });
                ends.next().map(|end| &inside[..end])
            });
        if let Some(inside) = closing.min_by_key(|inside| inside.len()) {
            found.push(inside);
            if found.len() > MAX_NAMES {
                break;
            }
        }
    }
    found
}

/// Where unquoted paths begin.
fn path_starts(line: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        let is_border = before.is_whitespace() || "'\"`(=[<«‘“,@".contains(before);
        if is_border && looks_like_path(&line[at..]) && !line[at..].starts_with("//") {
            starts.push(at);
        }
        before = letter;
        if starts.len() > MAX_NAMES {
            break;
        }
    }
    starts
}

/// How far a path may reach that begins somewhere: to the end of its word, or with spaces to the next part of the message.
fn extents<'l>(
    line: &'l str,
    start: usize,
    found: &[Found],
    known: impl Fn(&str) -> bool,
) -> Vec<&'l str> {
    let rest = &line[start..];
    let message = found
        .iter()
        .map(|it| it.start)
        .filter(|at| *at > start)
        .min();
    let limit = message.map_or(rest.len(), |at| at - start);
    let ends = [
        ": ", " : ", " (", " -> ", ", ", "; ", "\"", "' ", "’", "”", " »", "`",
    ];
    let end = ends
        .iter()
        .filter_map(|end| rest[..limit].find(end))
        .min()
        .unwrap_or(limit);
    let long = rest[..end]
        .trim_end()
        .trim_end_matches([':', '.', ',', ')', '\'']);
    let word_end =
        rest.find(|letter: char| letter.is_whitespace() || "\"'`),;<>«»‘’“”".contains(letter));
    let short =
        rest[..word_end.unwrap_or(rest.len())].trim_end_matches([':', '.', ',', '?', ']', '}']);
    if is_place_in_code(short) {
        return Vec::new();
    }
    // The longest beginning that the command names.
    let spaces = rest[..limit]
        .match_indices(' ')
        .take(12)
        .map(|(at, _)| &rest[..at]);
    let named = spaces
        .filter(|it| it.contains(' '))
        .map(|it| it.trim_end_matches([':', ',', '.']))
        .filter(|it| known(it))
        .last();
    if let Some(named) = named.filter(|it| it.len() > short.len() && !known(long)) {
        return vec![named, short];
    }
    // In the way of "program: name: message" the name is all that stands there.
    let is_name =
        message.is_some() && rest[end..limit].trim_end_matches(' ') == ":" && looks_like_file(long);
    if long.contains(' ') && (known(long) || is_name) {
        vec![long, short]
    } else {
        vec![short, long]
    }
}

/// Whether a name is that of a line in a program's own code: `../crypto/bss_file.c:67:calling`.
fn is_place_in_code(name: &str) -> bool {
    let mut parts = name.split(':').skip(1);
    parts
        .next()
        .is_some_and(|part| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit()))
}

/// Whether what has spaces in it ends like the name of a file.
fn looks_like_file(name: &str) -> bool {
    let last = name.rsplit(' ').next().unwrap_or("");
    last.contains(['/', '.'])
}

/// What stands beside a phrase, whether or not it looks like a path.
fn beside(line: &str, found: Found) -> Vec<&str> {
    let before = line[..found.start]
        .trim_end()
        .trim_end_matches([':', '-', '(', '[', ','])
        .trim_end();
    let segment = before.rsplit(": ").next().unwrap_or(before).trim();
    let last = segment
        .rsplit([' ', '(', '/', '\''])
        .next()
        .filter(|_| segment.contains(' '))
        .unwrap_or(segment);
    let last = if segment.contains('/') {
        segment.rsplit(' ').next().unwrap_or(segment)
    } else {
        last
    };
    let after = line[found.end..]
        .trim_start_matches(|letter: char| letter.is_whitespace() || ":-@,)'\"`".contains(letter));
    let behind = after.rsplit(" - ").next().unwrap_or(after);
    let behind = behind.split(" (").next().unwrap_or(behind);
    let next = after.split_whitespace().next().unwrap_or("");
    // "tar: name: Cannot open: message" has the name further away.
    let further = before
        .rsplit(": ")
        .skip(1)
        .take(4)
        .filter(|it| !it.trim().contains(' '));
    let all = [segment, last, behind, next]
        .into_iter()
        .chain(further)
        .map(|it| it.trim_matches(['\'', '"', '`', '‘', '’', ' ']));
    all.filter(|it| !it.starts_with(['(', '['])).collect()
}

#[cfg(test)]
mod tests {
    use super::super::phrases::phrases;
    use super::*;

    fn first_path(line: &str) -> String {
        let found = phrases(&line.to_lowercase());
        let names = names(line, &found, |_| false);
        names
            .into_iter()
            .find(|name| looks_like_path(name))
            .unwrap_or_default()
    }

    #[test]
    fn a_path_is_found_however_a_program_writes_it() {
        for (line, path) in [
            ("cat: /srv/x: No such file or directory", "/srv/x"),
            (
                "cat: /srv/a b/c d.txt: No such file or directory",
                "/srv/a b/c d.txt",
            ),
            (
                "head: cannot open '/srv/a b' for reading: No such file or directory",
                "/srv/a b",
            ),
            (
                "mkdir: cannot create directory ‘/srv/x’: Read-only file system",
                "/srv/x",
            ),
            (
                "FileNotFoundError: [Errno 2] No such file or directory: '/srv/x'",
                "/srv/x",
            ),
            (
                "Error: ENOENT: no such file or directory, open '/srv/x'",
                "/srv/x",
            ),
            (
                "-e:1:in `read': No such file or directory @ rb_sysopen - /srv/x (Errno::ENOENT)",
                "/srv/x",
            ),
            (
                "Warning: file_get_contents(/srv/x): Failed to open stream: No such file",
                "/srv/x",
            ),
            (
                "Can't open /srv/x: No such file or directory at -e line 1.",
                "/srv/x",
            ),
            (
                "make: *** /srv/x: No such file or directory.  Stop.",
                "/srv/x",
            ),
            (
                "sed: /srv/x kann nicht gelesen werden: Datei oder Verzeichnis nicht gefunden",
                "/srv/x",
            ),
            (
                "iconv: cannot open input file `/srv/x': No such file or directory",
                "/srv/x",
            ),
            (
                "{\"error\": \"[Errno 2] No such file or directory: '/srv/x'\"}",
                "/srv/x",
            ),
        ] {
            assert_eq!(first_path(line), path, "{line}");
        }
    }
}
