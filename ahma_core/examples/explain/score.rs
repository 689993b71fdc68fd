//! How good explanations are: each against what is known of its case.

use std::collections::BTreeMap;

use ahma_core::denial::Denial;
use serde::Deserialize;

/// What is known of the cause of a case.
#[derive(Debug, Deserialize)]
pub(crate) struct Label {
    pub(crate) id: String,
    caused_by_sandbox: bool,
    kind: Option<String>,
    subject: Option<String>,
    subject_path: Option<String>,
    cwd: String,
    subject_exists_outside: Option<bool>,
    owner_can: Option<String>,
}

/// Counts of one kind, or of all.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Cases that the sandbox caused.
    pub(crate) caused: usize,
    /// Explained with the right kind.
    pub(crate) kind: usize,
    /// With the right subject besides.
    pub(crate) subject: usize,
    /// With the right remedy besides the kind.
    pub(crate) owner_can: usize,
    /// With the right subject and remedy besides.
    pub(crate) both: usize,
    /// Cases that it did not cause, without those that are about a path outside that exists nowhere.
    pub(crate) others: usize,
    /// Of them, explained all the same.
    pub(crate) alarms: usize,
}

/// The whole score.
#[derive(Debug, Default)]
pub(crate) struct Score {
    pub(crate) total: Counts,
    by_kind: BTreeMap<String, Counts>,
    /// What went wrong, one line each.
    pub(crate) wrong: Vec<String>,
}

impl Score {
    pub(crate) fn count(&mut self, label: &Label, denial: Option<&Denial>) {
        let mut counts = Counts::default();
        let said = denial.map_or_else(
            || "nothing".to_owned(),
            |it| format!("{}, {:?}, {:?}", it.kind.name(), it.subject, it.owner_can),
        );
        if label.caused_by_sandbox {
            let kind = denial.is_some_and(|it| Some(it.kind.name()) == label.kind.as_deref());
            let subject = kind && denial.is_some_and(|it| is_subject(label, &it.subject));
            let owner_can = kind
                && denial
                    .is_some_and(|it| Some(it.owner_can.as_str()) == label.owner_can.as_deref());
            counts = Counts {
                caused: 1,
                kind: kind.into(),
                subject: subject.into(),
                owner_can: owner_can.into(),
                both: (subject && owner_can).into(),
                ..counts
            };
            if counts.both == 0 {
                let meant = format!(
                    "{:?}, {:?}, {:?}",
                    label.kind.as_deref().unwrap_or(""),
                    label.subject,
                    label.owner_can
                );
                let what = if kind { "differs" } else { "missed" };
                self.wrong
                    .push(format!("{what} {}: {meant}; said {said}", label.id));
            }
        } else if label.subject_exists_outside != Some(false) {
            counts.others = 1;
            counts.alarms = denial.is_some().into();
            if denial.is_some() {
                self.wrong.push(format!("alarm {}: said {said}", label.id));
            }
        }
        let kind = label
            .kind
            .clone()
            .unwrap_or_else(|| "(not the sandbox)".to_owned());
        self.by_kind.entry(kind).or_default().add(counts);
        self.total.add(counts);
    }

    /// A table per kind.
    pub(crate) fn table(&self) -> String {
        let mut table = String::from(
            "kind                 caused   kind  subject  remedy   both  others  alarms\n",
        );
        let total = ("all".to_owned(), self.total);
        for (kind, it) in self.by_kind.clone().into_iter().chain([total]) {
            let row = format!(
                "{kind:<20} {:>6} {:>6} {:>8} {:>7} {:>6} {:>7} {:>7}\n",
                it.caused, it.kind, it.subject, it.owner_can, it.both, it.others, it.alarms
            );
            table.push_str(&row);
        }
        table
    }
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.caused += other.caused;
        self.kind += other.kind;
        self.subject += other.subject;
        self.owner_can += other.owner_can;
        self.both += other.both;
        self.others += other.others;
        self.alarms += other.alarms;
    }
}

/// Kinds whose subject is a figure that no case tells, though a server knows it.
const FIGURES: [&str; 3] = ["deadline", "limit-memory", "limit-processes"];

/// Whether a subject is the one meant: by name, or as a path.
fn is_subject(label: &Label, said: &str) -> bool {
    let is_figure = label
        .kind
        .as_deref()
        .is_some_and(|kind| FIGURES.contains(&kind));
    let plain = |text: &str| text.trim_end_matches('/').to_owned();
    let absolute = absolute(&label.cwd, said);
    let meant = [label.subject.as_deref(), label.subject_path.as_deref()];
    let is_named = |it: &str| plain(it) == plain(said) || plain(it) == absolute;
    is_figure || meant.into_iter().flatten().any(is_named)
}

/// A relative name as a path with placeholders.
fn absolute(directory: &str, name: &str) -> String {
    let path = format!("{directory}/{name}").replace("{SCOPE}", "{USER_HOME}/src/app");
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "" | "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/").replace("{USER_HOME}/src/app", "{SCOPE}")
}
