//! From source files to prompts and resources: every file checked alone, then names that are taken twice.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::super::catalog::{RejectedFile, WarnedFile};
use super::super::decode::decode;
use super::super::fault::{Fault, FaultList, Faults, PlacedFault};
use super::super::files::SourceFile;
use super::super::text::{self, Advice};
use super::raw::{RawPromptFile, RawResourceFile};
use super::spec::{PromptSpec, ResourceSpec};
use super::{prompt, resource};

const PROMPT_FILE: Advice = Advice {
    too_large: "put what is long into files of the project, and name them",
    too_deep: "a prompt file needs only a few levels of nesting",
    empty: "a prompt file holds one JSON object with `name`, `description` and `messages`",
    several_documents: "one file holds one prompt; use a file for each",
    has_comments: true,
};

const RESOURCE_FILE: Advice = Advice {
    too_large: "put the text into a file of the project, and name it with `file`",
    too_deep: "a resource file needs only a few levels of nesting",
    empty: "a resource file holds one JSON object with `uri`, `name` and `file`",
    several_documents: "one file holds one resource, or family of resources; use a file for each",
    has_comments: true,
};

/// What files amount to: those that are right, and the others.
#[derive(Debug)]
pub struct Loaded<T> {
    /// What the accepted files declare, in their order.
    pub accepted: Vec<T>,
    /// The files that are not served. None of them keeps another from working.
    pub rejected: Vec<RejectedFile>,
    /// Accepted files of which something is most likely not meant.
    pub warned: Vec<WarnedFile>,
}

impl<T> Default for Loaded<T> {
    fn default() -> Self {
        Loaded {
            accepted: Vec::new(),
            rejected: Vec::new(),
            warned: Vec::new(),
        }
    }
}

impl<T: Accepted> Loaded<T> {
    /// The same beside files that come with the program, which give way to those of their names.
    pub fn beside(mut self, shipped: Loaded<T>) -> Self {
        let given_way = |it: &T| {
            let name = it.source().file_name();
            let own = self.accepted.iter().any(|own| own.key() == it.key());
            let mut paths = self.accepted.iter().map(Accepted::source);
            let mut rejected = self.rejected.iter().map(|it| it.path.as_path());
            own || paths.any(|it| it.file_name() == name)
                || rejected.any(|it| it.file_name() == name)
        };
        let mut rest = shipped.accepted;
        rest.retain(|it| !given_way(it));
        self.accepted.extend(rest);
        self
    }
}

/// What a file declares.
pub trait Accepted {
    /// The file.
    fn source(&self) -> &Path;
    /// What no other of its kind may have: a name, or a URI.
    fn key(&self) -> &str;
}

impl Accepted for PromptSpec {
    fn source(&self) -> &Path {
        &self.source
    }

    fn key(&self) -> &str {
        &self.name
    }
}

impl Accepted for ResourceSpec {
    fn source(&self) -> &Path {
        &self.source
    }

    fn key(&self) -> &str {
        ResourceSpec::key(self)
    }
}

/// Checks prompt files. Never fails: what is wrong is in the result.
pub fn load_prompts(sources: Vec<SourceFile>) -> Loaded<PromptSpec> {
    load(sources, &PROMPT_FILE, "/name", |raw, path, faults| {
        prompt::resolve(raw, path, faults)
    })
}

/// Checks resource files. Never fails: what is wrong is in the result.
pub fn load_resources(sources: Vec<SourceFile>) -> Loaded<ResourceSpec> {
    let resolve =
        |raw: &RawResourceFile, path: &Path, faults: &Faults| resource::resolve(raw, path, faults);
    load(sources, &RESOURCE_FILE, "/uri", resolve)
}

/// The raw form of a kind of file.
trait Raw: for<'de> Deserialize<'de> {}
impl Raw for RawPromptFile {}
impl Raw for RawResourceFile {}

fn load<R: Raw, T: Accepted>(
    sources: Vec<SourceFile>,
    advice: &Advice,
    key_place: &str,
    resolve: impl Fn(&R, &Path, &Faults) -> T,
) -> Loaded<T> {
    let mut loaded = Loaded::default();
    let mut taken: HashMap<String, PathBuf> = HashMap::new();
    for source in sources {
        let path = source.path.clone();
        let (parsed, text, mut faults) = match check(source, advice, &resolve) {
            Ok(checked) => checked,
            Err((text, fault)) => {
                let faults = vec![*fault];
                loaded.rejected.push(RejectedFile { path, text, faults });
                continue;
            }
        };
        if let (true, Some(it)) = (faults.is_empty(), &parsed)
            && let Some(first) = taken.get(it.key())
        {
            let message = format!("`{}` is taken by {}", it.key(), first.display());
            let hint = "rename one of the two, or remove it".to_owned();
            faults.extend([PlacedFault::at(key_place, message, hint)]);
        }
        match parsed {
            Some(it) if faults.is_empty() => {
                let warnings = text::locate(&text, faults.take_warnings());
                if !warnings.is_empty() {
                    let path = path.clone();
                    loaded.warned.push(WarnedFile {
                        path,
                        text,
                        warnings,
                    });
                }
                taken.insert(it.key().to_owned(), path);
                loaded.accepted.push(it);
            }
            _ => {
                // First things first.
                faults.take_warnings();
                let faults = text::locate(&text, faults);
                loaded.rejected.push(RejectedFile { path, text, faults });
            }
        }
    }
    loaded
}

type Checked<T> = (Option<T>, String, FaultList);

fn check<R: Raw, T>(
    source: SourceFile,
    advice: &Advice,
    resolve: impl Fn(&R, &Path, &Faults) -> T,
) -> Result<Checked<T>, (String, Box<Fault>)> {
    let bytes = source.content.map_err(|fault| {
        let fault = text::whole_file_fault(fault.message, &fault.hint);
        (String::new(), fault)
    })?;
    let text = text::decode_utf8(&bytes, advice)
        .map_err(|fault| (String::from_utf8_lossy(&bytes).into_owned(), fault))?
        .to_owned();
    let faults = Faults::default();
    let parsed = {
        let tree = text::parse(&text, advice, &faults).map_err(|fault| (text.clone(), fault))?;
        decode::<R>(&tree, &faults).map(|raw| resolve(&raw, &source.path, &faults))
    };
    Ok((parsed, text, faults.into_list()))
}
