//! Faults of tool files: where, what, and what to do about it.
//!
//! While a file is files, faults are collected by JSON pointer only, which is cheap when there are
//! none. [`locate`](super::text::locate) adds line and column afterwards. Nothing here decides
//! whether something *is* a fault.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Severity {
    /// The file is not served.
    #[default]
    Error,
    /// The file is served; its author most likely meant something else.
    Warning,
}

/// One thing that is wrong with a tool file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// How bad it is.
    pub severity: Severity,
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// The bytes of the text the fault is about.
    pub span: Range<usize>,
    /// RFC 6901 pointer to the value; empty for the whole document.
    pub pointer: String,
    /// What is wrong, as a lower-case fragment.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Reporting more than this many faults of one file helps nobody.
pub(super) const MAX_FAULTS_PER_FILE: usize = 100;

/// A position inside the document that is being checked: a linked list on the stack, so that walking
/// a faultless file allocates nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonLocation<'p> {
    parent: Option<&'p JsonLocation<'p>>,
    step: Step<'p>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'p> {
    Root,
    Key(&'p str),
    Index(usize),
}

impl<'p> JsonLocation<'p> {
    pub(super) const ROOT: JsonLocation<'static> = JsonLocation {
        parent: None,
        step: Step::Root,
    };

    pub(super) fn key(&'p self, key: &'p str) -> JsonLocation<'p> {
        JsonLocation {
            parent: Some(self),
            step: Step::Key(key),
        }
    }

    pub(super) fn index(&'p self, index: usize) -> JsonLocation<'p> {
        JsonLocation {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    /// The RFC 6901 pointer of this place.
    pub(super) fn pointer(&self) -> String {
        let mut pointer = self.parent.map(JsonLocation::pointer).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Key(key) => {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            Step::Index(index) => {
                let _ = write!(pointer, "/{index}");
            }
        }
        pointer
    }
}

/// Which part of a member the fault is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// The value at the pointer.
    Value,
    /// The key that leads to the value: an unknown or repeated field.
    Key,
}

/// A fault before its line and column are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacedFault {
    pub(super) severity: Severity,
    pub(super) pointer: String,
    pub(super) mark: Mark,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl PlacedFault {
    pub(super) fn at(
        pointer: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) -> Self {
        PlacedFault {
            severity: Severity::Error,
            pointer: pointer.into(),
            mark: Mark::Value,
            message: printable(&message.into()),
            hint: hint.into().map(|hint| printable(&hint)),
        }
    }
}

/// Text of a file that goes into a message must not steer the terminal it is printed on.
fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            printable.extend(letter.escape_unicode());
        } else {
            printable.push(letter);
        }
    }
    printable
}

/// Faults of one file, and how many more there are than are kept.
#[derive(Debug, Default)]
pub(super) struct FaultList {
    pub(super) faults: Vec<PlacedFault>,
    pub(super) left_out: usize,
}

impl FaultList {
    /// Adds faults, up to the number that is kept.
    pub(super) fn extend(&mut self, more: impl IntoIterator<Item = PlacedFault>) {
        for fault in more {
            if self.faults.len() < MAX_FAULTS_PER_FILE {
                self.faults.push(fault);
            } else {
                self.left_out += 1;
            }
        }
    }

    /// Adds what another list has.
    pub(super) fn merge(&mut self, other: FaultList) {
        self.left_out += other.left_out;
        self.extend(other.faults);
    }

    /// Whether nothing keeps the file from being served.
    pub(super) fn is_empty(&self) -> bool {
        let is_error = |it: &PlacedFault| it.severity == Severity::Error;
        self.left_out == 0 && !self.faults.iter().any(is_error)
    }

    /// Takes out what does not keep the file from being served.
    pub(super) fn take_warnings(&mut self) -> FaultList {
        let is_warning = |it: &mut PlacedFault| it.severity == Severity::Warning;
        FaultList {
            faults: self.faults.extract_if(.., is_warning).collect(),
            left_out: 0,
        }
    }
}

