//! The graph of modules of a crate, computed from its `use` declarations and paths, tests left out.
//!
//! Reads source text; must not be used to prove behaviour. What it shows is the text itself: which module names which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::repository;

/// Which module of a directory names which others of the same directory.
pub type Graph = BTreeMap<String, BTreeSet<String>>;

/// The graph of the modules directly in `directory`, which is below the `src` of a crate.
pub fn module_graph(source: &str, directory: &str) -> Graph {
    let source = repository().join(source);
    let root: Vec<String> = directory
        .split('/')
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    let base = source.join(directory);
    let modules: BTreeSet<String> = entries(&base).iter().filter_map(|it| name_of(it)).collect();
    let exported = exports(&base, &modules);
    let mut graph: Graph = modules
        .iter()
        .map(|it| (it.clone(), BTreeSet::new()))
        .collect();
    for file in files_below(&base) {
        let module = module_path(file.strip_prefix(&source).expect("below the source"));
        let Some(from) = module.get(root.len()) else {
            continue;
        };
        for path in paths_in(&code_of(&file)) {
            let Some(target) = resolved(&path, &module) else {
                continue;
            };
            let Some(named) = target
                .strip_prefix(root.as_slice())
                .and_then(<[String]>::first)
            else {
                continue;
            };
            let to = match modules.contains(named) {
                true => Some(named),
                false => exported.get(named),
            };
            if let Some(to) = to.filter(|to| *to != from) {
                graph.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    graph
}

/// Groups of modules that name each other, directly or in a circle.
pub fn cycles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reach = |start: &String| {
        let mut seen = BTreeSet::new();
        let mut waiting: Vec<&String> = graph[start].iter().collect();
        while let Some(module) = waiting.pop() {
            if seen.insert(module.clone()) {
                waiting.extend(graph.get(module).into_iter().flatten());
            }
        }
        seen
    };
    let reachable: BTreeMap<&String, BTreeSet<String>> =
        graph.keys().map(|module| (module, reach(module))).collect();
    let mut found: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (module, reached) in &reachable {
        if reached.contains(*module) {
            let circle = reached
                .iter()
                .filter(|other| reachable.get(other).is_some_and(|it| it.contains(*module)));
            found.insert(circle.cloned().collect());
        }
    }
    found.into_iter().collect()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory of modules");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// The module that a file or directory is, unless it holds only tests or is the directory's own.
fn name_of(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?.to_owned();
    let is_module = path.is_dir() || path.extension().is_some_and(|it| it == "rs");
    let is_own = matches!(stem.as_str(), "mod" | "lib" | "main");
    (is_module && !is_own && !stem.ends_with("_tests")).then_some(stem)
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(directory) {
        if path.is_dir() {
            found.extend(files_below(&path));
        } else if path.to_string_lossy().ends_with(".rs")
            && !path.to_string_lossy().ends_with("_tests.rs")
        {
            found.push(path);
        }
    }
    found
}

/// `service/tools/mod.rs` is `service`, `tools`.
fn module_path(file: &Path) -> Vec<String> {
    let mut parts: Vec<String> = file
        .with_extension("")
        .components()
        .map(|it| it.as_os_str().to_string_lossy().into_owned())
        .collect();
    if parts
        .last()
        .is_some_and(|it| matches!(it.as_str(), "mod" | "lib" | "main"))
    {
        parts.pop();
    }
    parts
}

/// The code of a file, without comments and without what is compiled for tests only.
fn code_of(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a source file");
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Names that a directory re-exports, and the module each comes from.
fn exports(directory: &Path, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let own = ["mod.rs", "lib.rs"].map(|name| directory.join(name));
    let mut found = BTreeMap::new();
    for file in own.iter().filter(|file| file.exists()) {
        for path in uses_in(&code_of(file)) {
            let path = match path.first().map(String::as_str) {
                Some("self") => &path[1..],
                _ => &path[..],
            };
            if let [module, .., name] = path
                && modules.contains(module)
            {
                found.insert(name.clone(), module.clone());
            }
        }
    }
    found
}

/// Every path that code names: in `use` declarations, and in place.
fn paths_in(code: &str) -> Vec<Vec<String>> {
    let mut paths = uses_in(code);
    for start in ["crate::", "super::"] {
        for (index, _) in code.match_indices(start) {
            let before = code[..index].chars().next_back();
            if before.is_some_and(|it| it.is_alphanumeric() || it == '_' || it == ':') {
                continue;
            }
            let end = code[index..].find(|it: char| !(it.is_alphanumeric() || "_:".contains(it)));
            let path = &code[index..end.map_or(code.len(), |end| index + end)];
            let parts = path.split("::").filter(|it| !it.is_empty());
            paths.push(parts.map(str::to_owned).collect());
        }
    }
    paths
}

fn uses_in(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (index, _) in code.match_indices("use ") {
        let line_start = code[..index].rfind('\n').map_or(0, |it| it + 1);
        let before = code[line_start..index].trim();
        if !before.is_empty() && !before.starts_with("pub") {
            continue;
        }
        let rest = &code[index + 4..];
        let tree = rest.split(';').next().unwrap_or_default();
        expand(
            &tree.split_whitespace().collect::<String>(),
            &[],
            &mut found,
        );
    }
    found
}

/// `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(tree: &str, prefix: &[String], found: &mut Vec<Vec<String>>) {
    let Some((head, inner)) = tree.split_once('{') else {
        let parts = tree.split("::").filter(|it| !it.is_empty());
        found.push(
            prefix
                .iter()
                .cloned()
                .chain(parts.map(str::to_owned))
                .collect(),
        );
        return;
    };
    let head = head
        .split("::")
        .filter(|it| !it.is_empty())
        .map(str::to_owned);
    let prefix: Vec<String> = prefix.iter().cloned().chain(head).collect();
    let inner = inner.strip_suffix('}').unwrap_or(inner);
    let (mut depth, mut start) = (0, 0);
    for (index, letter) in inner.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&inner[start..index], &prefix, found);
                start = index + 1;
            }
            _ => {}
        }
    }
    if start < inner.len() {
        expand(&inner[start..], &prefix, found);
    }
}

/// A path from the top of the crate; `None` for other crates.
fn resolved(path: &[String], module: &[String]) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([module, rest].concat()),
        "super" => {
            let parent = &module[..module.len().checked_sub(1)?];
            match rest.first().map(String::as_str) {
                Some("super") => resolved(rest, parent),
                _ => Some([parent, rest].concat()),
            }
        }
        _ => None,
    }
}
