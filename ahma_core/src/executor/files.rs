//! Values that a command gets as files: written before it starts, removed when it has ended.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::TempPath;
use tokio::task::spawn_blocking;

use super::command_line::Word;

/// The words of a command line, with the files they name. Dropping it removes the files.
pub(super) struct WordsOnDisk {
    pub(super) words: Vec<OsString>,
    files: Vec<TempPath>,
}

impl WordsOnDisk {
    /// Writes what has to be written into `directory`, which commands can read.
    pub(super) async fn write(words: &[Word], directory: &Path) -> io::Result<Self> {
        let mut written = WordsOnDisk {
            words: Vec::with_capacity(words.len()),
            files: Vec::new(),
        };
        for word in words {
            match word {
                Word::Text(text) => written.words.push(text.into()),
                Word::File { prefix, content } => {
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
