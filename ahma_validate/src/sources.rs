//! Which files are checked: those asked for, and beside single files their neighbours, which their
//! sequences may call.

use std::path::{Component, Path, PathBuf};

use ahma_core::config::files::{self, Selection, SourceFile};

/// Files to load, and which of them the user wants to hear about.
pub(crate) struct Sources {
    pub(crate) files: Vec<SourceFile>,
    /// In the order they were asked for.
    pub(crate) asked_for: Vec<PathBuf>,
}

impl Sources {
    /// Finds the files for the paths given, or for the project when none is.
    pub(crate) fn find(paths: &[PathBuf]) -> Result<Self, String> {
        let mut sources = Sources {
            files: Vec::new(),
            asked_for: Vec::new(),
        };
        if paths.is_empty() {
            let (directory, selection) = files::project_tools_directory(Path::new("."))
                .ok_or_else(|| {
                    "there is neither a `.ahma/tools` nor a `tools` directory here\n\
                     hint: name files or directories, as in `ahma_validate my-tools/`"
                        .to_owned()
                })?;
            sources.add_directory(&directory, selection)?;
        }
        // Directories first: a file of one of them is then known and not read again.
        for path in paths.iter().filter(|path| path.is_dir() && !is_json(path)) {
            sources.add_directory(path, Selection::Every)?;
        }
        for path in paths.iter().filter(|path| !path.is_dir() || is_json(path)) {
            sources.add_file(path)?;
        }
        Ok(sources)
    }

    fn add_directory(&mut self, directory: &Path, selection: Selection) -> Result<(), String> {
        for file in read_directory(directory, selection)? {
            self.ask_for(file.path.clone());
            self.add(file);
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path) -> Result<(), String> {
        if path.symlink_metadata().is_err() {
            return Err(format!("there is no file or directory {}", path.display()));
        }
        let path = normalised(path);
        self.ask_for(path.clone());
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        // In the order the server would load them, so that of two equal names the same one stays.
        for neighbour in read_directory(directory, Selection::Every)? {
            self.add(neighbour);
        }
        self.add(files::read_file(path));
        Ok(())
    }

    fn ask_for(&mut self, path: PathBuf) {
        if !self.asked_for.contains(&path) {
            self.asked_for.push(path);
        }
    }

    fn add(&mut self, file: SourceFile) {
        if !self.files.iter().any(|known| known.path == file.path) {
            self.files.push(file);
        }
    }
}

fn read_directory(directory: &Path, selection: Selection) -> Result<Vec<SourceFile>, String> {
    let mut files = files::read_directory(directory, selection).map_err(|error| {
        format!(
            "the directory {} cannot be read: {error}",
            directory.display()
        )
    })?;
    for file in &mut files {
        file.path = normalised(&file.path);
    }
    Ok(files)
}

/// `./x.json` and `x.json` are one file; it is shown without the dot.
fn normalised(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .collect()
}

fn is_json(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json")
}
