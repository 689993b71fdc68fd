//! A tool file and its subcommands.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::field::Field;
use super::{
    AnyObject, List, RawAnnotations, RawArgument, RawAvailability, RawIcon, RawLimits, RawNeed,
    RawOutput, RawStep, RawTask, TextMap,
};

/// A tool file (MTDF): one command-line program, described so that it can be offered as MCP tools.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Tool")]
pub(crate) struct RawToolFile {
    /// Path or URL of `mtdf.schema.json`, so that an editor completes and checks this file.
    #[serde(rename = "$schema", default)]
    #[expect(
        dead_code,
        reason = "for editors; the loader has its own copy of the rules"
    )]
    pub(crate) schema: Field<String>,
    /// Name of the tool: the MCP name, or its first part when there are subcommands. Letters,
    /// digits, `_` and `-`, beginning with a letter.
    #[schemars(regex(pattern = r"^[A-Za-z][A-Za-z0-9_-]*$"), length(max = 64))]
    pub(crate) name: Field<String>,
    /// What the tool does. The model reads this to decide whether to use it.
    #[schemars(length(min = 1))]
    pub(crate) description: Field<String>,
    /// The program to run: a name looked up on PATH, or a path. `sequence` makes a tool whose only
    /// job is its `sequence`. No shell is involved.
    #[schemars(length(min = 1))]
    pub(crate) command: Field<String>,
    /// Arguments that are always passed, right after the command.
    #[serde(default)]
    pub(crate) fixed_args: List<String>,
    /// A short name for people, shown by clients.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) title: Field<String>,
    /// `false` leaves the tool out: not listed, not probed.
    #[serde(default)]
    #[schemars(extend("default" = true))]
    pub(crate) enabled: Field<bool>,
    /// Deadline of a call in seconds; without it the server's default counts.
    #[serde(default)]
    #[schemars(range(min = 1, max = 86_400))]
    pub(crate) timeout_seconds: Field<i64>,
    /// `true`: a call answers when the command has ended. `false`: it answers with an operation id unless the
    /// result is there in a moment, and the command goes on in the background.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(crate) synchronous: Field<bool>,
    /// `true`: a call may start the command as a service (`"execution_mode": "service"`), which has no
    /// deadline and goes on until it is cancelled or its client goes.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(crate) service: Field<bool>,
    /// `true`: always listed. `false`: found with `find_tools` and called with `call_tool`. Without it, the
    /// tools of a project are listed and those that come with the program are not.
    #[serde(default)]
    pub(crate) core: Field<bool>,
    /// Subcommands, each offered as an MCP tool of its own called `{tool}_{subcommand}`.
    #[serde(default)]
    pub(crate) subcommand: List<RawSubcommand>,
    /// Flags of the command; only for a tool without subcommands.
    #[serde(default)]
    pub(crate) options: List<RawArgument>,
    /// Arguments without a flag, in order; only for a tool without subcommands.
    #[serde(default)]
    pub(crate) positional_args: List<RawArgument>,
    /// `true` puts the positional arguments before the options.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(crate) positional_args_first: Field<bool>,
    /// `true` puts `--` before the positional arguments, so that none of them can be read as a flag.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(crate) end_of_options: Field<bool>,
    /// Variables set for the command. Variables that make programs load code are refused.
    #[serde(default)]
    pub(crate) env: TextMap,
    /// The tool is listed only when one of these paths exists in the scope, e.g. `Cargo.toml`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) only_if: List<String>,
    /// Directories of the project, such as `.venv/bin`, in which programs are looked for before PATH.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) local_bin: List<String>,
    /// Command that succeeds when the tool can be used, e.g. `which cargo`.
    #[serde(default)]
    pub(crate) availability_check: Field<RawAvailability>,
    /// How to install the program; shown when the availability check fails.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) install_instructions: Field<String>,
    /// What a client may assume about the effects of a call.
    #[serde(default)]
    pub(crate) annotations: Field<RawAnnotations>,
    /// Steps run one after the other; only with `"command": "sequence"`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) sequence: List<RawStep>,
    /// Pause between two steps of a sequence, in milliseconds.
    #[serde(default)]
    #[schemars(range(min = 0, max = 60_000), extend("default" = 100))]
    pub(crate) step_delay_ms: Field<i64>,
    /// Name of a block of guidance; shown in the description.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) guidance_key: Field<String>,
    /// Advice for the model by topic; shown in the description.
    #[serde(default)]
    pub(crate) hints: TextMap,
    /// `false`: the command gets no network, whatever the operator allows.
    #[serde(default)]
    #[schemars(extend("default" = true))]
    pub(crate) network: Field<bool>,
    /// `false`: the command may write only its temporary directory.
    #[serde(default)]
    #[schemars(extend("default" = true))]
    pub(crate) writes: Field<bool>,
    /// Upper limits for the command, below the server's own.
    #[serde(default)]
    pub(crate) limits: Field<RawLimits>,
    /// Exit codes that mean success, as 1 does for a search that finds nothing; without it, 0 alone.
    #[serde(default)]
    #[schemars(length(min = 1), inner(range(min = 0, max = 255)))]
    pub(crate) success_exit_codes: List<i64>,
    /// What the command writes to its standard output. `text`: that is the result. `json`: one JSON document, which is the
    /// structured result. `image`, `audio`: its bytes, or one line with the path of a file. `events`: one JSON object
    /// a line, see `docs/events.md`. But for `text`, standard error is kept apart.
    #[serde(default)]
    #[schemars(extend("default" = "text"))]
    pub(crate) output: Field<RawOutput>,
    /// JSON Schema (2020-12) of the structured result, which is checked against it. Only with `json` and `events`; a call is
    /// then answered when the command has ended.
    #[serde(default)]
    pub(crate) output_schema: AnyObject,
    /// MIME type of an image or sound; without it, its first bytes tell.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[a-z]+/[A-Za-z0-9.+-]+$"))]
    pub(crate) mime_type: Field<String>,
    /// JSON Schema (2020-12) of the arguments, which clients get as it stands. The command reads them from its
    /// standard input, as one JSON object. It takes the place of `options` and `positional_args`.
    #[serde(default)]
    pub(crate) input_schema: AnyObject,
    /// What a client has to be able to do; a call of one that is not is refused before anything runs.
    #[serde(default)]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub(crate) requires: List<RawNeed>,
    /// Whether a call of 2026-07-28 is answered with a task at once where the client takes tasks. `required`: a call of a client
    /// that does not is refused. `never`: no call is. Without it, a call that takes longer than a moment is.
    #[serde(default)]
    pub(crate) task: Field<RawTask>,
    /// Pictures of the tool.
    #[serde(default)]
    #[schemars(length(min = 1, max = 8))]
    pub(crate) icons: List<RawIcon>,
}

