//! From source files to a catalogue: every file judged alone, then all of them together.

use std::path::PathBuf;

use super::decode::decode;
use super::fault::{Fault, Faults};
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
            .flat_map(|tool| tool.leaves.iter().map(move |leaf| (tool, leaf)))
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
pub(super) enum Judged {
    Accepted {
        text: String,
        tool: ToolSpec,
    },
    Rejected {
        file: RejectedFile,
        /// Names of the tools it would have offered, as far as they could be made out.
        claimed: Vec<String>,
    },
}

fn judge(source: SourceFile) -> Judged {
    let path = source.path;
    let bytes = match source.content {
        Ok(bytes) => bytes,
        Err(fault) => {
            let fault = text::whole_file_fault(fault.message, &fault.hint);
            return rejected(path, String::new(), vec![*fault], Vec::new());
        }
    };
    let text = match text::decode_utf8(&bytes) {
        Ok(text) => text.to_owned(),
        Err(fault) => {
            let excerpt = bytes.get(..text::MAX_FILE_BYTES).unwrap_or(&bytes);
            let excerpt = String::from_utf8_lossy(excerpt).into_owned();
            return rejected(path, excerpt, vec![*fault], Vec::new());
        }
    };
    let faults = Faults::default();
    let tree = match text::parse(&text, &faults) {
        Ok(tree) => tree,
        Err(fault) => {
            let fault = vec![*fault];
            return rejected(path, text, fault, Vec::new());
        }
    };
    let tool = decode::<RawToolFile>(&tree, &faults).map(|raw| resolve(&raw, &path, &faults));
    drop(tree);
    match tool {
        Some(tool) if faults.is_empty() => Judged::Accepted { text, tool },
        tool => {
            let claimed = tool
                .map(|tool| tool.leaves.into_iter().map(|leaf| leaf.name).collect())
                .unwrap_or_default();
            let faults = text::locate(&text, faults.into_list());
            rejected(path, text, faults, claimed)
        }
    }
}

fn rejected(path: PathBuf, text: String, faults: Vec<Fault>, claimed: Vec<String>) -> Judged {
    let file = RejectedFile { path, text, faults };
    Judged::Rejected { file, claimed }
}
