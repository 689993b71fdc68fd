//! From source files to a catalogue: every file judged alone, then all of them together.

use std::path::PathBuf;

use super::decode::decode;
use super::fault::{Fault, FaultList, Faults};
use super::files::SourceFile;
use super::link;
use super::raw::RawToolFile;
use super::resolve::resolve;
use super::spec::{LeafSpec, ToolSpec};
use super::text;

/// What a set of tool files amounts to.
#[derive(Debug, Default)]
pub struct Catalog {
    /// Accepted files, in the order they were given.
    pub tools: Vec<ToolSpec>,
    /// Rejected files, in the order they were given. None of them keeps another from working.
    pub rejected: Vec<RejectedFile>,
}

impl Catalog {
    /// Every MCP tool of every accepted file, in order.
    pub fn leaves(&self) -> impl Iterator<Item = (&ToolSpec, &LeafSpec)> {
        self.tools
            .iter()
            .flat_map(|tool| tool.leaves.iter().map(move |leaf| (tool, leaf.as_ref())))
    }
}

/// A file that is not served, and why.
#[derive(Debug)]
pub struct RejectedFile {
    /// The file.
    pub path: PathBuf,
    /// Its text as far as it could be read, for showing the faults in their lines.
    pub text: String,
    /// Everything that is wrong with it; never empty.
    pub faults: Vec<Fault>,
}

/// Judges all files. Never fails: what is wrong is in the result.
pub fn load(sources: Vec<SourceFile>) -> Catalog {
    link::link(sources.into_iter().map(judge).collect())
}

/// A file judged alone.
pub(super) struct Judged {
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// What the file says, as far as it could be made out; to be used only without faults.
    pub(super) tool: Option<ToolSpec>,
    /// What is wrong with it, by pointer.
    pub(super) faults: FaultList,
    /// What is wrong with it when there is no JSON to point into.
    pub(super) unreadable: Option<Fault>,
}

fn judge(source: SourceFile) -> Judged {
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
    let tool = decode::<RawToolFile>(&tree, &faults).map(|raw| resolve(&raw, &path, &faults));
    drop(tree);
    Judged {
        path,
        text,
        tool,
        faults: faults.into_list(),
        unreadable: None,
    }
}

fn unreadable(path: PathBuf, text: String, fault: Fault) -> Judged {
    Judged {
        path,
        text,
        tool: None,
        faults: FaultList::default(),
        unreadable: Some(fault),
    }
}
