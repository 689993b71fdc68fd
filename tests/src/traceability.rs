//! Requirements and the tests that prove them.
//!
//! Reads REQUIREMENTS.md and the `Proves: …` lines of every test in the repository, and writes the document that
//! lists both directions. Must not judge whether a test is a good proof.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::repository;

/// Where the generated document is.
pub const DOCUMENT: &str = "docs/traceability.md";

/// How a requirement is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// By at least one test.
    Tested,
    /// By people who look at it.
    Reviewed,
    /// Not at all.
    Open,
}

/// One entry of REQUIREMENTS.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// Its stable id, such as `S49`.
    pub id: String,
    /// What must be true.
    pub text: String,
    /// Where it comes from, as written between the brackets.
    pub sources: String,
    /// How it is shown.
    pub shown: Shown,
}

/// A test and the requirements it proves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Proof {
    /// The file, from the top of the repository.
    pub file: String,
    /// The name of the test.
    pub test: String,
    /// Ids of requirements.
    pub proves: Vec<String>,
}

/// Every requirement, in the order of the document.
pub fn requirements() -> Vec<Requirement> {
    let text = fs::read_to_string(repository().join("REQUIREMENTS.md")).expect("REQUIREMENTS.md");
    let entries = text.lines().filter(|line| line.starts_with("- **"));
    entries
        .map(|line| requirement(line).unwrap_or_else(|| panic!("not in the usual form: {line}")))
        .collect()
}

/// `- **ID** text. [sources] — tested`
fn requirement(line: &str) -> Option<Requirement> {
    let (id, rest) = line.strip_prefix("- **")?.split_once("** ")?;
    let (rest, shown) = rest.rsplit_once(" — ")?;
    let (text, sources) = rest.strip_suffix(']')?.rsplit_once(" [")?;
    Some(Requirement {
        id: id.to_owned(),
        text: text.to_owned(),
        sources: sources.to_owned(),
        shown: match shown {
            "tested" => Shown::Tested,
            "reviewed" => Shown::Reviewed,
            "open" => Shown::Open,
            _ => return None,
        },
    })
}

/// Every test that says what it proves, sorted.
pub fn proofs() -> Vec<Proof> {
    claims("Proves")
}

/// Every test with a line that begins with this word and a colon, and what it names there, sorted.
pub(crate) fn claims(word: &str) -> Vec<Proof> {
    let mut found = Vec::new();
    let mut waiting = vec![repository()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).expect("a directory").flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                waiting.push(path);
            } else if name.ends_with(".rs") {
                found.extend(claims_in(&path, word));
            } else if name == "run" {
                found.extend(claim_of_script(&path, word));
            }
        }
    }
    found.sort();
    found
}

fn claims_in(path: &Path, word: &str) -> Vec<Proof> {
    let beginning = format!("/// {word}: ");
    let text = fs::read_to_string(path).expect("a source file");
    let file: PathBuf = path.strip_prefix(repository()).expect("inside").to_owned();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(ids) = line.strip_prefix(&beginning) else {
            continue;
        };
        let place = || format!("{}:{}", file.display(), index + 1);
        let following = lines[index + 1..].iter();
        let attributes: Vec<&&str> = following.take_while(|line| !line.contains("fn ")).collect();
        let is_test = attributes
            .iter()
            .any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
        assert!(is_test, "{}: no test follows", place());
        let function = lines[index + 1 + attributes.len()];
        let name = function
            .split("fn ")
            .nth(1)
            .and_then(|it| it.split('(').next());
        found.push(Proof {
            file: file.display().to_string(),
            test: name
                .unwrap_or_else(|| panic!("{}: no test follows", place()))
                .to_owned(),
            proves: ids_of(ids),
        });
    }
    found
}

/// A script that drives the server with programs of others is one test; it says what it proves in a comment.
fn claim_of_script(path: &Path, word: &str) -> Option<Proof> {
    let beginning = format!("# {word}: ");
    let text = fs::read_to_string(path).expect("a script");
    let file = path.strip_prefix(repository()).expect("inside");
    let ids = text
        .lines()
        .find_map(|line| line.strip_prefix(&beginning))?;
    Some(Proof {
        file: file.display().to_string(),
        test: "run".to_owned(),
        proves: ids_of(ids),
    })
}

fn ids_of(line: &str) -> Vec<String> {
    let ids = line.trim_end_matches('.').split(", ");
    ids.map(str::to_owned).collect()
}

/// What is inconsistent: a claim without a proof, a proof of nothing, two requirements of one id.
pub fn faults(requirements: &[Requirement], proofs: &[Proof]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut known = BTreeMap::new();
    for requirement in requirements {
        if known
            .insert(requirement.id.as_str(), requirement.shown)
            .is_some()
        {
            faults.push(format!("{} is there twice", requirement.id));
        }
    }
    let mut proven = BTreeSet::new();
    for proof in proofs {
        for id in &proof.proves {
            proven.insert(id.as_str());
            match known.get(id.as_str()) {
                Some(Shown::Tested) => {}
                Some(_) => faults.push(format!(
                    "{} proves {id}, which is not marked as tested",
                    proof.test
                )),
                None => faults.push(format!("{} proves {id}, which does not exist", proof.test)),
            }
        }
    }
    for (id, shown) in known {
        if shown == Shown::Tested && !proven.contains(id) {
            faults.push(format!("{id} is marked as tested, and no test proves it"));
        }
    }
    faults
}

/// The generated document.
pub fn document(requirements: &[Requirement], proofs: &[Proof]) -> String {
    let mut text = String::from(
        "# Traceability\n\n\
         Generated from [REQUIREMENTS.md](../REQUIREMENTS.md) and the `Proves:` lines of the tests; do not edit.\n\
         `cargo run -p ahma_tests --bin traceability` writes it, `--check` compares.\n\n\
         ## From requirement to test\n",
    );
    for requirement in requirements {
        let shown = match requirement.shown {
            Shown::Tested => "",
            Shown::Reviewed => ": reviewed",
            Shown::Open => ": open",
        };
        let _ = write!(text, "\n**{}**{shown}\n", requirement.id);
        let mut names: Vec<String> = proofs
            .iter()
            .filter(|proof| proof.proves.contains(&requirement.id))
            .map(|proof| format!("- `{}` in {}\n", proof.test, proof.file))
            .collect();
        names.sort();
        text.push_str(&names.concat());
    }
    text.push_str("\n## From test to requirement\n");
    let mut by_file: BTreeMap<&str, Vec<&Proof>> = BTreeMap::new();
    for proof in proofs {
        by_file.entry(&proof.file).or_default().push(proof);
    }
    for (file, proofs) in by_file {
        let _ = write!(text, "\n{file}\n\n");
        for proof in proofs {
            let _ = writeln!(text, "- `{}`: {}", proof.test, proof.proves.join(", "));
        }
    }
    text
}
