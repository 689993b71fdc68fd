//! Which tool files are used: those of the operator, of the project, or the ones in this program.

use std::path::{Path, PathBuf};

use super::args::Args;
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

/// Reads the tool files for a project: the directories that were named, else the project's own, else
/// those of the program; of these the files that were asked for.
pub(super) fn read(args: &Args, project: &Path) -> Result<Vec<SourceFile>, String> {
    let mut sources = read_all(args, project)?;
    if let Some(unknown) = args.tools.iter().find(|name| !is_among(name, &sources)) {
        return Err(format!("there is no tool file {unknown}.json"));
    }
    if !args.tools.is_empty() {
        sources.retain(|source| args.tools.iter().any(|name| is_called(&source.path, name)));
    }
    Ok(sources)
}

fn read_all(args: &Args, project: &Path) -> Result<Vec<SourceFile>, String> {
    let directories: Vec<(PathBuf, Selection)> = if args.tools_dir.is_empty() {
        match files::project_tools_directory(project) {
            Some(found) => vec![found],
            None => return Ok(shipped()),
        }
    } else {
        let every = args
            .tools_dir
            .iter()
            .map(|directory| (directory.clone(), Selection::Every));
        every.collect()
    };
    let mut sources = Vec::new();
    for (directory, selection) in directories {
        let found = files::read_directory(&directory, selection).map_err(|error| {
            format!(
                "the tools directory {} cannot be read: {error}",
                directory.display()
            )
        })?;
        sources.extend(found);
    }
    Ok(sources)
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
