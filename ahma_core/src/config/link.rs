//! What only all files together can tell: names taken twice, targets of steps, cycles.
//!
//! Of two files with the same tool name the first one stays. A file whose steps lead nowhere is
//! rejected, which can leave steps of other files without a target; so the check goes on until
//! nothing more falls.

mod cycles;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::fault::PlacedFault;
use super::load::{Catalog, Judged, RejectedFile};
use super::names::BUILT_IN_TOOLS;
use super::spec::{Action, LeafSpec, StepSpec, ToolSpec};
use super::suggest::nearest;
use super::text;
use super::values::check_arguments;

/// Checks the files against each other.
pub(super) fn link(judged: Vec<Judged>) -> Catalog {
    let mut linker = Linker::default();
    for (order, file) in judged.into_iter().enumerate() {
        match file {
            Judged::Accepted { text, tool } => {
                linker.accepted.push(Candidate { order, text, tool });
            }
            Judged::Rejected { file, claimed } => linker.reject(order, file, claimed),
        }
    }
    linker.reject_taken_names();
    while linker.reject_bad_steps() | linker.reject_cycles() {}
    linker.finish()
}

/// A file that is right so far.
struct Candidate {
    order: usize,
    text: String,
    tool: ToolSpec,
}

#[derive(Default)]
struct Linker {
    accepted: Vec<Candidate>,
    rejected: Vec<(usize, RejectedFile)>,
    /// Names that rejected files would have offered.
    lost_names: HashMap<String, PathBuf>,
}

impl Linker {
    fn reject(&mut self, order: usize, file: RejectedFile, claimed: Vec<String>) {
        for name in claimed {
            self.lost_names
                .entry(name)
                .or_insert_with(|| file.path.clone());
        }
        self.rejected.push((order, file));
    }

    /// Moves every file with a fault to the rejected ones. `faults` runs parallel to `accepted`.
    fn reject_faulty(&mut self, faults: Vec<Vec<PlacedFault>>) -> bool {
        let mut any = false;
        let candidates = std::mem::take(&mut self.accepted);
        for (candidate, faults) in candidates.into_iter().zip(faults) {
            if faults.is_empty() {
                self.accepted.push(candidate);
                continue;
            }
            any = true;
            let Candidate { order, text, tool } = candidate;
            let claimed = tool.leaves.into_iter().map(|leaf| leaf.name).collect();
            let faults = text::locate(&text, faults);
            let path = tool.source;
            self.reject(order, RejectedFile { path, text, faults }, claimed);
        }
        any
    }

    fn reject_taken_names(&mut self) {
        let mut owners: HashMap<&str, (&Candidate, &LeafSpec)> = HashMap::new();
        let mut faults = Vec::with_capacity(self.accepted.len());
        for candidate in &self.accepted {
            let mut of_file = Vec::new();
            let mut own: HashMap<&str, (&Candidate, &LeafSpec)> = HashMap::new();
            for leaf in &candidate.tool.leaves {
                let name = leaf.name.as_str();
                if BUILT_IN_TOOLS.contains(&name) {
                    of_file.push(PlacedFault::at(
                        name_place(leaf),
                        format!("`{name}` is the name of a built-in tool"),
                        "choose another name".to_owned(),
                    ));
                } else if let Some((owner, first)) = owners.get(name).or_else(|| own.get(name)) {
                    of_file.push(taken_name(leaf, owner, first));
                } else {
                    own.insert(name, (candidate, leaf));
                }
            }
            // A file that falls here offers nothing, so it takes no name from a later one.
            if of_file.is_empty() {
                owners.extend(own);
            }
            faults.push(of_file);
        }
        drop(owners);
        self.reject_faulty(faults);
    }

    fn reject_bad_steps(&mut self) -> bool {
        let directory = self.directory();
        let faults = self
            .accepted
            .iter()
            .map(|candidate| {
                steps_of(&candidate.tool)
                    .flat_map(|(_, step)| self.step_faults(step, &directory))
                    .collect()
            })
            .collect();
        drop(directory);
        self.reject_faulty(faults)
    }

