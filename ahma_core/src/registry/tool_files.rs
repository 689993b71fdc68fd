//! Which tool files are read: those the operator names, those of the project, or the ones in this program.

use std::path::{Path, PathBuf};

use crate::config::files::{self, Selection, SourceFile};

/// The tool files that come with the program, for projects without their own.
const SHIPPED: [(&str, &str); 8] = [
    ("cargo.json", include_str!("../../../tools/cargo.json")),
    ("files.json", include_str!("../../../tools/files.json")),
    ("gh.json", include_str!("../../../tools/gh.json")),
    ("git.json", include_str!("../../../tools/git.json")),
    ("make.json", include_str!("../../../tools/make.json")),
    ("npm.json", include_str!("../../../tools/npm.json")),
    ("python.json", include_str!("../../../tools/python.json")),
    ("rg.json", include_str!("../../../tools/rg.json")),
];

/// Where the tool files of a project come from. Decided once: a directory that appears later is not
/// looked at, because a command could have made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFiles {
    /// None means those of the program.
    directories: Vec<(PathBuf, Selection)>,
    /// Only these files, by name; empty means all.
    only: Vec<String>,
}

/// What the operator says about tool files, whatever the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFileRules {
    /// Directories of tool files; empty means those of the project, else the ones that come with the program.
    pub directories: Vec<PathBuf>,
    /// Only these files, named without `.json`; empty means all.
    pub only: Vec<String>,
}

impl ToolFileRules {
    /// The directories that were named, else the project's own, else none.
    pub fn files_of(&self, project: &Path) -> ToolFiles {
        let directories = if self.directories.is_empty() {
            files::project_tools_directory(project)
                .into_iter()
                .collect()
        } else {
            let named = self.directories.iter().cloned();
            named.map(|it| (it, Selection::Every)).collect()
        };
        ToolFiles {
            directories,
            only: self.only.clone(),
        }
    }
}

impl ToolFiles {
    /// The directories that are read.
    pub fn directories(&self) -> Vec<PathBuf> {
        let directories = self.directories.iter();
        directories
            .map(|(directory, _)| directory.clone())
            .collect()
    }

    /// Reads all files. A file that was asked for must be there.
    pub fn read(&self) -> Result<Vec<SourceFile>, String> {
        let mut sources = Vec::new();
        for (directory, selection) in &self.directories {
            let found = files::read_directory(directory, *selection).map_err(|error| {
                let directory = directory.display();
                format!("the tools directory {directory} cannot be read: {error}")
            })?;
            sources.extend(found);
        }
        if self.directories.is_empty() {
            sources = shipped();
        }
        if let Some(unknown) = self.only.iter().find(|name| !is_among(name, &sources)) {
            return Err(format!("there is no tool file {unknown}.json"));
        }
        if !self.only.is_empty() {
            sources.retain(|source| self.only.iter().any(|name| is_called(&source.path, name)));
        }
        Ok(sources)
    }
}

fn shipped() -> Vec<SourceFile> {
    let files = SHIPPED.iter().map(|(name, text)| SourceFile {
        path: Path::new("(built in)").join(name),
        content: Ok(text.as_bytes().to_vec()),
    });
    files.collect()
}

fn is_among(name: &str, sources: &[SourceFile]) -> bool {
    sources.iter().any(|source| is_called(&source.path, name))
}

fn is_called(path: &Path, name: &str) -> bool {
    path.file_stem().is_some_and(|stem| stem == name)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use super::*;

    /// Proves: T37.
    #[test]
    fn every_tool_file_of_the_repository_is_in_the_program() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools");
        let mut names: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, SHIPPED.map(|(name, _)| name.to_owned()));
    }
}
