//! Which prompt files and resource files are checked.

use std::path::{Path, PathBuf};

use ahma_core::config::files::{self, Selection, SourceFile};

/// Those of the project in the working directory; none where it has no such directory.
pub(crate) fn of_project(name: &str) -> Result<Vec<SourceFile>, String> {
    let mut found = Vec::new();
    for (directory, selection) in files::project_directory(Path::new("."), name) {
        found.extend(directory_of(&directory, selection)?);
    }
    Ok(found)
}

/// Those that were named, or are in directories that were.
pub(crate) fn find(paths: &[PathBuf]) -> Result<Vec<SourceFile>, String> {
    let mut found: Vec<SourceFile> = Vec::new();
    for path in paths {
        if path.symlink_metadata().is_err() {
            return Err(format!("there is no file or directory {}", path.display()));
        }
        let files = match path.is_dir() {
            true => directory_of(path, Selection::Every)?,
            false => vec![files::read_file(path.clone())],
        };
        for file in files {
            if !found.iter().any(|it| it.path == file.path) {
                found.push(file);
            }
        }
    }
    Ok(found)
}

fn directory_of(directory: &Path, selection: Selection) -> Result<Vec<SourceFile>, String> {
    files::read_directory(directory, selection)
        .map_err(|error| format!("{} cannot be read: {error}", directory.display()))
}
