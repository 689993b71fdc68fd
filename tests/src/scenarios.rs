//! Test scenarios that a source document names, and the tests that show them.
//!
//! Reads docs/scenarios-002.md and the `Scenario: …` lines of every test. Must not judge whether a test shows what it says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use crate::repository;
use crate::traceability::{Proof, claims};

/// Where the scenarios are.
pub const SCENARIOS: &str = "docs/scenarios-002.md";
const CHANGED: &str = " — changed: ";

/// One scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// Document, step and number, such as `002/4.10`.
    pub id: String,
    /// In the words of the document.
    pub name: String,
    /// Why it is another one here.
    pub changed: Option<String>,
}

/// Every scenario, in the order of the document.
pub fn scenarios() -> Vec<Scenario> {
    let text = fs::read_to_string(repository().join(SCENARIOS)).expect(SCENARIOS);
    let entries = text.lines().filter(|line| line.starts_with("- **"));
    entries
        .map(|line| scenario(line).unwrap_or_else(|| panic!("not in the usual form: {line}")))
        .collect()
}

/// `- **ID** name`, or `- **ID** name — changed: why`
fn scenario(line: &str) -> Option<Scenario> {
    let (id, rest) = line.strip_prefix("- **")?.split_once("** ")?;
    let (name, changed) = match rest.split_once(CHANGED) {
        Some((name, why)) => (name, Some(why.to_owned())),
        None => (rest, None),
    };
    Some(Scenario {
        id: id.to_owned(),
        name: name.to_owned(),
        changed,
    })
}

/// Every test that says which scenario it shows, sorted.
pub fn shown() -> Vec<Proof> {
    claims("Scenario")
}

/// What is inconsistent: a scenario that is neither shown nor changed, one that does not exist, two of one id.
pub fn faults(scenarios: &[Scenario], shown: &[Proof]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut known = BTreeMap::new();
    for scenario in scenarios {
        if known.insert(scenario.id.as_str(), scenario).is_some() {
            faults.push(format!("{} is there twice", scenario.id));
        }
    }
    let mut seen = BTreeSet::new();
    for proof in shown {
        for id in &proof.proves {
            seen.insert(id.as_str());
            if !known.contains_key(id.as_str()) {
                let test = &proof.test;
                faults.push(format!("{test} shows {id}, which does not exist"));
            }
        }
    }
    for (id, scenario) in known {
        if scenario.changed.is_none() && !seen.contains(id) {
            let name = &scenario.name;
            faults.push(format!("no test shows {id} ({name})"));
        }
    }
    faults
}

/// The part of the generated document that is about scenarios.
pub fn section(scenarios: &[Scenario], shown: &[Proof]) -> String {
    let mut text = String::from(
        "\n## From scenario to test\n\nThose of [seed 002](scenarios-002.md), by the `Scenario:` lines of the tests.\n",
    );
    for scenario in scenarios {
        let _ = write!(text, "\n**{}** {}\n", scenario.id, scenario.name);
        if let Some(why) = &scenario.changed {
            let _ = writeln!(text, "- changed: {why}");
        }
        let tests = shown.iter().filter(|it| it.proves.contains(&scenario.id));
        let tests: BTreeSet<String> = tests
            .map(|it| format!("- `{}` in {}\n", it.test, it.file))
            .collect();
        text.extend(tests);
    }
    text
}