/// Collects the faults of one file. Shared by reference while the file is walked.
#[derive(Debug, Default)]
pub(super) struct Faults {
    list: RefCell<Vec<PlacedFault>>,
    left_out: Cell<usize>,
    /// Objects, by pointer, with the field that was most likely meant by a misspelt one.
    misspelt: RefCell<HashSet<(String, String)>>,
    /// Whether messages must not repeat values: some of them are secrets.
    hides_values: bool,
    /// Regular expressions of the file so far.
    patterns: Cell<usize>,
}

impl Faults {
    /// For a file with secrets: messages say what kind of value stands somewhere, never which.
    pub(super) fn hiding_values() -> Self {
        Faults {
            hides_values: true,
            ..Faults::default()
        }
    }

    pub(super) fn hides_values(&self) -> bool {
        self.hides_values
    }

    /// Remembers that the object at `place` has a misspelt `field`, so that the field is not
    /// reported as missing too.
    pub(super) fn note_misspelt(&self, place: &JsonLocation<'_>, field: &str) {
        let entry = (place.pointer(), field.to_owned());
        self.misspelt.borrow_mut().insert(entry);
    }

    /// Whether `field` of the object at `place` is there under a misspelt name.
    pub(super) fn is_misspelt(&self, place: &JsonLocation<'_>, field: &str) -> bool {
        let misspelt = self.misspelt.borrow();
        !misspelt.is_empty() && misspelt.contains(&(place.pointer(), field.to_owned()))
    }

    /// Counts a regular expression; how many there are now.
    pub(super) fn count_pattern(&self) -> usize {
        self.patterns.set(self.patterns.get() + 1);
        self.patterns.get()
    }

    /// Reports a fault of the value at `place`.
    pub(super) fn add(&self, place: &JsonLocation<'_>, message: impl Into<String>) {
        self.push(place, Mark::Value, &message.into(), None);
    }

    /// Reports a fault of the value at `place`, with advice.
    pub(super) fn add_with_hint(
        &self,
        place: &JsonLocation<'_>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.push(place, Mark::Value, &message.into(), Some(&hint.into()));
    }

    /// Reports a fault of the key at `place`, with advice.
    pub(super) fn add_to_key(
        &self,
        place: &JsonLocation<'_>,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        self.push(place, Mark::Key, &message.into(), hint.into().as_deref());
    }

    /// Says that something is most likely not what was meant, with advice. Never keeps a file from being served.
    pub(super) fn warn(
        &self,
        place: &JsonLocation<'_>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let mut list = self.list.borrow_mut();
        if list.len() < MAX_FAULTS_PER_FILE {
            list.push(PlacedFault {
                severity: Severity::Warning,
                ..PlacedFault::at(place.pointer(), message, hint.into())
            });
        }
    }

    fn push(&self, place: &JsonLocation<'_>, mark: Mark, message: &str, hint: Option<&str>) {
        let mut list = self.list.borrow_mut();
        if list.len() >= MAX_FAULTS_PER_FILE {
            self.left_out.set(self.left_out.get() + 1);
            return;
        }
        list.push(PlacedFault {
            severity: Severity::Error,
            pointer: place.pointer(),
            mark,
            message: printable(message),
            hint: hint.map(printable),
        });
    }

    /// The faults, and how many more there were.
    pub(super) fn into_list(self) -> FaultList {
        FaultList {
            faults: self.list.into_inner(),
            left_out: self.left_out.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_escapes_slash_and_tilde() {
        let env = JsonLocation::ROOT.key("env");
        let odd = env.key("a/b~c");
        let element = odd.index(3);
        assert_eq!(element.pointer(), "/env/a~1b~0c/3");
    }

    #[test]
    fn faults_beyond_the_cap_are_counted_not_kept() {
        let faults = Faults::default();
        for _ in 0..MAX_FAULTS_PER_FILE + 7 {
            faults.add(&JsonLocation::ROOT, "again");
        }
        let list = faults.into_list();
        assert_eq!((list.faults.len(), list.left_out), (MAX_FAULTS_PER_FILE, 7));
    }
}
