//! From source files to a catalogue: every file files alone, then all of them together.

use std::path::PathBuf;

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

/// Checks all files. Never fails: what is wrong is in the result.
pub fn load(sources: Vec<SourceFile>, facts: &ServerFacts) -> Catalog {
    let checked = sources.into_iter().map(|source| check(source, facts));
    link::link(checked.collect(), facts)
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
    let text = match text::decode_utf8(&bytes) {
        Ok(text) => text.to_owned(),
        Err(fault) => {
            let excerpt = bytes.get(..text::MAX_FILE_BYTES).unwrap_or(&bytes);
            return unreadable(path, String::from_utf8_lossy(excerpt).into_owned(), *fault);
        }
    };
    let faults = Faults::default();
    let tree = match text::parse(&text, &faults) {
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
