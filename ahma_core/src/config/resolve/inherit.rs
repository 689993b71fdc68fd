//! What a subcommand takes from the levels above it: a value set deeper wins, one not set is
//! inherited. Variables, hints, annotations and limits are merged entry by entry.

use std::collections::BTreeMap;

use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::field::Field;
use super::super::lint;
use super::super::names::{self, SEQUENCE_COMMAND};
use super::super::raw::{Level, RawAnnotations, RawLimits, TextMap, bounds};
use super::super::spec::{
    Annotations, AvailabilityCheck, ClientNeeds, IconSpec, Restrictions, ResultSpec, TaskMode,
};
use super::{answer, availability};

const DEFAULT_STEP_DELAY_MS: u32 = 100;

/// Everything in force at one level of a file.
#[derive(Debug, Clone)]
pub(super) struct Inherited {
    pub(super) command: String,
    pub(super) words: Vec<String>,
    pub(super) enabled: bool,
    pub(super) synchronous: bool,
    pub(super) service: bool,
    pub(super) core: Option<bool>,
    pub(super) timeout_seconds: Option<u32>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) only_if: Vec<String>,
    pub(super) local_bin: Vec<String>,
    pub(super) availability: Option<AvailabilityCheck>,
    pub(super) install_instructions: Option<String>,
    pub(super) annotations: Annotations,
    pub(super) step_delay_ms: u32,
    pub(super) guidance_key: Option<String>,
    pub(super) hints: BTreeMap<String, String>,
    pub(super) restrictions: Restrictions,
    pub(super) success_exit_codes: Vec<u8>,
    pub(super) result: ResultSpec,
    pub(super) requires: ClientNeeds,
    pub(super) task: Option<TaskMode>,
    pub(super) icons: Vec<IconSpec>,
}

impl Default for Inherited {
    /// What holds above every file.
    fn default() -> Self {
        Inherited {
            command: String::new(),
            words: Vec::new(),
            enabled: true,
            synchronous: false,
            service: false,
            core: None,
            timeout_seconds: None,
            env: BTreeMap::new(),
            only_if: Vec::new(),
            local_bin: Vec::new(),
            availability: None,
            install_instructions: None,
            annotations: Annotations::default(),
            step_delay_ms: DEFAULT_STEP_DELAY_MS,
            guidance_key: None,
            hints: BTreeMap::new(),
            restrictions: Restrictions::default(),
            success_exit_codes: vec![0],
            result: ResultSpec::default(),
            requires: ClientNeeds::default(),
            task: None,
            icons: Vec::new(),
        }
    }
}

impl Inherited {
    /// What is in force inside `raw`, which stands at `place` and may set anything anew.
    pub(super) fn with(
        mut self,
        raw: Level<'_>,
        place: &JsonLocation<'_>,
        checks: Checks<'_>,
    ) -> Self {
        self.take_command(raw, place, checks);
        override_by(&mut self.enabled, raw.enabled.copied());
        override_by(&mut self.synchronous, raw.synchronous.copied());
        override_by(&mut self.service, raw.service.copied());
        self.core = raw.core.copied().or(self.core);
        let timeout = checks.in_range(
            raw.timeout_seconds,
            bounds::TIMEOUT_SECONDS,
            &place.key("timeout_seconds"),
        );
        self.timeout_seconds = timeout.or(self.timeout_seconds);
        let delay = checks.in_range(
            raw.step_delay_ms,
            bounds::STEP_DELAY_MS,
            &place.key("step_delay_ms"),
        );
        override_by(&mut self.step_delay_ms, delay);
        self.take_env(raw.env, &place.key("env"), checks);
        self.take_only_if(raw, &place.key("only_if"), checks);
        if !raw.local_bin.is_absent() {
            self.local_bin = checks.paths_below(raw.local_bin, &place.key("local_bin"));
        }
        if let Field::Value(check) = raw.availability_check {
            let place = place.key("availability_check");
            self.availability = availability::resolve(check, &place, checks);
        }
        let install = checks.text(raw.install_instructions, &place.key("install_instructions"));
        self.install_instructions = install.or(self.install_instructions);
        let guidance = checks.text(raw.guidance_key, &place.key("guidance_key"));
        self.guidance_key = guidance.or(self.guidance_key);
        for (topic, given) in raw.hints.value().into_iter().flatten() {
            if let Some(advice) = checks.text(given, &place.key("hints").key(topic)) {
                self.hints.insert(topic.clone(), advice);
            }
        }
        if let Field::Value(annotations) = raw.annotations {
            self.take_annotations(annotations, &place.key("annotations"), checks);
        }
        override_by(
            &mut self.restrictions.no_network,
            raw.network.copied().map(|on| !on),
        );
        override_by(
            &mut self.restrictions.no_writes,
            raw.writes.copied().map(|on| !on),
        );
        if let Field::Value(limits) = raw.limits {
            self.take_limits(limits, &place.key("limits"), checks);
        }
        if !raw.success_exit_codes.is_absent() {
            let at = place.key("success_exit_codes");
            self.success_exit_codes = checks.exit_codes(raw.success_exit_codes, &at);
        }
        answer::take(&mut self, raw, place, checks);
        self
    }

