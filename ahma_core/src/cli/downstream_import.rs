//! `ahma_mcp downstream import`: servers of another client, added to the user's file. Starts nothing, and shows no value that
//! could be a secret.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ahma_contract::UserDirectories;
use serde_json::{Map, Value};

use super::args::Args;
use super::downstream::DownstreamFile;
use super::downstream_args::ImportArgs;
use super::downstream_report::visible;
use super::import_shown::shown;
use super::import_sources::{Found, entries, usual_files};
use super::mcp_file::McpFile;
use super::output::say;
use super::startup_error::StartupError;
use crate::config::downstream::{DownstreamConfig, load};
use crate::config::files::SourceFile;

/// Adds what is new, and says what; the exit code.
pub(super) fn run(args: &Args, import: &ImportArgs) -> Result<u8, StartupError> {
    let directory = std::env::current_dir()?;
    let user = UserDirectories::of_this_user();
    let no_home = || StartupError::Usage("there is no home directory".to_owned());
    let home = std::env::home_dir().ok_or_else(no_home)?;
    let target = DownstreamFile::resolve(args, &user, &directory, &[]).ok_or_else(no_home)?;
    let ours = McpFile::read(target.path()).map_err(StartupError::Usage)?;
    let mut text = String::new();
    let mut added = Map::new();
    for file in sources(import, &home, &directory)? {
        let _ = writeln!(text, "from {}:", file.display());
        for found in entries(&file, import.from).map_err(StartupError::Usage)? {
            let name = visible(&found.name);
            match refusal(&found, &ours, &added, &home) {
                Some(why) => {
                    let _ = writeln!(text, "  skipped {name}: {why}");
                }
                None => {
                    let _ = write!(text, "  {name}");
                    if !found.left_out.is_empty() {
                        let left_out: Vec<String> =
                            found.left_out.iter().map(|it| visible(it)).collect();
                        let _ = write!(text, " (without {})", left_out.join(", "));
                    }
                    text.push('\n');
                    added.insert(found.name, found.entry);
                }
            }
        }
    }
    let place = ours.path().to_owned();
    if added.is_empty() {
        let _ = writeln!(text, "nothing to add to {}", place.display());
        say(&text)?;
        return Ok(0);
    }
    let shown = format!("{:#}", shown(&added));
    let shown: Vec<String> = shown.lines().map(visible).collect();
    let shown = shown.join("\n");
    let word = if import.dry_run {
        "would be added"
    } else {
        "added"
    };
    let _ = writeln!(text, "{word} to {}:\n{shown}", place.display());
    if import.dry_run {
        text.push_str("nothing was changed\n");
        say(&text)?;
        return Ok(0);
    }
    let backup = ours.add(&added)?;
    let undo = match backup {
        Some(backup) => format!("mv {} {}", quoted(&backup), quoted(&place)),
        None => format!("rm {}", quoted(&place)),
    };
    let _ = writeln!(text, "to undo this: {undo}");
    text.push_str("`ahma_mcp downstream check` starts them and shows what they offer\n");
    say(&text)?;
    Ok(0)
}

/// The files of the client that are there.
fn sources(
    import: &ImportArgs,
    home: &Path,
    directory: &Path,
) -> Result<Vec<PathBuf>, StartupError> {
    if let Some(file) = &import.file {
        return Ok(vec![directory.join(file)]);
    }
    let usual = usual_files(import.from, home);
    let there: Vec<PathBuf> = usual.iter().filter(|it| it.exists()).cloned().collect();
    if there.is_empty() {
        let usual: Vec<String> = usual.iter().map(|it| it.display().to_string()).collect();
        return Err(StartupError::Usage(format!(
            "the client has no configuration here: there is no {}\nhint: name its file with --file",
            usual.join(", no ")
        )));
    }
    Ok(there)
}

/// Why an entry is not taken over; none when it is.
fn refusal(
    found: &Found,
    ours: &McpFile,
    added: &Map<String, Value>,
    home: &Path,
) -> Option<String> {
    if found.is_own {
        return Some("it is this program".to_owned());
    }
    if let Some(why) = &found.refused {
        return Some(visible(why));
    }
    if ours.has(&found.name) || added.contains_key(&found.name) {
        return Some("there is one of this name".to_owned());
    }
    // Beside the others: a prefix may be taken, or there may be too many.
    let before = checked(&ours.with(added), ours.path(), home);
    let mut all = added.clone();
    all.insert(found.name.clone(), found.entry.clone());
    let after = checked(&ours.with(&all), ours.path(), home);
    if after.servers.len() > before.servers.len() || after.disabled.len() > before.disabled.len() {
        return None;
    }
    let is_new = |message: &str| before.faults.iter().all(|it| it.message != message);
    let fault = after.faults.iter().find(|it| is_new(&it.message));
    // Faults repeat no values.
    Some(fault.map_or_else(
        || "its entry cannot be used here".to_owned(),
        |fault| {
            let hint = fault.hint.as_ref().map(|it| format!("; {it}"));
            format!("{}{}", fault.message, hint.unwrap_or_default())
        },
    ))
}

/// A document, checked as the file will be, and its text without values that could be secrets.
fn checked(document: &Value, path: &Path, home: &Path) -> DownstreamConfig {
    let text = format!("{document:#}");
    let source = SourceFile {
        path: path.to_owned(),
        content: Ok(text.into_bytes()),
    };
    load(source, Some(home))
}

fn quoted(path: &Path) -> String {
    shell_words::quote(&path.to_string_lossy()).into_owned()
}
