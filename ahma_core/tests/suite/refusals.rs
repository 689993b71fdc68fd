//! Explanations of failed commands, on failures that were recorded.

#[path = "../../examples/explain/corpus.rs"]
mod corpus;
#[path = "../../examples/explain/score.rs"]
mod score;

use std::path::Path;

use corpus::{Case, Links, link};
use score::{Label, Score};

fn scored() -> Score {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/refusals/cases.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    let mut score = Score::default();
    for line in text.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let label: Label = serde_json::from_str(line).unwrap();
        assert_eq!(case.id, label.id);
        score.count(&label, case.explained(&Links::new()).as_ref());
    }
    score
}

fn case(script: &str, output: &str) -> Case {
    let json = serde_json::json!({
        "id": "x", "argv_or_script": script, "output": output, "scope": "{SCOPE}", "cwd": "{SCOPE}", "private_home": "{HOME}",
        "network": "on", "exit_code": 1, "signal": null, "user": "ordinary", "state": "failed", "truncated": false,
        "program_on_operator_path": null,
        "policy": {"grants_read": [], "grants_write": [], "protected": [], "private_tmp": "{TMP}"},
    });
    serde_json::from_value(json).unwrap()
}

/// Proves: P15.
#[test]
fn recorded_failures_are_explained_and_others_are_not() {
    let score = scored();
    let total = score.total;
    let wrong = score.wrong.join("\n");
    println!("{}", score.table());
    assert_eq!((total.caused, total.others), (444, 384));
    assert!(
        total.kind * 100 >= total.caused * 95,
        "{wrong}\n{}",
        score.table()
    );
    assert!(
        total.both * 100 >= total.caused * 90,
        "{wrong}\n{}",
        score.table()
    );
    assert!(
        total.alarms * 100 <= total.others,
        "{wrong}\n{}",
        score.table()
    );
}

/// A path outside that exists nowhere is explained like one that is hidden: the two look the same to a command, and must to
/// who reads the explanation.
#[test]
fn explanations_do_not_tell_whether_something_outside_exists() {
    let text = |path: &str| {
        let output = format!("cat: {path}: No such file or directory\n");
        let denial = case(&format!("cat {path}"), &output).explained(&Links::new());
        denial.unwrap().text.replace(path, "PATH")
    };
    let there = text("/etc/hostname");
    assert_eq!(there, text("/etc/there-is-no-such-file"));
    assert!(there.contains("there or not"), "{there}");
}

#[test]
fn a_link_that_leads_out_is_explained_by_where_it_leads() {
    let links: Links = link("{SCOPE}/link={USER_HOME}/notes.txt")
        .into_iter()
        .collect();
    let read = case("cat link", "cat: link: No such file or directory\n");
    let denial = read.explained(&links).unwrap();
    assert_eq!(denial.subject, "{USER_HOME}/notes.txt");
    assert_eq!(denial.owner_can, "--sandbox-read {USER_HOME}/notes.txt");
    assert_eq!(read.explained(&Links::new()), None);
}
