//! Whether the steps of sequences call tools that exist, with arguments they take.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::super::checked::CheckedFile;
use super::super::checked_schema::CheckedSchema;
use super::super::fault::{MAX_FAULTS_PER_FILE, PlacedFault};
use super::super::server_facts::ServerFacts;
use super::super::spec::{StepSpec, ToolFile, ToolSpec};
use super::super::suggest::nearest;
use super::super::values::{ArgumentFault, check_call};
use super::steps_of;

/// What steps can call, and what is known about tools they cannot.
pub(super) struct StepTargets<'f> {
    /// In order of names, so that the same mistake always gets the same hint.
    tools: BTreeMap<&'f str, &'f ToolSpec>,
    disabled: BTreeMap<&'f str, &'f Path>,
    rejected: BTreeMap<&'f str, &'f Path>,
    facts: &'f ServerFacts,
}

impl<'f> StepTargets<'f> {
    pub(super) fn of(files: &'f [CheckedFile], facts: &'f ServerFacts) -> Self {
        let mut targets = StepTargets {
            tools: BTreeMap::new(),
            disabled: BTreeMap::new(),
            rejected: BTreeMap::new(),
            facts,
        };
        for file in files {
            let Some(parsed) = &file.parsed else { continue };
            if file.is_valid() {
                targets.add(parsed);
            } else {
                let names = parsed
                    .tools
                    .iter()
                    .map(|tool| (tool.name.as_str(), file.path.as_path()));
                targets.rejected.extend(names);
            }
        }
        targets
    }

    pub(super) fn add(&mut self, file: &'f ToolFile) {
        self.tools.extend(
            file.tools
                .iter()
                .map(|tool| (tool.name.as_str(), tool.as_ref())),
        );
        let disabled = file.disabled.iter();
        self.disabled
            .extend(disabled.map(|name| (name.as_str(), file.source.as_path())));
    }

    /// What is wrong with the steps of a file, up to the number anyone wants to read.
    pub(super) fn faults_of(&self, file: &ToolFile) -> Vec<PlacedFault> {
        steps_of(file)
            .filter(|(_, step)| !step.target.is_empty())
            .flat_map(|(tool, step)| self.faults_of_step(tool, step))
            .take(MAX_FAULTS_PER_FILE)
            .collect()
    }

    fn faults_of_step(&self, sequence: &ToolSpec, step: &StepSpec) -> Vec<PlacedFault> {
        let target = step.target.as_str();
        let mut reserved = self.facts.reserved.iter();
        let arguments = match self.tools.get(target) {
            Some(tool) => match &tool.own_schema {
                Some(schema) => return self.faults_by_schema(step, schema),
                None => tool.arguments.as_slice(),
            },
            None => match reserved.find(|tool| tool.name == target) {
                Some(tool) => match &tool.arguments {
                    Some(arguments) => arguments.as_slice(),
                    None => return Vec::new(),
                },
                None => {
                    let (message, hint) = self.missing(target, &sequence.name);
                    return vec![PlacedFault::at(step.pointer.as_str(), message, hint)];
                }
            },
        };
        let faults = check_call(target, arguments, false, &step.args);
        faults
            .into_iter()
            .map(|fault| self.placed(step, fault))
            .collect()
    }

    /// The same where the target brings a schema of its own; where it runs, a step says all the same.
    fn faults_by_schema(&self, step: &StepSpec, schema: &CheckedSchema) -> Vec<PlacedFault> {
        let mut arguments = step.args.clone();
        arguments.shift_remove("working_directory");
        let faults = schema.faults(&Value::Object(arguments)).into_iter();
        let faults = faults.map(|(place, message)| {
            let argument = place.trim_start_matches('/').to_owned();
            let fault = ArgumentFault {
                argument,
                message,
                hint: None,
            };
            self.placed(step, fault)
        });
        faults.collect()
    }

    fn missing(&self, target: &str, sequence: &str) -> (String, String) {
        if let Some(path) = self.disabled.get(target) {
            return (
                format!(
                    "the step calls `{target}`, which {} disables",
                    path.display()
                ),
                "enable it, or remove the step".to_owned(),
            );
        }
        if let Some(path) = self.rejected.get(target) {
            return (
                format!(
                    "the step calls `{target}`, but {} was rejected",
                    path.display()
                ),
                "correct that file first".to_owned(),
            );
        }
        let below = format!("{target}_");
        let subcommands: Vec<&str> = self
            .tools
            .keys()
            .filter_map(|name| name.strip_prefix(&below))
            .take(8)
            .collect();
        let hint = if subcommands.is_empty() {
            let reserved = self.facts.reserved.iter().map(|tool| tool.name);
            let known = self.tools.keys().copied().chain(reserved);
            nearest(target, known.filter(|name| *name != sequence)).map_or_else(
                || "name a tool by `tool` and, where it has some, its `subcommand`".to_owned(),
                |name| format!("did you mean `{name}`?"),
            )
        } else {
            format!("name its `subcommand`, e.g. {}", subcommands.join(", "))
        };
        (
            format!("the step calls `{target}`, which does not exist"),
            hint,
        )
    }

    fn placed(&self, step: &StepSpec, fault: ArgumentFault) -> PlacedFault {
        let pointer = if step.args.contains_key(&fault.argument) {
            let key = fault.argument.replace('~', "~0").replace('/', "~1");
            format!("{}/args/{key}", step.pointer)
        } else {
            step.pointer.clone()
        };
        let message = format!("the call of `{}` is wrong: {}", step.target, fault.message);
        let hint = fault.hint.unwrap_or_else(|| {
            format!(
                "{} shows what `{}` takes",
                self.facts.how_to_list, step.target
            )
        });
        PlacedFault::at(pointer, message, hint)
    }
}
