//! Which tools are listed, and which are only found by searching: a list that is too long helps no client.

use crate::config::{ToolFile, ToolSpec, nearest};

/// What the operator wants listed; without a word the core tools of every file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surface {
    /// What is listed.
    listed: Vec<Choice>,
    /// What is left out of it.
    left_out: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Choice {
    All,
    Core,
    /// A file, by the name of its tool, or a single tool.
    Named(String),
}

impl Default for Surface {
    /// The core tools.
    fn default() -> Self {
        Surface::new(&[])
    }
}

impl Surface {
    /// From the words of `--tools`: `all`, `none`, `core`, names of files and of single tools, with `-` to leave one out.
    pub fn new(words: &[String]) -> Self {
        let mut surface = Surface {
            listed: Vec::new(),
            left_out: Vec::new(),
        };
        let mut says_none = false;
        for word in words {
            match word.as_str() {
                "all" => surface.listed.push(Choice::All),
                "core" => surface.listed.push(Choice::Core),
                "none" => says_none = true,
                name => match name.strip_prefix('-') {
                    Some(name) => surface.left_out.push(name.to_owned()),
                    None => surface.listed.push(Choice::Named(name.to_owned())),
                },
            }
        }
        if surface.listed.is_empty() && !says_none {
            surface.listed.push(Choice::Core);
        }
        surface
    }

    /// Whether a tool is listed. Those of a project are core unless their file says otherwise, those that come with the
    /// program only when it says so.
    pub(super) fn lists(&self, file: &ToolFile, tool: &ToolSpec) -> bool {
        let is_called = |name: &String| *name == tool.name || *name == file.name;
        let is_chosen = self.listed.iter().any(|choice| match choice {
            Choice::All => true,
            Choice::Core => tool.core.unwrap_or(!file.is_shipped),
            Choice::Named(name) => is_called(name),
        });
        let is_left_out = self.left_out.iter().any(is_called);
        is_chosen && !is_left_out
    }

    /// A word that names nothing, with what was probably meant.
    pub fn unknown<'f>(&self, files: impl Iterator<Item = &'f ToolFile> + Clone) -> Option<String> {
        let chosen = self.listed.iter().filter_map(|choice| match choice {
            Choice::Named(name) => Some(name),
            Choice::All | Choice::Core => None,
        });
        let names = || {
            let of_tools = files.clone().flat_map(|file| &file.tools);
            let of_tools = of_tools.map(|tool| tool.name.as_str());
            let switched_off = files.clone().flat_map(|file| &file.disabled);
            let of_files = files.clone().map(|file| file.name.as_str());
            of_files
                .chain(of_tools)
                .chain(switched_off.map(String::as_str))
        };
        let unknown = chosen
            .chain(&self.left_out)
            .find(|name| !names().any(|known| known == name.as_str()))?;
        let mut message = format!("there is no tool file and no tool `{unknown}`");
        match nearest(unknown, names()) {
            Some(right) => message += &format!("; did you mean `{right}`?"),
            None => {
                let files: Vec<&str> = files.map(|file| file.name.as_str()).collect();
                message += &format!("; tool files: {}", files.join(", "));
            }
        }
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::files::SourceFile;
    use crate::config::load_beside;

    fn listed(words: &[&str]) -> Vec<String> {
        let file = |name: &str, text: &str| SourceFile {
            path: name.into(),
            content: Ok(text.as_bytes().to_vec()),
        };
        let own = r#"{ "name": "own", "description": "d", "command": "c", "subcommand": [
            { "name": "a", "description": "d" }, { "name": "b", "description": "d", "core": false } ] }"#;
        let shipped = r#"{ "name": "git", "description": "d", "command": "git", "subcommand": [
            { "name": "log", "description": "d", "core": true }, { "name": "gc", "description": "d" } ] }"#;
        let catalog = load_beside(
            vec![file("own.json", own)],
            vec![file("git.json", shipped)],
            &crate::server_facts(),
        );
        assert!(catalog.rejected.is_empty());
        let words: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
        let surface = Surface::new(&words);
        assert_eq!(surface.unknown(catalog.files.iter()), None);
        let chosen = catalog
            .tools()
            .filter(|(file, tool)| surface.lists(file, tool));
        chosen.map(|(_, tool)| tool.name.clone()).collect()
    }

    /// Proves: T47.
    #[test]
    fn words_choose_files_and_single_tools() {
        for (words, expected) in [
            (&[][..], &["own_a", "git_log"][..]),
            (&["core"], &["own_a", "git_log"]),
            (&["all"], &["own_a", "own_b", "git_log", "git_gc"]),
            (&["none"], &[]),
            (&["git"], &["git_log", "git_gc"]),
            (&["git_gc", "own_b"], &["own_b", "git_gc"]),
            (&["core", "git_gc"], &["own_a", "git_log", "git_gc"]),
            (&["-git"], &["own_a"]),
            (&["all", "-git_gc"], &["own_a", "own_b", "git_log"]),
        ] {
            assert_eq!(listed(words), expected, "{words:?}");
        }
    }
}
