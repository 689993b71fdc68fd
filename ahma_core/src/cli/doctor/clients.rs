//! Entries of clients that start this server: whether what they start is there.

use std::path::{Path, PathBuf};

use super::finding::Finding;
use crate::cli::client_entries::ClientEntry;

const AREA: &str = "clients";

/// Looks at the entries that are ours by their program.
pub(super) fn check(entries: &[ClientEntry], path: &[PathBuf]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = entries.iter().map(|entry| of(entry, path)).collect();
    if entries.is_empty() {
        let fix = "`ahma_mcp setup` writes one".to_owned();
        findings.push(Finding::note(
            AREA,
            "no client has an entry for this server",
            fix,
        ));
    }
    findings
}

fn of(entry: &ClientEntry, path: &[PathBuf]) -> Finding {
    let (client, name, command) = (entry.client.title(), &entry.name, &entry.command);
    let file = entry.file.display();
    let program = Path::new(command);
    let is_there = match program.is_absolute() {
        true => program.is_file(),
        false => path.iter().any(|it| it.join(program).is_file()),
    };
    match is_there {
        true => Finding::ok(
            AREA,
            format!("{client} starts {command} ({name} in {file})"),
        ),
        false => Finding::fix(
            AREA,
            format!("{client} cannot start {command}, which is not there ({name} in {file})"),
            format!(
                "`ahma_mcp setup {}` writes where this program is",
                entry.client.id()
            ),
        ),
    }
}
