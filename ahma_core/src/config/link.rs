//! What only all files together can tell: names taken twice, targets of steps, cycles.
//!
//! Of two files with the same tool name the first one stays. A file whose steps lead nowhere falls,
//! which can leave steps of other files without a target; so the check goes on until nothing more
//! falls. Files with faults of their own offer nothing, but are told everything that is wrong with
//! them.

mod cycles;
mod steps;

use std::collections::HashMap;
use std::path::Path;

use self::steps::StepTargets;
use super::catalog::{Catalog, RejectedFile, WarnedFile};
use super::checked::CheckedFile;
use super::fault::{MAX_FAULTS_PER_FILE, PlacedFault};
use super::server_facts::ServerFacts;
use super::spec::{Action, StepSpec, ToolFile, ToolSpec};
use super::text;

/// Checks the files against each other.
pub(super) fn link(files: Vec<CheckedFile>, facts: &ServerFacts) -> Catalog {
    let mut linker = Linker { files, facts };
    let invalid_alone: Vec<bool> = linker.files.iter().map(|file| !file.is_valid()).collect();
    linker.check_names();
    let mut steps_checked = vec![false; linker.files.len()];
    while linker.check_steps_of_valid(&mut steps_checked) | linker.check_cycles() {}
    for (index, faulty) in invalid_alone.into_iter().enumerate() {
        if faulty && !steps_checked[index] {
            linker.check_steps_of_rejected(index);
        }
    }
    linker.finish()
}

struct Linker<'f> {
    files: Vec<CheckedFile>,
    facts: &'f ServerFacts,
}

impl Linker<'_> {
    fn check_names(&mut self) {
        let mut owners: HashMap<String, (usize, String)> = HashMap::new();
        for index in 0..self.files.len() {
            let mut taken: HashMap<String, (usize, String)> = HashMap::new();
            let mut faults = Vec::new();
            for tool in self.files[index].tools() {
                let owner = owners.get(&tool.name).or_else(|| taken.get(&tool.name));
                if self.facts.is_reserved(&tool.name) {
                    faults.push(PlacedFault::at(
                        name_place(tool),
                        format!("`{}` is the name of a built-in tool", tool.name),
                        "choose another name".to_owned(),
                    ));
                } else if let Some((owner, first)) = owner {
                    // Looking up the other place takes time; nobody reads more of these.
                    if faults.len() == MAX_FAULTS_PER_FILE {
                        break;
                    }
                    faults.push(taken_name(tool, &self.files[*owner], first));
                } else {
                    taken.insert(tool.name.clone(), (index, name_place(tool)));
                }
            }
            self.files[index].faults.extend(faults);
            // A file that falls offers nothing, so it takes no name from a later one.
            if self.files[index].is_valid() {
                owners.extend(taken);
            }
        }
    }

    fn check_steps_of_valid(&mut self, checked: &mut [bool]) -> bool {
        let targets = StepTargets::of(&self.files, self.facts);
        let mut found = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            if let (true, Some(parsed)) = (file.is_valid(), &file.parsed) {
                let faults = targets.faults_of(parsed);
                if !faults.is_empty() {
                    found.push((index, faults));
                }
            }
        }
        drop(targets);
        for (index, faults) in &mut found {
            checked[*index] = true;
            self.files[*index].faults.extend(std::mem::take(faults));
        }
        !found.is_empty()
    }

    /// Its own tools count as there: they will be, once the file is corrected.
    fn check_steps_of_rejected(&mut self, index: usize) {
        let Some(parsed) = &self.files[index].parsed else {
            return;
        };
        let mut targets = StepTargets::of(&self.files, self.facts);
        targets.add(parsed);
        let faults = targets.faults_of(parsed);
        drop(targets);
        self.files[index].faults.extend(faults);
    }

    fn check_cycles(&mut self) -> bool {
        let valid: Vec<usize> = (0..self.files.len())
            .filter(|index| self.files[*index].is_valid())
            .collect();
        let tools = valid
            .iter()
            .filter_map(|index| self.files[*index].parsed.as_ref());
        let found = cycles::find(tools);
        let mut any = false;
        for (index, faults) in valid.into_iter().zip(found) {
            any |= !faults.is_empty();
            self.files[index].faults.extend(faults);
        }
        any
    }

    fn finish(self) -> Catalog {
        let mut catalog = Catalog::default();
        for mut file in self.files {
            let is_valid = file.is_valid();
            match file.parsed {
                Some(parsed) if is_valid => {
                    catalog.files.push(parsed);
                    let warnings = text::locate(&file.text, file.faults.take_warnings());
                    if !warnings.is_empty() {
                        catalog.warned.push(WarnedFile {
                            path: file.path,
                            text: file.text,
                            warnings,
                        });
                    }
                }
                _ => {
                    // First things first.
                    file.faults.take_warnings();
                    let mut faults = text::locate(&file.text, file.faults);
                    faults.extend(file.unreadable);
                    catalog.rejected.push(RejectedFile {
                        path: file.path,
                        text: file.text,
                        faults,
                    });
                }
            }
        }
        catalog
    }
}

/// The steps of all sequences of a file, each with its tool.
fn steps_of(file: &ToolFile) -> impl Iterator<Item = (&ToolSpec, &StepSpec)> {
    file.tools.iter().flat_map(|tool| {
        let steps = match &tool.action {
            Action::Sequence(sequence) => sequence.steps.as_slice(),
            Action::Run(_) => &[],
        };
        steps.iter().map(move |step| (tool.as_ref(), step))
    })
}

/// Where the name of a tool stands.
fn name_place(tool: &ToolSpec) -> String {
    format!("{}/name", tool.pointer)
}

fn taken_name(tool: &ToolSpec, owner: &CheckedFile, first: &str) -> PlacedFault {
    let line = text::line_of(&owner.text, first);
    let file: &Path = &owner.path;
    PlacedFault::at(
        name_place(tool),
        format!(
            "the tool name `{}` is taken by {}:{line}",
            tool.name,
            file.display()
        ),
        "rename one of the two, or remove it".to_owned(),
    )
}
