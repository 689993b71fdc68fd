//! Reads tool files from disk, synchronously: for command-line programs and for start-up. Decides
//! what is read, never what it means.

use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::schema::SCHEMA_FILE_NAME;
use super::text::MAX_FILE_BYTES;

/// A file as found: its bytes, or why they could not be had.
#[derive(Debug)]
pub struct SourceFile {
    /// Where it was found.
    pub path: PathBuf,
    /// What it holds.
    pub content: Result<Vec<u8>, ReadFault>,
}

/// Why a file could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFault {
    /// What is wrong, as a lower-case fragment.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// Which `*.json` files of a directory count as tool files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    Every,
    /// Only files that name our schema: the directory has a common name and may hold other things.
    NamingOurSchema,
}

/// Reads all `*.json` files of a directory in sorted order, not those of directories below it.
pub fn read_directory(directory: &Path, selection: Selection) -> io::Result<Vec<SourceFile>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    #[expect(
        clippy::disallowed_methods,
        reason = "this module is for synchronous callers"
    )]
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if is_tool_file_name(&path) {
            paths.push(path);
        }
    }
    paths.sort();
    let mut files: Vec<SourceFile> = paths.into_iter().map(read_file).collect();
    if selection == Selection::NamingOurSchema {
        files.retain(names_our_schema);
    }
    Ok(files)
}

/// Whether a file of this name is one to read: hidden files are other programs' business, and the
/// schema is not a tool.
fn is_tool_file_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.ends_with(b".json") && !name.starts_with(b".") && name != SCHEMA_FILE_NAME.as_bytes()
}

/// Reads one file. Anything but a regular file of reasonable size is a fault: a pipe or a device
/// could keep the reader for ever.
pub fn read_file(path: PathBuf) -> SourceFile {
    let content = read_content(&path);
    SourceFile { path, content }
}

fn read_content(path: &Path) -> Result<Vec<u8>, ReadFault> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(&error))?;
    if !metadata.is_file() {
        return Err(ReadFault {
            message: format!("this is {}, not a file", kind_of(&metadata)),
            hint: "only files may have names that end in `.json` here".to_owned(),
        });
    }
    let mut bytes = Vec::with_capacity(
        usize::try_from(metadata.len())
            .unwrap_or(0)
            .min(MAX_FILE_BYTES),
    );
    #[expect(
        clippy::disallowed_methods,
        reason = "this module is for synchronous callers"
    )]
    let file = fs::File::open(path).map_err(|error| unreadable(&error))?;
    // One byte more than allowed is enough for the reader of the text to see that it is too large.
    let limit = u64::try_from(MAX_FILE_BYTES)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    file.take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&error))?;
    Ok(bytes)
}

fn unreadable(error: &io::Error) -> ReadFault {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => "give the user who runs this program read permission",
        io::ErrorKind::NotFound => "a symbolic link may point nowhere; remove or correct it",
        _ => "check the file, what it links to, and the disk it is on",
    };
    ReadFault {
        message: format!("the file cannot be read: {error}"),
        hint: hint.to_owned(),
    }
}

fn kind_of(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() {
        "a directory"
    } else {
        "a device, pipe or socket"
    }
}

/// Whether `$schema` names our schema. A file with broken JSON counts as ours when it mentions it, so
/// that its author is told.
fn names_our_schema(file: &SourceFile) -> bool {
    let Ok(bytes) = &file.content else {
        return false;
    };
    let document: Result<Value, _> = serde_json::from_slice(bytes);
    match document {
        Ok(document) => document["$schema"]
            .as_str()
            .is_some_and(|schema| schema.rsplit('/').next() == Some(SCHEMA_FILE_NAME)),
        Err(_) => {
            let name = SCHEMA_FILE_NAME.as_bytes();
            bytes.windows(name.len()).any(|window| window == name)
        }
    }
}

/// The tools directory of a project: `.ahma/tools`, else `tools`, which has a common name and is
/// therefore read with care. `None` when it has neither.
pub fn project_tools_directory(project: &Path) -> Option<(PathBuf, Selection)> {
    let own = project.join(".ahma").join("tools");
    if own.is_dir() {
        return Some((own, Selection::Every));
    }
    let common = project.join("tools");
    common
        .is_dir()
        .then_some((common, Selection::NamingOurSchema))
}
