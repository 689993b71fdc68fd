//! Which files are checked: those asked for, and beside single files their neighbours, which their
//! sequences may call.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use ahma_core::config::SCHEMA_FILE_NAME;
use ahma_core::config::files::{self, Selection, SourceFile};

/// Files to load, and which of them the user wants to hear about.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) files: Vec<SourceFile>,
    /// In the order they were asked for.
    pub(crate) asked_for: Vec<PathBuf>,
    /// What the user should know about the choice.
    pub(crate) notes: Vec<String>,
    /// Real paths of the files so far: one file can be named in several ways.
    known: HashSet<PathBuf>,
    directories: HashSet<PathBuf>,
}

impl Sources {
    /// Finds the files for the paths given, or for the project when none is.
    pub(crate) fn find(paths: &[PathBuf]) -> Result<Self, String> {
        let mut sources = Sources::default();
        if paths.is_empty() {
            sources.add_project()?;
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

    fn add_project(&mut self) -> Result<(), String> {
        let found = files::project_tools_directories(Path::new("."));
        if found.is_empty() {
            return Err(
                "there is neither a `.ahma/tools` directory here, nor a tool file in `tools`\n\
                 hint: name files or directories, as in `ahma_validate my-tools/`"
                    .to_owned(),
            );
        }
        for (directory, selection) in found {
            let before = self.files.len();
            self.add_directory(&directory, selection)?;
            let all = read_directory(&directory, Selection::Every)?.len();
            let passed_over = all - (self.files.len() - before);
            if passed_over > 0 {
                self.notes.push(format!(
                    "{passed_over} of the files in {} were passed over: in a directory of that name, only objects \
                     with `name`, `description` and `command`, or with {SCHEMA_FILE_NAME} as their `$schema`, are tool files\n\
                     hint: add `$schema` to them, move them to `.ahma/tools`, or name the directory: \
                     `ahma_validate {}`",
                    normalised(&directory).display(),
                    normalised(&directory).display(),
                ));
            }
        }
        Ok(())
    }

    fn add_directory(&mut self, directory: &Path, selection: Selection) -> Result<(), String> {
        for file in read_directory(directory, selection)? {
            let path = file.path.clone();
            if self.add(file) {
                self.asked_for.push(path);
            }
        }
        self.directories.insert(real(directory));
        Ok(())
    }

    fn add_file(&mut self, path: &Path) -> Result<(), String> {
        if path.symlink_metadata().is_err() {
            return Err(format!("there is no file or directory {}", path.display()));
        }
        let path = normalised(path);
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        // In the order the server would load them, so that of two equal names the same one stays.
        if self.directories.insert(real(directory)) {
            for neighbour in read_directory(directory, Selection::Every)? {
                self.add(neighbour);
            }
        }
        self.add(files::read_file(path.clone()));
        let identity = identity(&path);
        let file = self
            .files
            .iter()
            .find(|file| self::identity(&file.path) == identity);
        if let Some(path) = file.map(|file| file.path.clone())
            && !self.asked_for.contains(&path)
        {
            self.asked_for.push(path);
        }
        Ok(())
    }

    /// Adds a file; `false` when it is there already.
    fn add(&mut self, file: SourceFile) -> bool {
        let is_new = self.known.insert(identity(&file.path));
        if is_new {
            self.files.push(file);
        }
        is_new
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

/// The real path of the directory, and the name in it: a link to a file is a tool file of its own.
fn identity(path: &Path) -> PathBuf {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => real(parent),
        _ => real(Path::new(".")),
    };
    path.file_name()
        .map_or(directory.clone(), |name| directory.join(name))
}

fn real(directory: &Path) -> PathBuf {
    directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned())
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
