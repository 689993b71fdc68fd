//! `--mode list-tools`: what clients would be offered, as JSON on stdout.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::args::Args;
use super::{EXIT_FAILURE, EXIT_USAGE};
use crate::config::files::{self, Selection, SourceFile};
use crate::config::{Catalog, LeafSpec, Waiting, listed_description, load};

/// Prints the tools. Files that are rejected are named on stderr; the rest is listed all the same.
pub(super) fn run(args: &Args) -> ExitCode {
    let mut sources = match read_sources(args) {
        Ok(sources) => sources,
        Err(message) => {
            let _ = writeln!(io::stderr(), "error: {message}");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    if let Some(unknown) = args.tools.iter().find(|name| !is_among(name, &sources)) {
        let _ = writeln!(io::stderr(), "error: there is no tool file {unknown}.json");
        return ExitCode::from(EXIT_USAGE);
    }
    if !args.tools.is_empty() {
        sources.retain(|source| args.tools.iter().any(|name| is_called(&source.path, name)));
    }
    let catalog = load(sources);
    report_rejected(&catalog);
    let document = json!({ "tools": listing(&catalog) });
    match writeln!(io::stdout(), "{document:#}") {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough, as with `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(EXIT_FAILURE),
    }
}

fn read_sources(args: &Args) -> Result<Vec<SourceFile>, String> {
    let directories: Vec<(PathBuf, Selection)> = if args.tools_dir.is_empty() {
        let found = files::project_tools_directory(Path::new("."));
        vec![found.ok_or_else(|| {
            "there is neither a `.ahma/tools` nor a `tools` directory here\n\
             hint: name one with `--tools-dir DIR`"
                .to_owned()
        })?]
    } else {
        let every = args
            .tools_dir
            .iter()
            .map(|directory| (directory.clone(), Selection::Every));
        every.collect()
    };
    let mut sources = Vec::new();
    for (directory, selection) in directories {
        let found = files::read_directory(&directory, selection).map_err(|error| {
            format!(
                "the tools directory {} cannot be read: {error}",
                directory.display()
            )
        })?;
        sources.extend(found);
    }
    Ok(sources)
}

fn is_among(name: &str, sources: &[SourceFile]) -> bool {
    sources.iter().any(|source| is_called(&source.path, name))
}

fn is_called(path: &Path, name: &str) -> bool {
    path.file_stem().is_some_and(|stem| stem == name)
}

/// Whether the project here is one the leaf is meant for.
fn fits_project(leaf: &LeafSpec) -> bool {
    leaf.only_if.is_empty() || leaf.only_if.iter().any(|path| Path::new(path).exists())
}

fn report_rejected(catalog: &Catalog) {
    for file in &catalog.rejected {
        let path = file.path.display();
        for fault in &file.faults {
            let (line, column) = (fault.line, fault.column);
            let _ = writeln!(io::stderr(), "{path}:{line}:{column}: {}", fault.message);
            if let Some(hint) = &fault.hint {
                let _ = writeln!(io::stderr(), "  hint: {hint}");
            }
        }
    }
}

fn listing(catalog: &Catalog) -> Vec<Value> {
    catalog
        .leaves()
        .filter(|(_, leaf)| fits_project(leaf))
        .map(|(tool, leaf)| {
            json!({
                "name": leaf.name,
                "description": listed_description(leaf, Waiting::AsDeclared),
                "inputSchema": leaf.input_schema,
                "source": tool.source.to_string_lossy(),
            })
        })
        .collect()
}
