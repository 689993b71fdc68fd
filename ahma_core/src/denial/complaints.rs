//! The complaints in what a command wrote: the lines that say that something went wrong, and what they name.
//!
//! Looks at the beginning and the end of long output. Must not judge.

use super::candidates::{MAX_LINE, names};
use super::data::Data;
use super::phrases::{Class, Found, phrases};
use super::script::Script;

/// How many lines are looked at from the beginning and from the end.
const FIRST_LINES: usize = 100;
const LAST_LINES: usize = 300;
/// How many complaints are looked at.
const MAX_COMPLAINTS: usize = 100;
/// How much is looked at at either end, in bytes.
const MAX_END: usize = 64 * 1024;

/// A line that complains.
#[derive(Debug)]
pub(super) struct Complaint {
    /// Its place among the lines that are looked at.
    pub(super) at: usize,
    pub(super) line: String,
    pub(super) found: Vec<Found>,
    /// What it names; or, if it names nothing, what the lines around it name.
    pub(super) names: Vec<String>,
    /// Whether the names are those of other lines.
    pub(super) names_are_near: bool,
}

impl Complaint {
    pub(super) fn says(&self, class: Class) -> bool {
        self.found.iter().any(|found| found.class == class)
    }

    /// Whether it says what went wrong, and not only that something did.
    pub(super) fn is_clear(&self) -> bool {
        self.found.iter().any(|found| found.class != Class::Trouble)
    }

    /// Who speaks: what stands before the first colon.
    pub(super) fn speaker(&self) -> &str {
        let word = self.line.trim_start().split(": ").next().unwrap_or("");
        let word = word.split([' ', '[']).next().unwrap_or(word);
        word.rsplit('/')
            .next()
            .unwrap_or(word)
            .trim_end_matches(':')
    }
}

/// What a command wrote, as far as it is looked at.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) lines: Vec<String>,
    pub(super) complaints: Vec<Complaint>,
}

impl Output {
    /// Reads what a command wrote.
    pub(super) fn read(output: &str, script: &Script) -> Self {
        let lines = ends(output);
        let data = Data::new(script, &lines);
        let mut complaints = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            // Lower case may be longer than the letters it comes from; then places do not agree.
            let lower = line.to_lowercase();
            let same = lower.len() == line.len();
            let found = phrases(if same { &lower } else { line });
            if found.is_empty() {
                continue;
            }
            if data.is_data(at, &lower, &found) {
                continue;
            }
            complaints.push(Complaint {
                at,
                line: line.clone(),
                found,
                names: Vec::new(),
                names_are_near: false,
            });
        }
        // The first tell most, and the last why the command ended.
        if complaints.len() > MAX_COMPLAINTS {
            let surplus = complaints.len() - MAX_COMPLAINTS;
            complaints.drain(MAX_COMPLAINTS / 2..MAX_COMPLAINTS / 2 + surplus);
        }
        let known = |name: &str| script.mentions.iter().any(|mention| mention.text == name);
        for complaint in &mut complaints {
            complaint.names = names(&complaint.line, &complaint.found, known);
            let is_path = |name: &String| name.contains(['/', '~']);
            if complaint.line.trim_end().ends_with(':') && !complaint.names.iter().any(is_path) {
                let next = lines.get(complaint.at + 1).map_or("", |line| line.trim());
                complaint
                    .names
                    .extend(Some(next.to_owned()).filter(is_path));
            }
            let is_alone = complaint
                .line
                .trim_start()
                .starts_with(|it: char| it.is_uppercase())
                || complaint.line.starts_with(' ');
            if !complaint.names.iter().any(is_path)
                && complaint.is_clear()
                && (is_alone || complaint.names.is_empty() || has_json(&complaint.line))
            {
                let near = names_around(&lines, complaint.at, known);
                if !near.is_empty() {
                    complaint.names.extend(near);
                    complaint.names_are_near = true;
                }
            }
        }
        Self { lines, complaints }
    }

    /// Whether any line holds a text.
    pub(super) fn holds(&self, text: &str) -> bool {
        self.lines.iter().any(|line| line.contains(text))
    }
}

/// The lines that are looked at.
fn ends(output: &str) -> Vec<String> {
    let first = &output[..output.floor_char_boundary(MAX_END)];
    let mut lines: Vec<&str> = first.lines().collect();
    if first.len() < output.len() || lines.len() > FIRST_LINES + LAST_LINES {
        lines.truncate(FIRST_LINES);
        let last = &output[output.ceil_char_boundary(output.len().saturating_sub(MAX_END))..];
        let last: Vec<&str> = last.lines().collect();
        let all = if first.len() < output.len() {
            last.len()
        } else {
            last.len().saturating_sub(FIRST_LINES)
        };
        lines.extend(&last[last.len() - all.min(LAST_LINES)..]);
    }
    let short = |line: &str| line[..line.floor_char_boundary(MAX_LINE)].to_owned();
    lines.into_iter().map(short).collect()
}

fn has_json(line: &str) -> bool {
    line.contains("\":") || line.contains("message: ") || line.contains("code: ")
}

/// Names in the lines around a complaint that has none: "Caused by" comes after what it was about.
fn names_around(lines: &[String], at: usize, known: impl Fn(&str) -> bool) -> Vec<String> {
    let before = lines[..at].iter().rev().take(5);
    let after = lines.iter().skip(at + 1).take(3);
    for line in before.chain(after) {
        // The frames of a traceback name code.
        let trimmed = line.trim_start();
        if trimmed.starts_with("File \"")
            || trimmed.starts_with("at ")
            || trimmed.is_empty()
            || trimmed.starts_with("from ")
        {
            continue;
        }
        let all = names(line, &[], &known);
        let paths: Vec<String> = all
            .into_iter()
            .filter(|name| name.contains('/') && !name.contains("://"))
            .collect();
        if !paths.is_empty() {
            return paths;
        }
    }
    Vec::new()
}
