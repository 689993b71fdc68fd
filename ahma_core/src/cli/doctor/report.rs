//! How findings are shown: to people, and to programs.

use std::fmt::Write as _;

use serde_json::json;

use super::finding::{Finding, State};

/// For people: by areas, what to repair with how.
pub(super) fn text(findings: &[Finding], is_coloured: bool) -> String {
    let mut text = format!("ahma_mcp {}\n", env!("CARGO_PKG_VERSION"));
    let mut area = "";
    for finding in findings {
        if finding.area != area {
            area = finding.area;
            let _ = write!(text, "\n{area}\n");
        }
        let (mark, colour) = match finding.state {
            State::Ok => ("ok  ", "32"),
            State::Note => ("note", "33"),
            State::Fix => ("fix ", "31"),
        };
        let mark = match is_coloured {
            true => format!("\u{1b}[{colour}m{mark}\u{1b}[0m"),
            false => mark.to_owned(),
        };
        let _ = writeln!(text, "  {mark}  {}", finding.message);
        if let Some(fix) = &finding.fix {
            let _ = writeln!(text, "        → {fix}");
        }
    }
    let _ = match to_fix(findings) {
        0 => writeln!(text, "\nnothing has to be repaired"),
        1 => writeln!(text, "\n1 thing to repair"),
        number => writeln!(text, "\n{number} things to repair"),
    };
    text
}

/// For programs.
pub(super) fn document(findings: &[Finding]) -> String {
    let document = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "findings": findings,
        "to_fix": to_fix(findings),
    });
    format!("{document:#}\n")
}

/// How many have to be repaired.
pub(super) fn to_fix(findings: &[Finding]) -> usize {
    let all = findings.iter();
    all.filter(|it| it.state == State::Fix).count()
}
