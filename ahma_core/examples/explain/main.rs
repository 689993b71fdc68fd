//! Explains recorded failures: `explain [--score] [--link NAME=TARGET]... FILE.jsonl`.
//!
//! Prints a line of JSON for each case; with `--score` a table of how good the explanations are instead, and what is wrong.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program that reads a file and prints"
)]

mod corpus;
mod score;

use std::process::ExitCode;

use corpus::{Case, Links, link};
use score::{Label, Score};
use serde_json::json;

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("explain: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<String>) -> Result<(), String> {
    let (mut scored, mut links, mut file) = (false, Links::new(), None);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--score" => scored = true,
            "--link" => links.extend(arguments.next().as_deref().and_then(link)),
            _ => file = Some(argument),
        }
    }
    let file = file.ok_or("no file is named")?;
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let mut score = Score::default();
    for (number, line) in text.lines().enumerate() {
        let fault = |error: serde_json::Error| format!("{file}, line {}: {error}", number + 1);
        let case: Case = serde_json::from_str(line).map_err(fault)?;
        let denial = case.explained(&links);
        if scored {
            let label: Label = serde_json::from_str(line).map_err(fault)?;
            score.count(&label, denial.as_ref());
            continue;
        }
        let said = denial.map(|it| (it.kind.name(), it.subject, it.owner_can, it.text));
        let (kind, subject, owner_can, text) = said
            .clone()
            .map_or((None, None, None, None), |(a, b, c, d)| {
                (Some(a), Some(b), Some(c), Some(d))
            });
        println!(
            "{}",
            json!({"id": case.id, "explained": said.is_some(), "kind": kind, "subject": subject, "owner_can": owner_can, "text": text})
        );
    }
    if scored {
        for wrong in &score.wrong {
            println!("{wrong}");
        }
        println!("{}", score.table());
    }
    Ok(())
}