    fn take_command(&mut self, raw: Level<'_>, place: &JsonLocation<'_>, checks: Checks<'_>) {
        let at = place.key("command");
        if let Some(command) = checks.text(raw.command, &at) {
            // A path may hold blanks; a bare name that does is a command line written as one word.
            if command.contains(char::is_whitespace) && !command.contains('/') {
                let hint = match lint::operator(&command) {
                    Some(_) => lint::NO_SHELL,
                    None => {
                        "put the program into `command` and the words after it into `fixed_args`"
                    }
                };
                let message = format!("`{command}` is not the name of one program");
                checks.faults.add_with_hint(&at, message, hint);
            }
            self.command = command;
            self.words.clear();
        }
        let fixed = checks.strings(raw.fixed_args, &place.key("fixed_args"));
        self.words.extend(fixed);
        if self.command == SEQUENCE_COMMAND {
            self.words.clear();
        }
    }

    fn take_env(&mut self, env: &TextMap, place: &JsonLocation<'_>, checks: Checks<'_>) {
        for (name, given) in env.value().into_iter().flatten() {
            let at = place.key(name);
            if let Some((message, hint)) = names::variable_fault(name) {
                checks.faults.add_to_key(&at, message, hint.to_owned());
            } else if let Field::Value(value) = given
                && checks.no_nul(value, &at)
            {
                self.env.insert(name.clone(), value.clone());
            }
        }
    }

    fn take_only_if(&mut self, raw: Level<'_>, place: &JsonLocation<'_>, checks: Checks<'_>) {
        if raw.only_if.is_absent() {
            return;
        }
        self.only_if = checks.paths_below(raw.only_if, place);
    }

    fn take_annotations(
        &mut self,
        raw: &RawAnnotations,
        place: &JsonLocation<'_>,
        checks: Checks<'_>,
    ) {
        let mine = &mut self.annotations;
        mine.read_only = raw.read_only.copied().or(mine.read_only);
        mine.destructive = raw.destructive.copied().or(mine.destructive);
        mine.idempotent = raw.idempotent.copied().or(mine.idempotent);
        mine.open_world = raw.open_world.copied().or(mine.open_world);
        if mine.read_only == Some(true) && mine.destructive == Some(true) {
            checks.faults.add_with_hint(
                place,
                "a call cannot be both `read_only` and `destructive`",
                "set the one that does not hold to `false`",
            );
        }
    }

    fn take_limits(&mut self, raw: &RawLimits, place: &JsonLocation<'_>, checks: Checks<'_>) {
        let mine = &mut self.restrictions;
        let memory = checks.in_range(&raw.memory_mb, bounds::MEMORY_MB, &place.key("memory_mb"));
        let processes = checks.in_range(&raw.processes, bounds::PROCESSES, &place.key("processes"));
        let output = checks.in_range(&raw.output_mb, bounds::OUTPUT_MB, &place.key("output_mb"));
        mine.memory_mb = memory.or(mine.memory_mb);
        mine.processes = processes.or(mine.processes);
        mine.output_mb = output.or(mine.output_mb);
    }
}

fn override_by<T>(inherited: &mut T, own: Option<T>) {
    if let Some(own) = own {
        *inherited = own;
    }
}
