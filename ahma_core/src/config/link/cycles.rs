//! Sequences that would call themselves.

use std::collections::{HashMap, VecDeque};

use super::super::fault::{MAX_FAULTS_PER_FILE, PlacedFault};
use super::super::spec::{StepSpec, ToolFile};
use super::steps_of;

/// The steps of each file that lead back to their own sequence.
pub(super) fn find<'t>(files: impl Iterator<Item = &'t ToolFile> + Clone) -> Vec<Vec<PlacedFault>> {
    let calls = Calls::new(files.clone());
    files
        .map(|file| {
            steps_of(file)
                .filter(|(tool, step)| {
                    calls.is_suspect(&tool.name) && calls.is_suspect(&step.target)
                })
                .filter_map(|(tool, step)| {
                    let way_back = calls.way(&step.target, &tool.name)?;
                    Some(fault(&tool.name, step, &way_back))
                })
                .take(MAX_FAULTS_PER_FILE)
                .collect()
        })
        .collect()
}

fn fault(sequence: &str, step: &StepSpec, way_back: &[&str]) -> PlacedFault {
    PlacedFault::at(
        step.pointer.as_str(),
        format!(
            "the sequence would never end: {sequence} → {}",
            way_back.join(" → ")
        ),
        "remove the step that closes the circle".to_owned(),
    )
}

/// Which sequences call which, reduced to those that can lie on a circle.
struct Calls<'t> {
    edges: HashMap<&'t str, Vec<&'t str>>,
}

impl<'t> Calls<'t> {
    fn new(files: impl Iterator<Item = &'t ToolFile>) -> Self {
        let mut edges: HashMap<&str, Vec<&str>> = HashMap::new();
        for (tool, step) in files.flat_map(steps_of) {
            let targets = edges.entry(&tool.name).or_default();
            if !targets.contains(&step.target.as_str()) {
                targets.push(&step.target);
            }
        }
        let mut calls = Calls { edges };
        calls.drop_dead_ends();
        calls
    }

    /// Takes away, again and again, what calls no remaining sequence: it cannot lie on a circle.
    fn drop_dead_ends(&mut self) {
        let mut callers: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut open: HashMap<&str, usize> = HashMap::new();
        for (caller, targets) in &self.edges {
            let inner = targets
                .iter()
                .filter(|target| self.edges.contains_key(*target));
            let mut count = 0;
            for target in inner {
                callers.entry(target).or_default().push(caller);
                count += 1;
            }
            open.insert(caller, count);
        }
        let mut ends: Vec<&str> = open
            .iter()
            .filter(|(_, count)| **count == 0)
            .map(|(name, _)| *name)
            .collect();
        while let Some(end) = ends.pop() {
            self.edges.remove(end);
            for caller in callers.get(end).into_iter().flatten() {
                if let Some(count) = open.get_mut(caller) {
                    *count -= 1;
                    if *count == 0 {
                        ends.push(caller);
                    }
                }
            }
        }
    }

    fn is_suspect(&self, name: &str) -> bool {
        self.edges.contains_key(name)
    }

    /// The shortest chain of calls from one sequence to another, both named.
    fn way(&self, from: &'t str, to: &str) -> Option<Vec<&'t str>> {
        let mut came_from: HashMap<&str, Option<&'t str>> = HashMap::from([(from, None)]);
        let mut queue = VecDeque::from([from]);
        while let Some(name) = queue.pop_front() {
            if name == to {
                let mut way = vec![name];
                let mut at = name;
                while let Some(Some(before)) = came_from.get(at) {
                    way.push(before);
                    at = before;
                }
                way.reverse();
                return Some(way);
            }
            for target in self.edges.get(name).into_iter().flatten() {
                if self.is_suspect(target) && !came_from.contains_key(target) {
                    came_from.insert(target, Some(name));
                    queue.push_back(target);
                }
            }
        }
        None
    }
}
