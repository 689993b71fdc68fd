//! What is said of changes: one sentence each, many of a kind in one.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::known::{Change, What};
use super::names::{Kind, is_heap};

/// Sentences about one look; more are counted.
const MAX_SENTENCES: usize = 100;
/// Files below a directory of what others wrote that have a sentence each.
const FEW: usize = 2;

/// Says what has become of files, seen from a directory that is named so.
pub(super) fn sentences(changes: &[Change], root: &Path) -> Vec<String> {
    let appeared: BTreeMap<&Path, Kind> = changes
        .iter()
        .filter(|it| it.what == What::Appeared)
        .map(|it| (it.path.as_path(), it.kind))
        .collect();
    // A directory that has appeared stands for all that is in it, unless that is worse.
    let stands_for = |change: &Change| {
        let mut above = change.path.ancestors().skip(1);
        above.any(|it| {
            let kind = appeared.get(it);
            kind.is_some_and(|kind| *kind == Kind::Runs || change.kind == Kind::Instructs)
        })
    };
    let mut heaps: BTreeMap<PathBuf, Vec<&Change>> = BTreeMap::new();
    let mut told = Vec::new();
    for change in changes.iter().filter(|it| !stands_for(it)) {
        match heap_of(&change.path) {
            Some(heap) => heaps.entry(heap).or_default().push(change),
            None => told.push(sentence(change, root)),
        }
    }
    for (heap, changes) in heaps {
        if changes.len() <= FEW {
            told.extend(changes.into_iter().map(|it| sentence(it, root)));
            continue;
        }
        let (count, first) = (changes.len(), shown(root, &changes[0].path));
        let heap = shown(root, &heap);
        told.push(format!(
            "while commands ran, {count} files that programs outside the sandbox may run or obey have come or changed \
             below {heap}, such as {first}"
        ));
    }
    if told.len() > MAX_SENTENCES {
        let more = told.len() - MAX_SENTENCES;
        told.truncate(MAX_SENTENCES);
        told.push(format!("and {more} more such files have come or changed"));
    }
    told
}

fn sentence(change: &Change, root: &Path) -> String {
    let name = shown(root, &change.path);
    let what = match &change.what {
        What::Setting(setting) => {
            return format!(
                "while commands ran, {name} got `{setting}`, which is not known to be harmless: it may make Git run a \
                 program, read further settings or send data elsewhere; look at it before you use Git here"
            );
        }
        What::SecondName => {
            return format!(
                "while commands ran, {name} got a second name; what commands write there changes it, protected or not"
            );
        }
        What::Appeared => "has appeared",
        What::Changed => "has changed",
    };
    match change.kind {
        Kind::Runs => format!(
            "while commands ran, {name} {what}; programs outside the sandbox may run what is in it, so look at it before \
             you use them here"
        ),
        Kind::Instructs => {
            format!(
                "for information: while commands ran, {name} {what}; agents read it as instructions, and later changes are not \
                 told"
            )
        }
    }
}

/// The outermost directory on the way that holds what others wrote.
fn heap_of(path: &Path) -> Option<PathBuf> {
    let parts: Vec<&OsStr> = path.iter().collect();
    let heap = parts.iter().position(|it| is_heap(it.as_bytes()))?;
    (heap + 1 < parts.len()).then(|| parts[..=heap].iter().collect())
}

/// A path as it is told: names that commands made up cannot be taken for something else.
pub(super) fn shown(root: &Path, path: &Path) -> String {
    let path = root.join(path);
    let text = path.to_string_lossy();
    let plain = text
        .chars()
        .map(|it| if it.is_control() { '\u{fffd}' } else { it });
    plain.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, what: What) -> Change {
        Change {
            path: path.into(),
            kind: Kind::Runs,
            what,
            moment: None,
        }
    }

    #[test]
    fn what_belongs_together_is_told_once() {
        let changes = [
            change(".vscode", What::Appeared),
            change(".vscode/tasks.json", What::Appeared),
            change(".cursor/mcp.json", What::Changed),
            change("a/node_modules/x/.vscode", What::Appeared),
            change("a/node_modules/y/.vscode", What::Appeared),
            change("a/node_modules/z/.vscode", What::Appeared),
            change("vendor/x/.vscode", What::Appeared),
        ];
        let told = sentences(&changes, Path::new(""));
        assert_eq!(told.len(), 4, "{told:#?}");
        assert!(told[0].contains(".vscode has appeared"), "{told:?}");
        assert!(told[1].contains(".cursor/mcp.json has changed"), "{told:?}");
        assert!(
            told[2].contains("3 files") && told[2].contains("a/node_modules"),
            "{told:?}"
        );
        assert!(
            told[3].contains("vendor/x/.vscode has appeared"),
            "{told:?}"
        );
    }

    #[test]
    fn there_are_not_too_many_sentences() {
        let many = (0..300).map(|it| change(&format!("{it}/.envrc"), What::Appeared));
        let told = sentences(&many.collect::<Vec<_>>(), Path::new(""));
        assert_eq!(told.len(), MAX_SENTENCES + 1);
        assert!(told[MAX_SENTENCES].contains("200 more"));
    }

    #[test]
    fn a_name_cannot_end_the_line() {
        let told = sentences(&[change("a\nb/.envrc", What::Appeared)], Path::new(""));
        assert!(!told[0].contains('\n'), "{told:?}");
    }
}
