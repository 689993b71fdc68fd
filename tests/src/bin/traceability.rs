//! Writes docs/traceability.md; with `--check` says whether it is current.

use std::io::Write as _;
use std::process::ExitCode;

use ahma_tests::traceability::{DOCUMENT, document, faults, proofs, requirements};
use ahma_tests::{repository, scenarios};

#[expect(
    clippy::disallowed_methods,
    reason = "a program for developers, without a runtime"
)]
fn main() -> ExitCode {
    let (requirements, proofs) = (requirements(), proofs());
    let mut stderr = std::io::stderr();
    let mut faults = faults(&requirements, &proofs);
    let (scenarios, shown) = (scenarios::scenarios(), scenarios::shown());
    faults.extend(scenarios::faults(&scenarios, &shown));
    for fault in &faults {
        let _ = writeln!(stderr, "error: {fault}");
    }
    let path = repository().join(DOCUMENT);
    let current = document(&requirements, &proofs) + &scenarios::section(&scenarios, &shown);
    if std::env::args().nth(1).as_deref() != Some("--check") {
        return match std::fs::write(path, current) {
            Ok(()) if faults.is_empty() => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        };
    }
    let is_current = std::fs::read_to_string(path).is_ok_and(|text| text == current);
    if !is_current {
        let hint = "run `cargo run -p ahma_tests --bin traceability`";
        let _ = writeln!(stderr, "error: {DOCUMENT} is out of date\nhint: {hint}");
    }
    match is_current && faults.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
