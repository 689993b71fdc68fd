//! Values that a command gets as files: written before it starts, removed when it has ended.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::TempPath;
use tokio::task::spawn_blocking;

use super::command_line::Arg;

/// The words of a command line, with the files they name. Dropping it removes the files.
pub(super) struct ArgFiles {
    pub(super) words: Vec<OsString>,
    files: Vec<TempPath>,
}

impl ArgFiles {
    /// Writes what has to be written into `directory`, which commands can read.
    pub(super) async fn write(words: &[Arg], directory: &Path) -> io::Result<Self> {
        let mut written = ArgFiles {
            words: Vec::with_capacity(words.len()),
            files: Vec::new(),
        };
        for word in words {
            match word {
                Arg::Text(text) => written.words.push(text.into()),
                Arg::File { prefix, content } => {
                    let (directory, content) = (directory.to_owned(), content.clone());
                    let file = spawn_blocking(move || new_file(&directory, &content)).await??;
                    let mut word = OsString::from(prefix);
                    word.push(&file);
                    written.words.push(word);
                    written.files.push(file);
                }
            }
        }
        Ok(written)
    }
}

/// Commands can write to this directory too; a random name that must be new cannot have been prepared
/// by one of them to lead elsewhere.
fn new_file(directory: &Path, content: &str) -> io::Result<TempPath> {
    let mut file = tempfile::Builder::new()
        .prefix("argument-")
        .tempfile_in(directory)?;
    file.write_all(content.as_bytes())?;
    Ok(file.into_temp_path())
}
