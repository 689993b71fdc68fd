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
use std::sync::Arc;

use self::steps::Offer;
use super::fault::{MAX_FAULTS_PER_FILE, PlacedFault};
use super::load::{Catalog, Judged, RejectedFile};
use super::names::BUILT_IN_TOOLS;
use super::spec::{Action, LeafSpec, StepSpec, ToolSpec};
use super::text;

/// Checks the files against each other.
pub(super) fn link(judged: Vec<Judged>) -> Catalog {
    let mut linker = Linker { files: judged };
    let told_by_themselves: Vec<bool> = linker.files.iter().map(|file| !file.stands()).collect();
    linker.check_names();
    let mut steps_checked = vec![false; linker.files.len()];
    while linker.check_steps_of_standing(&mut steps_checked) | linker.check_cycles() {}
    for (index, faulty) in told_by_themselves.into_iter().enumerate() {
        if faulty && !steps_checked[index] {
            linker.check_steps_of_fallen(index);
        }
    }
    linker.finish()
}

struct Linker {
    files: Vec<Judged>,
}

impl Judged {
    /// Whether the file is right so far.
    fn stands(&self) -> bool {
        self.faults.is_empty() && self.unreadable.is_none() && self.tool.is_some()
    }

    fn leaves(&self) -> &[Arc<LeafSpec>] {
        self.tool
            .as_ref()
            .map(|tool| tool.leaves.as_slice())
            .unwrap_or_default()
    }
}

impl Linker {
    fn check_names(&mut self) {
        let mut owners: HashMap<String, (usize, String)> = HashMap::new();
        for index in 0..self.files.len() {
            let mut taken: HashMap<String, (usize, String)> = HashMap::new();
            let mut faults = Vec::new();
            for leaf in self.files[index].leaves() {
                let owner = owners.get(&leaf.name).or_else(|| taken.get(&leaf.name));
                if BUILT_IN_TOOLS.contains(&leaf.name.as_str()) {
                    faults.push(PlacedFault::at(
                        name_place(leaf),
                        format!("`{}` is the name of a built-in tool", leaf.name),
                        "choose another name".to_owned(),
                    ));
                } else if let Some((owner, first)) = owner {
                    // Looking up the other place takes time; nobody reads more of these.
                    if faults.len() == MAX_FAULTS_PER_FILE {
                        break;
                    }
                    faults.push(taken_name(leaf, &self.files[*owner], first));
                } else {
                    taken.insert(leaf.name.clone(), (index, name_place(leaf)));
                }
            }
            self.files[index].faults.extend(faults);
            // A file that falls offers nothing, so it takes no name from a later one.
            if self.files[index].stands() {
                owners.extend(taken);
            }
        }
    }

    fn check_steps_of_standing(&mut self, checked: &mut [bool]) -> bool {
        let offer = Offer::of(&self.files);
        let mut found = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            if let (true, Some(tool)) = (file.stands(), &file.tool) {
                let faults = offer.faults_of(tool);
                if !faults.is_empty() {
                    found.push((index, faults));
                }
            }
        }
        drop(offer);
        for (index, faults) in &mut found {
            checked[*index] = true;
            self.files[*index].faults.extend(std::mem::take(faults));
        }
        !found.is_empty()
    }

    /// Its own tools count as there: they will be, once the file is corrected.
    fn check_steps_of_fallen(&mut self, index: usize) {
        let Some(tool) = &self.files[index].tool else {
            return;
        };
        let mut offer = Offer::of(&self.files);
        offer.add(tool);
        let faults = offer.faults_of(tool);
        drop(offer);
        self.files[index].faults.extend(faults);
    }

    fn check_cycles(&mut self) -> bool {
        let standing: Vec<usize> = (0..self.files.len())
            .filter(|index| self.files[*index].stands())
            .collect();
        let tools = standing
            .iter()
            .filter_map(|index| self.files[*index].tool.as_ref());
        let found = cycles::find(tools);
        let mut any = false;
        for (index, faults) in standing.into_iter().zip(found) {
            any |= !faults.is_empty();
            self.files[index].faults.extend(faults);
        }
        any
    }

    fn finish(self) -> Catalog {
        let mut catalog = Catalog::default();
        for file in self.files {
            let stands = file.stands();
            match file.tool {
                Some(tool) if stands => catalog.tools.push(tool),
                _ => {
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

/// The steps of all sequences of a tool, each with its leaf.
fn steps_of(tool: &ToolSpec) -> impl Iterator<Item = (&LeafSpec, &StepSpec)> {
    tool.leaves.iter().flat_map(|leaf| {
        let steps = match &leaf.action {
            Action::Sequence(sequence) => sequence.steps.as_slice(),
            Action::Run(_) => &[],
        };
        steps.iter().map(move |step| (leaf.as_ref(), step))
    })
}

/// Where the name of a leaf stands.
fn name_place(leaf: &LeafSpec) -> String {
    format!("{}/name", leaf.pointer)
}

fn taken_name(leaf: &LeafSpec, owner: &Judged, first: &str) -> PlacedFault {
    let line = text::line_of(&owner.text, first);
    let file: &Path = &owner.path;
    PlacedFault::at(
        name_place(leaf),
        format!(
            "the tool name `{}` is taken by {}:{line}",
            leaf.name,
            file.display()
        ),
        "rename one of the two, or remove it".to_owned(),
    )
}
