//! From source files to a catalogue: every file files alone, then all of them together.

use std::collections::HashSet;
use std::path::PathBuf;
use std::thread;

use super::catalog::Catalog;
use super::checked::CheckedFile;
use super::decode::decode;
use super::fault::{Fault, FaultList, Faults};
use super::files::SourceFile;
use super::link;
use super::raw::RawToolFile;
use super::resolve::resolve;
use super::server_facts::ServerFacts;
use super::text;

/// Bytes of files that two threads check sooner than one.
const WORTH_A_THREAD: usize = 64 * 1024;

/// Checks all files. Never fails: what is wrong is in the result.
pub fn load(sources: Vec<SourceFile>, facts: &ServerFacts) -> Catalog {
    load_beside(sources, Vec::new(), facts)
}

/// The same beside the files that come with the program, which give way: a file of the same name takes the place of one of
/// them, and a tool of the same name that of a single tool.
pub fn load_beside(
    sources: Vec<SourceFile>,
    shipped: Vec<SourceFile>,
    facts: &ServerFacts,
) -> Catalog {
    let own = check_all(sources, facts);
    let mut shipped = check_all(shipped, facts);
    shipped.retain(|file| !own.iter().any(|other| other.replaces(file)));
    let taken: HashSet<&str> = own
        .iter()
        .filter(|file| file.is_valid())
        .flat_map(|file| file.tools().iter().map(|tool| tool.name.as_str()))
        .collect();
    for file in shipped.iter_mut().filter_map(|file| file.parsed.as_mut()) {
        file.is_shipped = true;
        file.tools
            .retain(|tool| !taken.contains(tool.name.as_str()));
    }
    drop(taken);
    link::link(own.into_iter().chain(shipped).collect(), facts)
}

/// Checks files one by one; many of them in two threads, since a client waits for its tools.
fn check_all(sources: Vec<SourceFile>, facts: &ServerFacts) -> Vec<CheckedFile> {
    let in_order = |sources: Vec<SourceFile>| -> Vec<CheckedFile> {
        sources.into_iter().map(|it| check(it, facts)).collect()
    };
    let size = |it: &SourceFile| it.content.as_ref().map_or(0, Vec::len);
    let mut rest: usize = sources.iter().map(size).sum();
    if rest < WORTH_A_THREAD {
        return in_order(sources);
    }
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let half = rest / 2;
    for source in sources {
        rest -= size(&source);
        if rest >= half {
            first.push(source);
        } else {
            second.push(source);
        }
    }
    thread::scope(|scope| {
        let other = scope.spawn(|| in_order(second));
        let mut checked = in_order(first);
        match other.join() {
            Ok(others) => checked.extend(others),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        checked
    })
}

fn check(source: SourceFile, facts: &ServerFacts) -> CheckedFile {
    let path = source.path;
    let bytes = match source.content {
        Ok(bytes) => bytes,
        Err(fault) => {
            let fault = text::whole_file_fault(fault.message, &fault.hint);
            return unreadable(path, String::new(), *fault);
        }
    };
    let text = match text::decode_utf8(&bytes, &text::TOOL_FILE) {
        Ok(text) => text.to_owned(),
        Err(fault) => {
            let excerpt = bytes.get(..text::MAX_FILE_BYTES).unwrap_or(&bytes);
            return unreadable(path, String::from_utf8_lossy(excerpt).into_owned(), *fault);
        }
    };
    let faults = Faults::default();
    let tree = match text::parse(&text, &text::TOOL_FILE, &faults) {
        Ok(tree) => tree,
        Err(fault) => {
            let fault = *fault;
            return unreadable(path, text, fault);
        }
    };
    let parsed =
        decode::<RawToolFile>(&tree, &faults).map(|raw| resolve(&raw, &path, facts, &faults));
    drop(tree);
    CheckedFile {
        path,
        text,
        parsed,
        faults: faults.into_list(),
        unreadable: None,
    }
}

fn unreadable(path: PathBuf, text: String, fault: Fault) -> CheckedFile {
    CheckedFile {
        path,
        text,
        parsed: None,
        faults: FaultList::default(),
        unreadable: Some(fault),
    }
}