/// A subcommand. Fields it leaves out are taken from the tool or subcommand around it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Subcommand")]
pub(crate) struct RawSubcommand {
    /// The word added to the command line and to the MCP name. No `_`, which separates levels in
    /// the MCP name. `default` adds no word to either.
    #[schemars(regex(pattern = r"^[A-Za-z][A-Za-z0-9-]*$"), length(max = 64))]
    pub(crate) name: Field<String>,
    /// What the subcommand does. The model reads this to decide whether to use it.
    #[schemars(length(min = 1))]
    pub(crate) description: Field<String>,
    /// Another program for this subcommand. The command line then begins anew: neither this name
    /// nor those above it become words of it.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) command: Field<String>,
    /// Arguments that are always passed, right after this subcommand's word.
    #[serde(default)]
    pub(crate) fixed_args: List<String>,
    /// A short name for people, shown by clients.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) title: Field<String>,
    /// `false` leaves the subcommand out: not listed, not probed.
    #[serde(default)]
    pub(crate) enabled: Field<bool>,
    /// Deadline of a call in seconds.
    #[serde(default)]
    #[schemars(range(min = 1, max = 86_400))]
    pub(crate) timeout_seconds: Field<i64>,
    /// `true`: a call answers when the command has ended. `false`: it answers with an operation id unless the
    /// result is there in a moment, and the command goes on in the background.
    #[serde(default)]
    pub(crate) synchronous: Field<bool>,
    /// `true`: a call may start the command as a service, which has no deadline.
    #[serde(default)]
    pub(crate) service: Field<bool>,
    /// `true`: always listed. `false`: found with `find_tools` and called with `call_tool`.
    #[serde(default)]
    pub(crate) core: Field<bool>,
    /// Subcommands of this subcommand, to any depth.
    #[serde(default)]
    pub(crate) subcommand: List<RawSubcommand>,
    /// Flags of the subcommand; only where there are no further subcommands.
    #[serde(default)]
    pub(crate) options: List<RawArgument>,
    /// Arguments without a flag, in order; only where there are no further subcommands.
    #[serde(default)]
    pub(crate) positional_args: List<RawArgument>,
    /// `true` puts the positional arguments before the options.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(crate) positional_args_first: Field<bool>,
    /// `true` puts `--` before the positional arguments, so that none of them can be read as a flag.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(crate) end_of_options: Field<bool>,
    /// Variables set for the command, added to those of the levels above.
    #[serde(default)]
    pub(crate) env: TextMap,
    /// The subcommand is listed only when one of these paths exists in the scope.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) only_if: List<String>,
    /// Directories of the project, such as `.venv/bin`, in which programs are looked for before PATH.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) local_bin: List<String>,
    /// Command that succeeds when the subcommand can be used, e.g. `which cargo-nextest`.
    #[serde(default)]
    pub(crate) availability_check: Field<RawAvailability>,
    /// How to install what the subcommand needs; shown when the availability check fails.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) install_instructions: Field<String>,
    /// What a client may assume about the effects of a call.
    #[serde(default)]
    pub(crate) annotations: Field<RawAnnotations>,
    /// Steps run one after the other instead of the command.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) sequence: List<RawStep>,
    /// Pause between two steps of a sequence, in milliseconds.
    #[serde(default)]
    #[schemars(range(min = 0, max = 60_000))]
    pub(crate) step_delay_ms: Field<i64>,
    /// Name of a block of guidance; shown in the description.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) guidance_key: Field<String>,
    /// Advice for the model by topic; shown in the description.
    #[serde(default)]
    pub(crate) hints: TextMap,
    /// `false`: the command gets no network, whatever the operator allows.
    #[serde(default)]
    pub(crate) network: Field<bool>,
    /// `false`: the command may write only its temporary directory.
    #[serde(default)]
    pub(crate) writes: Field<bool>,
    /// Upper limits for the command, below the server's own.
    #[serde(default)]
    pub(crate) limits: Field<RawLimits>,
    /// Exit codes that mean success, as 1 does for a search that finds nothing; without it, 0 alone.
    #[serde(default)]
    #[schemars(length(min = 1), inner(range(min = 0, max = 255)))]
    pub(crate) success_exit_codes: List<i64>,
    /// What the command writes to its standard output. `text`: that is the result. `json`: one JSON document, which is the
    /// structured result. `image`, `audio`: its bytes, or one line with the path of a file. `events`: one JSON object
    /// a line, see `docs/events.md`. But for `text`, standard error is kept apart.
    #[serde(default)]
    #[schemars(extend("default" = "text"))]
    pub(crate) output: Field<RawOutput>,
    /// JSON Schema (2020-12) of the structured result, which is checked against it. Only with `json` and `events`; a call is
    /// then answered when the command has ended.
    #[serde(default)]
    pub(crate) output_schema: AnyObject,
    /// MIME type of an image or sound; without it, its first bytes tell.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[a-z]+/[A-Za-z0-9.+-]+$"))]
    pub(crate) mime_type: Field<String>,
    /// JSON Schema (2020-12) of the arguments, which clients get as it stands. The command reads them from its
    /// standard input, as one JSON object. It takes the place of `options` and `positional_args`.
    #[serde(default)]
    pub(crate) input_schema: AnyObject,
    /// What a client has to be able to do; a call of one that is not is refused before anything runs.
    #[serde(default)]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub(crate) requires: List<RawNeed>,
    /// Whether a call of 2026-07-28 is answered with a task at once where the client takes tasks. `required`: a call of a client
    /// that does not is refused. `never`: no call is. Without it, a call that takes longer than a moment is.
    #[serde(default)]
    pub(crate) task: Field<RawTask>,
    /// Pictures of the tool.
    #[serde(default)]
    #[schemars(length(min = 1, max = 8))]
    pub(crate) icons: List<RawIcon>,
}

