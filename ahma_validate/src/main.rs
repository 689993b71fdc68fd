//! Checks tool files and explains what is wrong with them, to people or to programs.
//!
//! Judges nothing itself: the verdict is that of [`ahma_core::config::load`], the same the server
//! acts on.

mod args;
mod human;
mod json;
mod sources;

use std::io::{self, Write as _};
use std::process::ExitCode;

use ahma_core::config::load;
use clap::Parser as _;

use self::args::{Args, Format};
use self::sources::Sources;

const EXIT_REJECTED: u8 = 1;
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let args = Args::parse();
    let sources = match Sources::find(&args.paths) {
        Ok(sources) => sources,
        Err(message) => {
            let _ = writeln!(io::stderr(), "error: {message}");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    for note in &sources.notes {
        let _ = writeln!(io::stderr(), "note: {note}");
    }
    let asked_for = sources.asked_for;
    let mut catalog = load(sources.files, &ahma_core::server_facts());
    // Neighbours of a file were loaded so that its steps find their targets, not to be judged.
    catalog
        .files
        .retain(|tool| asked_for.contains(&tool.source));
    catalog
        .rejected
        .retain(|file| asked_for.contains(&file.path));

    let written = match args.format {
        Format::Human => human::print(&catalog),
        Format::Json => json::print(&catalog, &asked_for),
    };
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(EXIT_REJECTED)
        }
        _ if catalog.rejected.is_empty() => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_REJECTED),
    }
}
