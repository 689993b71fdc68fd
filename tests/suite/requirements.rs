//! REQUIREMENTS.md: every requirement of the sources is there, and what is called tested names its tests.

use std::collections::BTreeSet;
use std::fs;

use ahma_tests::repository;
use ahma_tests::scenarios::{self, scenarios};
use ahma_tests::traceability::{self, requirements};
use regex::Regex;

/// The numbers of the source documents, as they are cited.
fn source_numbers() -> BTreeSet<String> {
    let mut numbers = BTreeSet::new();
    let counted: [(&str, u32); 32] = [
        ("R1.", 4),
        ("R2.", 6),
        ("R3.", 5),
        ("R4.", 1),
        ("R5.", 3),
        ("R6.", 10),
        ("R7.1.", 8),
        ("R7.2.", 4),
        ("R7.3.", 6),
        ("R7.4.", 3),
        ("R7.5.", 2),
        ("R7.6.", 4),
        ("R8.1.", 5),
        ("R8.2.", 5),
        ("R8.3.", 3),
        ("R8.4.", 8),
        ("R9.", 9),
        ("R10.", 5),
        ("R10.4.", 10),
        ("R11.", 3),
        ("R12.", 4),
        ("R13.", 6),
        ("R15.", 3),
        ("R16.", 6),
        ("R17.", 4),
        ("R18.", 3),
        ("R19.", 3),
        ("FR-00", 9),
        ("NFR-P", 3),
        ("NFR-S", 2),
        ("NFR-R", 2),
        ("NFR-U", 1),
    ];
    for (prefix, count) in counted {
        numbers.extend((1..=count).map(|number| format!("{prefix}{number}")));
    }
    numbers.extend(["FR-010", "FR-011", "R0.1", "R0.2", "R0.3", "R0.4"].map(str::to_owned));
    numbers.extend((1..=44).map(|number| format!("REQ-MCP-HTTP-{number}")));
    // Document 003 and 001 have no numbers; these are their subjects.
    for subject in [
        "003 server",
        "003 client",
        "003 tool",
        "003 resource",
        "003 prompt",
        "003 timeout",
        "003 rate",
        "003 warm_up",
        "003 http",
        "003 retry",
        "003 correlation",
        "003 errors",
        "001 dual",
        "001 ports",
        "001 explicit",
        "001 isolation",
        "001 discovery",
        "001 ide",
        "001 state",
        "001 localhost",
        "004 §3.2",
        "004 §3.3",
        "004 §3.4",
        "004 §5.4",
        "004 §6.1",
    ] {
        numbers.insert(subject.to_owned());
    }
    numbers
}

/// Every number a requirement cites; `1 to 11` stands for all of them.
fn cited(sources: &str) -> BTreeSet<String> {
    let mut numbers = BTreeSet::new();
    let range = Regex::new(r"^REQ-MCP-HTTP-(\d+) to (\d+)$").unwrap();
    let mut document = "";
    for part in sources.split(", ") {
        let name = match part.split_once(' ') {
            Some((first, name)) if first.len() == 3 && first.starts_with("00") => {
                document = first;
                name
            }
            _ => part,
        };
        if let Some(ends) = range.captures(name) {
            let (first, last): (u32, u32) = (ends[1].parse().unwrap(), ends[2].parse().unwrap());
            numbers.extend((first..=last).map(|number| format!("REQ-MCP-HTTP-{number}")));
        } else if name.starts_with('R') || name.starts_with("FR-") || name.starts_with("NFR-") {
            numbers.insert(name.split(' ').next().unwrap().to_owned());
        } else {
            numbers.insert(format!("{document} {name}"));
        }
    }
    numbers
}

#[test]
fn every_requirement_of_the_sources_is_there() {
    let cited: BTreeSet<String> = requirements()
        .iter()
        .flat_map(|requirement| cited(&requirement.sources))
        .collect();
    let missing: Vec<String> = source_numbers().difference(&cited).cloned().collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn every_claim_of_a_test_is_made_by_a_test() {
    let faults = traceability::faults(&requirements(), &traceability::proofs());
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn the_generated_document_is_current() {
    let requirements = traceability::document(&requirements(), &traceability::proofs());
    let current = requirements + &scenarios::section(&scenarios(), &scenarios::shown());
    let committed = fs::read_to_string(repository().join(traceability::DOCUMENT)).unwrap();
    assert!(
        committed == current,
        "run `cargo run -p ahma_tests --bin traceability`"
    );
}

/// Proves: C35.
#[test]
fn every_scenario_of_the_plan_for_managed_servers_is_shown_or_changed_with_a_reason() {
    let (all, mut shown) = (scenarios(), scenarios::shown());
    assert_eq!(scenarios::faults(&all, &shown), Vec::<String>::new());
    // As many as the plan has, step by step.
    let of_step = |step: usize| {
        let beginning = format!("002/{step}.");
        let ids = all.iter().filter(|it| it.id.starts_with(&beginning));
        ids.count()
    };
    let counts: Vec<usize> = (1..=11).map(of_step).collect();
    assert_eq!(counts, [7, 5, 8, 12, 5, 8, 2, 4, 2, 9, 7]);
    assert!(all.iter().all(|it| it.changed.as_deref() != Some("")));
    // What is not shown, or does not exist, is found.
    for proof in &mut shown {
        for id in &mut proof.proves {
            if id == "002/1.7" {
                "002/1.8".clone_into(id);
            }
        }
    }
    let test = "ports_are_given_in_order_and_dead_ones_never_again";
    let expected = [
        format!("{test} shows 002/1.8, which does not exist"),
        "no test shows 002/1.7 (Dead port is skipped on next allocate())".to_owned(),
    ];
    assert_eq!(scenarios::faults(&all, &shown), expected);
}
