//! Reads tool files from disk, synchronously: for command-line programs and for start-up. Decides
//! what is read, never what it means.

use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde_json::Value;

use super::limits::{BYTES_PER_DIRECTORY, FILES_PER_DIRECTORY};
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
    /// All of them, as the operator who names the directory says.
    Every,
    /// All of them, in a directory of the project: no link is followed, since a project could point it anywhere.
    OfProject,
    /// The same, and only files that look like tool files: the directory has a common name and may hold other things.
    LookingLikeTools,
}

/// Reads all `*.json` files of a directory in sorted order, not those of directories below it.
pub fn read_directory(directory: &Path, selection: Selection) -> io::Result<Vec<SourceFile>> {
    let links = match selection {
        Selection::Every => Links::Followed,
        Selection::OfProject | Selection::LookingLikeTools => {
            refuse_links(directory)?;
            Links::Refused
        }
    };
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
    let mut files = read_within_bounds(paths, links);
    if selection == Selection::LookingLikeTools {
        files.retain(looks_like_a_tool);
    }
    Ok(files)
}

/// Whether files may be links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    Followed,
    Refused,
}

/// A directory of a project, and the one it is in, must be there themselves.
fn refuse_links(directory: &Path) -> io::Result<()> {
    let parent = directory.parent().filter(|it| it.ends_with(".ahma"));
    for path in [Some(directory), parent].into_iter().flatten() {
        if path.is_symlink() {
            let why = format!(
                "{} is a link, which a project could point anywhere; name the directory with --tools-dir if you mean it",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
    }
    Ok(())
}

/// Reads files until there are too many, or too much; the first beyond says so.
fn read_within_bounds(paths: Vec<PathBuf>, links: Links) -> Vec<SourceFile> {
    let (mut files, mut bytes) = (Vec::new(), 0);
    for path in paths {
        let mut file = read_with(path, links);
        bytes += file.content.as_ref().map_or(0, Vec::len);
        let is_beyond = files.len() >= FILES_PER_DIRECTORY || bytes > BYTES_PER_DIRECTORY;
        if is_beyond {
            file.content = Err(ReadFault {
                message: format!(
                    "this file and those after it are not read: a directory may hold {FILES_PER_DIRECTORY} tool files of \
                     {} MiB together",
                    BYTES_PER_DIRECTORY >> 20
                ),
                hint: "remove what is not needed, or name fewer directories".to_owned(),
            });
        }
        files.push(file);
        if is_beyond {
            break;
        }
    }
    files
}

/// Whether a file of this name is one to read: hidden files are other programs' business, and the
/// schema is not a tool.
fn is_tool_file_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.ends_with(b".json") && !name.starts_with(b".") && !name.ends_with(b".schema.json")
}

/// Reads one file. Anything but a regular file of reasonable size is a fault: a pipe or a device
/// could keep the reader for ever.
pub fn read_file(path: PathBuf) -> SourceFile {
    read_with(path, Links::Followed)
}

fn read_with(path: PathBuf, links: Links) -> SourceFile {
    let content = read_content(&path, links);
    SourceFile { path, content }
}

fn read_content(path: &Path, links: Links) -> Result<Vec<u8>, ReadFault> {
    if links == Links::Refused && path.is_symlink() {
        return Err(ReadFault {
            message: "this is a link, which a project could point anywhere".to_owned(),
            hint: "put the file itself here".to_owned(),
        });
    }
    // Nothing is waited for, and what was opened is what is looked at: another file may be put in its place meanwhile.
    let mut flags = OFlags::NONBLOCK;
    if links == Links::Refused {
        flags |= OFlags::NOFOLLOW;
    }
    let mut options = fs::OpenOptions::new();
    options.read(true);
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    let file = options.open(path).map_err(|error| unreadable(&error))?;
    let metadata = file.metadata().map_err(|error| unreadable(&error))?;
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

/// Whether a file is an object that has what every tool file has, or names our schema. One with broken JSON counts when it
/// mentions the schema, so that its author is told.
fn looks_like_a_tool(file: &SourceFile) -> bool {
    let Ok(bytes) = &file.content else {
        return false;
    };
    let document: Result<Value, _> = serde_json::from_slice(bytes);
    match document {
        Ok(document) => {
            let schema = document["$schema"].as_str();
            let is_ours = |it: &str| it.rsplit('/').next() == Some(SCHEMA_FILE_NAME);
            let usual = ["name", "description", "command"];
            schema.is_some_and(is_ours) || usual.iter().all(|field| document[field].is_string())
        }
        Err(_) => {
            let name = SCHEMA_FILE_NAME.as_bytes();
            bytes.windows(name.len()).any(|window| window == name)
        }
    }
}

/// The directory below `.ahma` of a project that holds files of this kind, when it is there.
pub fn project_directory(project: &Path, name: &str) -> Vec<(PathBuf, Selection)> {
    let directory = project.join(".ahma").join(name);
    let is_there = directory.is_dir();
    let found = is_there.then_some((directory, Selection::OfProject));
    found.into_iter().collect()
}

/// The directories of a project that hold tool files: `.ahma/tools`, and `tools` when there is such a file in it, which
/// has a common name and is therefore read with care.
pub fn project_tools_directories(project: &Path) -> Vec<(PathBuf, Selection)> {
    let mut directories = Vec::new();
    let own = project.join(".ahma").join("tools");
    if own.is_dir() {
        directories.push((own, Selection::OfProject));
    }
    let common = project.join("tools");
    let selection = Selection::LookingLikeTools;
    if read_directory(&common, selection).is_ok_and(|files| !files.is_empty()) {
        directories.push((common, selection));
    }
    directories
}
