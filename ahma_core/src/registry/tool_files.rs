//! Which tool files, prompt files and resource files are read: those the operator names or those of the project, and the ones in
//! this program.

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

/// The prompt files that come with the program.
const SHIPPED_PROMPTS: [(&str, &str); 3] = [
    (
        "commit_message.json",
        include_str!("../../../tools/prompts/commit_message.json"),
    ),
    (
        "failing_test.json",
        include_str!("../../../tools/prompts/failing_test.json"),
    ),
    (
        "review_change.json",
        include_str!("../../../tools/prompts/review_change.json"),
    ),
];

/// Where the tool files of a project come from. Decided once: a directory that appears later is not
/// looked at, because a command could have made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFiles {
    directories: Vec<(PathBuf, Selection)>,
    prompts: Vec<(PathBuf, Selection)>,
    resources: Vec<(PathBuf, Selection)>,
    /// Whether those that come with the program are read too.
    with_shipped: bool,
}

/// What the operator says about tool files, whatever the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFileRules {
    /// Directories of tool files; empty means those of the project.
    pub directories: Vec<PathBuf>,
    /// Directories of prompt files; empty means that of the project.
    pub prompts: Vec<PathBuf>,
    /// Directories of resource files; empty means that of the project.
    pub resources: Vec<PathBuf>,
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
    /// Prompt files of the project, or of the directories that were named.
    pub prompts: Vec<SourceFile>,
    /// Prompt files that come with the program.
    pub shipped_prompts: Vec<SourceFile>,
    /// Resource files.
    pub resources: Vec<SourceFile>,
}

impl ToolFileRules {
    /// The directories that were named, else the project's own.
    pub fn files_of(&self, project: &Path) -> ToolFiles {
        let directories = if self.directories.is_empty() {
            files::project_tools_directories(project)
        } else {
            every(&self.directories)
        };
        let or_of_project = |named: &[PathBuf], name: &str| match named {
            [] => files::project_directory(project, name),
            named => every(named),
        };
        ToolFiles {
            directories,
            prompts: or_of_project(&self.prompts, "prompts"),
            resources: or_of_project(&self.resources, "resources"),
            with_shipped: !self.without_shipped,
        }
    }
}

/// All files of these directories, as the operator says.
fn every(directories: &[PathBuf]) -> Vec<(PathBuf, Selection)> {
    let named = directories.iter().cloned();
    named.map(|it| (it, Selection::Every)).collect()
}

impl ToolFiles {
    /// The directories that are read.
    pub fn directories(&self) -> Vec<PathBuf> {
        let tools = self.directories.iter();
        let all = tools.chain(&self.prompts).chain(&self.resources);
        all.map(|(directory, _)| directory.clone()).collect()
    }

    /// Reads all files.
    pub fn read(&self) -> Result<FoundFiles, String> {
        let mut found = FoundFiles {
            own: read_all(&self.directories, "tools")?,
            prompts: read_all(&self.prompts, "prompts")?,
            resources: read_all(&self.resources, "resources")?,
            ..FoundFiles::default()
        };
        if self.with_shipped {
            found.shipped = shipped(&SHIPPED);
            found.shipped_prompts = shipped(&SHIPPED_PROMPTS);
        }
        Ok(found)
    }
}

fn read_all(directories: &[(PathBuf, Selection)], kind: &str) -> Result<Vec<SourceFile>, String> {
    let mut all = Vec::new();
    for (directory, selection) in directories {
        let files = files::read_directory(directory, *selection).map_err(|error| {
            let directory = directory.display();
            format!("the {kind} directory {directory} cannot be read: {error}")
        })?;
        all.extend(files);
    }
    Ok(all)
}

fn shipped(files: &[(&str, &str)]) -> Vec<SourceFile> {
    let files = files.iter().map(|(name, text)| SourceFile {
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
        let names = |directory: &str| {
            let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
            let mut names: Vec<String> = std::fs::read_dir(directory)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        let mut tools: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
        tools.push("prompts");
        tools.sort_unstable();
        assert_eq!(names("../tools"), tools);
        let prompts = SHIPPED_PROMPTS.map(|(name, _)| name.to_owned());
        assert_eq!(names("../tools/prompts"), prompts);
    }
}