    fn reject_cycles(&mut self) -> bool {
        let found = cycles::find(self.accepted.iter().map(|candidate| &candidate.tool));
        self.reject_faulty(found)
    }

    /// Every leaf that is right so far, by name.
    fn directory(&self) -> HashMap<&str, &LeafSpec> {
        self.accepted
            .iter()
            .flat_map(|candidate| &candidate.tool.leaves)
            .map(|leaf| (leaf.name.as_str(), leaf))
            .collect()
    }

    fn step_faults(
        &self,
        step: &StepSpec,
        directory: &HashMap<&str, &LeafSpec>,
    ) -> Vec<PlacedFault> {
        if BUILT_IN_TOOLS.contains(&step.target.as_str()) {
            return Vec::new();
        }
        let Some(leaf) = directory.get(step.target.as_str()) else {
            let (message, hint) = self.missing_target(&step.target, directory);
            return vec![PlacedFault::at(step.pointer.as_str(), message, hint)];
        };
        check_arguments(leaf, &step.args)
            .into_iter()
            .map(|fault| {
                let pointer = if step.args.contains_key(&fault.argument) {
                    let key = fault.argument.replace('~', "~0").replace('/', "~1");
                    format!("{}/args/{key}", step.pointer)
                } else {
                    step.pointer.clone()
                };
                let message = format!("the call of `{}` is wrong: {}", leaf.name, fault.message);
                PlacedFault::at(pointer, message, fault.hint)
            })
            .collect()
    }

    fn missing_target(
        &self,
        target: &str,
        directory: &HashMap<&str, &LeafSpec>,
    ) -> (String, String) {
        let off = self.accepted.iter().find(|candidate| {
            candidate
                .tool
                .disabled
                .iter()
                .any(|disabled| disabled == target)
        });
        if let Some(candidate) = off {
            let file = candidate.tool.source.display();
            return (
                format!("the step calls `{target}`, which {file} disables"),
                "enable it, or remove the step".to_owned(),
            );
        }
        if let Some(path) = self.lost_names.get(target) {
            return (
                format!(
                    "the step calls `{target}`, but {} was rejected",
                    path.display()
                ),
                "correct that file first".to_owned(),
            );
        }
        let known = directory.keys().copied().chain(BUILT_IN_TOOLS);
        let hint = nearest(target, known).map_or_else(
            || "name a tool by `tool` and, where it has some, its `subcommand`".to_owned(),
            |name| format!("did you mean `{name}`?"),
        );
        (
            format!("the step calls `{target}`, which does not exist"),
            hint,
        )
    }

    fn finish(mut self) -> Catalog {
        self.rejected.sort_by_key(|(order, _)| *order);
        Catalog {
            tools: self
                .accepted
                .into_iter()
                .map(|candidate| candidate.tool)
                .collect(),
            rejected: self.rejected.into_iter().map(|(_, file)| file).collect(),
        }
    }
}

/// The steps of all sequences of a tool, each with its leaf.
fn steps_of(tool: &ToolSpec) -> impl Iterator<Item = (&LeafSpec, &StepSpec)> {
    tool.leaves.iter().flat_map(|leaf| {
        let steps = match &leaf.action {
            Action::Sequence(sequence) => sequence.steps.as_slice(),
            Action::Run(_) => &[],
        };
        steps.iter().map(move |step| (leaf, step))
    })
}

/// Where the name of a leaf stands.
fn name_place(leaf: &LeafSpec) -> String {
    format!("{}/name", leaf.pointer)
}

fn taken_name(leaf: &LeafSpec, owner: &Candidate, first: &LeafSpec) -> PlacedFault {
    let place = name_place(first);
    let line = text::line_of(&owner.text, &place);
    let file: &Path = &owner.tool.source;
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