/// What a tool file and a subcommand have in common, so that both are resolved by the same code.
#[derive(Clone, Copy)]
pub(crate) struct Level<'r> {
    pub(crate) description: &'r Field<String>,
    pub(crate) command: &'r Field<String>,
    pub(crate) fixed_args: &'r List<String>,
    pub(crate) title: &'r Field<String>,
    pub(crate) enabled: &'r Field<bool>,
    pub(crate) timeout_seconds: &'r Field<i64>,
    pub(crate) synchronous: &'r Field<bool>,
    pub(crate) service: &'r Field<bool>,
    pub(crate) core: &'r Field<bool>,
    pub(crate) subcommand: &'r List<RawSubcommand>,
    pub(crate) options: &'r List<RawArgument>,
    pub(crate) positional_args: &'r List<RawArgument>,
    pub(crate) positional_args_first: &'r Field<bool>,
    pub(crate) end_of_options: &'r Field<bool>,
    pub(crate) env: &'r TextMap,
    pub(crate) only_if: &'r List<String>,
    pub(crate) local_bin: &'r List<String>,
    pub(crate) availability_check: &'r Field<RawAvailability>,
    pub(crate) install_instructions: &'r Field<String>,
    pub(crate) annotations: &'r Field<RawAnnotations>,
    pub(crate) sequence: &'r List<RawStep>,
    pub(crate) step_delay_ms: &'r Field<i64>,
    pub(crate) guidance_key: &'r Field<String>,
    pub(crate) hints: &'r TextMap,
    pub(crate) network: &'r Field<bool>,
    pub(crate) writes: &'r Field<bool>,
    pub(crate) limits: &'r Field<RawLimits>,
    pub(crate) success_exit_codes: &'r List<i64>,
    pub(crate) output: &'r Field<RawOutput>,
    pub(crate) output_schema: &'r AnyObject,
    pub(crate) mime_type: &'r Field<String>,
    pub(crate) input_schema: &'r AnyObject,
    pub(crate) requires: &'r List<RawNeed>,
    pub(crate) task: &'r Field<RawTask>,
    pub(crate) icons: &'r List<RawIcon>,
}

/// Writes the view for both types, so that a field cannot be forgotten in one of them.
macro_rules! as_level {
    ($($field:ident)*) => {
        impl RawToolFile {
            /// The fields shared with subcommands.
            pub(crate) fn level(&self) -> Level<'_> {
                Level { $($field: &self.$field),* }
            }
        }

        impl RawSubcommand {
            /// The fields shared with tools.
            pub(crate) fn level(&self) -> Level<'_> {
                Level { $($field: &self.$field),* }
            }
        }
    };
}

as_level!(
    description command fixed_args title enabled timeout_seconds synchronous service core subcommand
    options positional_args positional_args_first end_of_options env only_if local_bin
    availability_check install_instructions annotations sequence step_delay_ms guidance_key hints network writes limits success_exit_codes
    output output_schema mime_type input_schema requires task icons
);
