//! Checks tool files, prompt files and resource files, or an `mcp.json`, and explains what is wrong with them, to people or to programs.
//!
//! Judges nothing itself: the verdict is that of [`ahma_core::config`], the same the server
//! acts on.

mod args;
mod content_files;
mod human;
mod json;
mod programs;
mod sources;
mod verdict;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ahma_core::config::content::{load_prompts, load_resources};
use ahma_core::config::files::SourceFile;
use ahma_core::config::{downstream, files, load, settings};
use clap::Parser as _;

use self::args::{Args, Format, Kind};
use self::sources::Sources;
use self::verdict::Verdict;

const EXIT_REJECTED: u8 = 1;
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let args = Args::parse();
    match &args.mcp_config {
        Some(path) => check_mcp_config(path, args.format),
        None => check_files(&args),
    }
}

fn check_mcp_config(path: &Path, format: Format) -> ExitCode {
    if path.symlink_metadata().is_err() {
        let _ = writeln!(io::stderr(), "error: there is no file {}", path.display());
        return ExitCode::from(EXIT_USAGE);
    }
    // Whose home it is makes no difference to what is right.
    let home = PathBuf::from("/");
    let config = downstream::load(files::read_file(path.to_owned()), Some(&home));
    let written = match format {
        Format::Human => human::print_mcp_config(&config),
        Format::Json => json::print_mcp_config(&config),
    };
    exit_code(written, config.faults.is_empty())
}

fn check_files(args: &Args) -> ExitCode {
    let verdict = match judged(args) {
        Ok(verdict) => verdict,
        Err(message) => {
            let _ = writeln!(io::stderr(), "error: {message}");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    let written = match args.format {
        Format::Human => human::print(&verdict),
        Format::Json => json::print(&verdict),
    };
    exit_code(written, verdict.is_good())
}

/// Checks files of each kind by themselves.
fn judged(args: &Args) -> Result<Verdict, String> {
    let mut verdict = Verdict::default();
    let of = |kind: Kind| -> Vec<PathBuf> {
        let is_of = |path: &&PathBuf| args.kind.unwrap_or_else(|| kind_of(path)) == kind;
        args.paths.iter().filter(is_of).cloned().collect()
    };
    let is_whole_project = args.paths.is_empty();
    let content = |kind: Kind, name: &str| match is_whole_project {
        true => content_files::of_project(name),
        false => content_files::find(&of(kind)),
    };
    let prompts = content(Kind::Prompts, "prompts")?;
    let resources = content(Kind::Resources, "resources")?;
    let tools = of(Kind::Tools);
    let settings = match is_whole_project {
        true => Some(PathBuf::from(".ahma/ahma.toml"))
            .filter(|it| it.exists())
            .into_iter()
            .collect(),
        false => of(Kind::Settings),
    };
    let has_content = !prompts.is_empty() || !resources.is_empty() || !settings.is_empty();
    let sources = match (
        tools.is_empty() && (has_content || !is_whole_project),
        is_whole_project,
    ) {
        // A project may have no tools of its own.
        (true, true) => Sources::find(&[]).ok(),
        (true, false) => None,
        (false, _) => Some(Sources::find(&tools)?),
    };
    if let Some(sources) = sources {
        for note in &sources.notes {
            let _ = writeln!(io::stderr(), "note: {note}");
        }
        let asked_for = sources.asked_for;
        let mut facts = ahma_core::server_facts();
        facts.has_program = Some(programs::is_there);
        let mut catalog = load(sources.files, &facts);
        // Neighbours of a file were loaded so that its steps find their targets, not to be judged.
        catalog
            .files
            .retain(|tool| asked_for.contains(&tool.source));
        catalog
            .rejected
            .retain(|file| asked_for.contains(&file.path));
        catalog.warned.retain(|file| asked_for.contains(&file.path));
        verdict.take_tools(catalog, asked_for);
    }
    let paths = |files: &[SourceFile]| files.iter().map(|it| it.path.clone()).collect();
    if !prompts.is_empty() {
        let asked_for = paths(&prompts);
        verdict.take(load_prompts(prompts), asked_for, "prompt");
    }
    if !resources.is_empty() {
        let asked_for = paths(&resources);
        verdict.take(load_resources(resources), asked_for, "resource");
    }
    for path in settings {
        let missing = format!("there is no file {}", path.display());
        path.symlink_metadata().map_err(|_| missing)?;
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        // The user's lies elsewhere.
        let is_of_project = real.parent().is_some_and(|it| it.ends_with(".ahma"));
        verdict.take_settings(settings::read(files::read_file(path), is_of_project));
    }
    Ok(verdict)
}

/// What a file is, or the files of a directory are, by the name of the directory.
fn kind_of(path: &Path) -> Kind {
    if path.extension().is_some_and(|it| it == "toml") {
        return Kind::Settings;
    }
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = match path.is_dir() {
        true => Some(real.as_path()),
        false => real.parent(),
    };
    match directory
        .and_then(Path::file_name)
        .and_then(|it| it.to_str())
    {
        Some("prompts") => Kind::Prompts,
        Some("resources") => Kind::Resources,
        _ => Kind::Tools,
    }
}

fn exit_code(written: io::Result<()>, is_good: bool) -> ExitCode {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(EXIT_REJECTED)
        }
        _ if is_good => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_REJECTED),
    }
}
