//! Which tool files are read: those the operator names or those of the project, and the ones in this program.

use std::path::{Path, PathBuf};

use super::surface::Surface;
use crate::config::files::{self, Selection, SourceFile};

/// The tool files that come with the program.
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
    directories: Vec<(PathBuf, Selection)>,
    /// Whether those that come with the program are read too.
    with_shipped: bool,
}

/// What the operator says about tool files, whatever the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFileRules {
    /// Directories of tool files; empty means those of the project.
    pub directories: Vec<PathBuf>,
    /// Whether those that come with the program are left out.
    pub without_shipped: bool,
    /// Which tools are listed.
    pub surface: Surface,
}

/// Tool files as they were read.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// Those of the project, or of the directories that were named.
    pub own: Vec<SourceFile>,
    /// Those that come with the program.
    pub shipped: Vec<SourceFile>,
}

impl ToolFileRules {
    /// The directories that were named, else the project's own.
    pub fn files_of(&self, project: &Path) -> ToolFiles {
        let directories = if self.directories.is_empty() {
            files::project_tools_directories(project)
        } else {
            let named = self.directories.iter().cloned();
            named.map(|it| (it, Selection::Every)).collect()
        };
        ToolFiles {
            directories,
            with_shipped: !self.without_shipped,
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

    /// Reads all files.
    pub fn read(&self) -> Result<FoundFiles, String> {
        let mut found = FoundFiles::default();
        for (directory, selection) in &self.directories {
            let files = files::read_directory(directory, *selection).map_err(|error| {
                let directory = directory.display();
                format!("the tools directory {directory} cannot be read: {error}")
            })?;
            found.own.extend(files);
        }
        if self.with_shipped {
            found.shipped = shipped();
        }
        Ok(found)
    }
}

fn shipped() -> Vec<SourceFile> {
    let files = SHIPPED.iter().map(|(name, text)| SourceFile {
        path: Path::new("(built in)").join(name),
        content: Ok(text.as_bytes().to_vec()),
    });
    files.collect()
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
