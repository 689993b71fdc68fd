//! The resolved form: what a tool file means once everything inherited is written out.
//!
//! Plain data. A value here has passed every check, so readers need none of their own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use regex::Regex;
use serde_json::{Map, Value};

use super::checked_schema::CheckedSchema;

/// A tool file that was accepted.
#[derive(Debug, Clone)]
pub struct ToolFile {
    /// The file it came from.
    pub source: PathBuf,
    /// The tool's name: first part of the names of its tools.
    pub name: String,
    /// Whether it comes with the program.
    pub is_shipped: bool,
    /// What clients can call, in the order of the file.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Names of tools that the file switches off.
    pub disabled: Vec<String>,
}

/// One MCP tool.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// The full MCP name, `{tool}_{sub}_{sub}`.
    pub name: String,
    /// JSON pointer of the tool in its file.
    pub pointer: String,
    /// A short name for people.
    pub title: Option<String>,
    /// The author's description, with hints and guidance added.
    pub description: String,
    /// What a call does.
    pub action: Action,
    /// The arguments a caller can give, options first, each group in the order of the file.
    pub arguments: Vec<ArgumentSpec>,
    /// Whether a call waits for its command, where neither caller nor operator say otherwise.
    pub synchronous: bool,
    /// Whether a call may start it as a service.
    pub service: bool,
    /// Whether it is listed, or only found by searching; none leaves that to where its file is.
    pub core: Option<bool>,
    /// Deadline in seconds; none means the server's default.
    pub timeout_seconds: Option<u32>,
    /// Variables set for the command.
    pub env: BTreeMap<String, String>,
    /// Listed only when one of these exists in the scope; empty means always.
    pub only_if: Vec<String>,
    /// Directories of the project in which programs are looked for before PATH.
    pub local_bin: Vec<String>,
    /// How to find out whether the tool can be used.
    pub availability: Option<AvailabilityCheck>,
    /// What to say when it cannot.
    pub install_instructions: Option<String>,
    /// Promises about effects.
    pub annotations: Annotations,
    /// What the tool gives up of what the operator grants.
    pub restrictions: Restrictions,
    /// Exit codes that mean success.
    pub success_exit_codes: Vec<u8>,
    /// The JSON Schema (2020-12) of a call's arguments, meta parameters included.
    pub input_schema: Arc<Map<String, Value>>,
    /// What the arguments have to agree with, where the file brings a schema of its own; the command then reads them.
    pub own_schema: Option<CheckedSchema>,
    /// What becomes of what the command writes.
    pub result: ResultSpec,
    /// What a client has to be able to do.
    pub requires: ClientNeeds,
    /// Whether a call is answered with a task; none leaves that to how long it takes.
    pub task: Option<TaskMode>,
    /// Pictures for clients that show one.
    pub icons: Vec<IconSpec>,
}

/// What becomes of what a command writes.
#[derive(Debug, Clone, Default)]
pub struct ResultSpec {
    /// What it is.
    pub kind: OutputKind,
    /// What structured content has to agree with.
    pub schema: Option<CheckedSchema>,
    /// The MIME type of an image or sound, where its bytes need not tell.
    pub mime_type: Option<String>,
}

/// What a command writes to its standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OutputKind {
    /// Text for the model.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// A picture, or the path of one.
    Image,
    /// A sound, or the path of one.
    Audio,
    /// Events, one JSON object a line.
    Events,
}

/// What a client has to be able to do for a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientNeeds {
    /// To ask its user something.
    pub elicitation: bool,
    /// To have its model answer something.
    pub sampling: bool,
    /// To say which directories its user works in.
    pub roots: bool,
}

/// Whether a call is answered with a task, where the client takes tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskMode {
    /// It never is.
    Never,
    /// It is at once.
    Optional,
    /// It is at once, and refused where the client takes none.
    Required,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IconSpec {
    /// Its URL.
    pub src: String,
    /// Its MIME type.
    pub mime_type: Option<String>,
    /// Its sizes.
    pub sizes: Vec<String>,
}

/// What a call of a tool does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Runs a program.
    Run(CommandLine),
    /// Calls other tools, one after the other.
    Sequence(Sequence),
}

/// The fixed part of a command line, and how the caller's part is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Name or path of the program.
    pub program: String,
    /// Words that always follow it: fixed arguments and subcommand names.
    pub words: Vec<String>,
    /// Positional arguments come before the options.
    pub positionals_first: bool,
    /// `--` is put before the positional arguments, when there are any.
    pub end_of_options: bool,
}

/// Steps of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    /// The steps in order; at least one.
    pub steps: Vec<StepSpec>,
    /// Pause between two steps, in milliseconds.
    pub step_delay_ms: u32,
}

/// One step of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSpec {
    /// JSON pointer of the step in its file.
    pub pointer: String,
    /// Full name of the tool or built-in tool to call.
    pub target: String,
    /// Arguments of the call.
    pub args: Map<String, Value>,
    /// What the step is for.
    pub description: Option<String>,
    /// Skipped when this path exists.
    pub skip_if_file_exists: Option<String>,
    /// Skipped when this path does not exist.
    pub skip_if_file_missing: Option<String>,
    /// The sequence goes on when the step fails.
    pub continue_on_error: bool,
}

/// How to find out whether a tool can be used.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AvailabilityCheck {
    /// The program must be found on PATH; nothing is run.
    OnPath(String),
    /// The command must end with one of these exit codes.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// Exit codes that mean yes; at least one.
        success_exit_codes: Vec<u8>,
        /// Paths of the project one of which is enough; nothing is run then.
        or_exists: Vec<String>,
    },
}

/// Promises about the effects of a call; `None` promises nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Annotations {
    /// Changes nothing.
    pub read_only: Option<bool>,
    /// Can destroy something.
    pub destructive: Option<bool>,
    /// A repeated call has no further effect.
    pub idempotent: Option<bool>,
    /// Reaches beyond this machine.
    pub open_world: Option<bool>,
}

/// What a tool gives up. There is no value here that grants anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Restrictions {
    /// The command gets no network.
    pub no_network: bool,
    /// The command may write only its temporary directory.
    pub no_writes: bool,
    /// Memory of each process, in MiB.
    pub memory_mb: Option<u32>,
    /// Processes at the same time.
    pub processes: Option<u32>,
    /// Output kept, in MiB.
    pub output_mb: Option<u32>,
}

/// An argument a caller can give.
#[derive(Debug, Clone)]
pub struct ArgumentSpec {
    /// Name in a call.
    pub name: String,
    /// A second name in a call.
    pub alias: Option<String>,
    /// What the argument means.
    pub description: Option<String>,
    /// What values it takes.
    pub values: ValueSpec,
    /// A call without it is refused.
    pub required: bool,
    /// Passed when the caller gives none.
    pub default: Option<Value>,
    /// A value may begin with `-` where it could be read as a flag.
    pub allow_dash: bool,
    /// How the value reaches the command.
    pub delivery: Delivery,
    /// What is passed when a boolean is `false`.
    pub negated_flag: Option<String>,
    /// Arguments that cannot be given with it.
    pub conflicts_with: Vec<String>,
    /// Arguments without which it cannot be given.
    pub requires: Vec<String>,
    /// Values that are likely to be meant.
    pub complete: Option<CompleteSpec>,
}

/// What can be proposed for a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompleteSpec {
    /// These values.
    Values(Vec<String>),
    /// What this command line prints, one a line.
    Command(Vec<String>),
}

/// The values an argument takes.
#[derive(Debug, Clone)]
pub enum ValueSpec {
    /// A flag that is there or not.
    Boolean,
    /// One value.
    One(ScalarSpec),
    /// Any number of values.
    Many(ScalarSpec),
}

impl ValueSpec {
    /// Whether values have to match a pattern.
    pub fn has_pattern(&self) -> bool {
        match self {
            ValueSpec::Boolean => false,
            ValueSpec::One(scalar) | ValueSpec::Many(scalar) => scalar.pattern.is_some(),
        }
    }
}

/// One string or number.
#[derive(Debug, Clone)]
pub struct ScalarSpec {
    /// Its type.
    pub kind: ScalarKind,
    /// The only values allowed; empty means any.
    pub allowed: Vec<Value>,
    /// Smallest number.
    pub minimum: Option<f64>,
    /// Largest number.
    pub maximum: Option<f64>,
    /// Expression that must be found in a string.
    pub pattern: Option<Regex>,
    /// The value names a file or directory.
    pub is_path: bool,
}

/// Type of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarKind {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
}

/// How a value reaches the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// Behind a flag, once per value.
    Flag(Flag),
    /// As a word of its own.
    Positional(Separator),
    /// Written to a private file whose path goes behind the flag, or stands alone as a positional.
    File(Option<Flag>),
    /// As the standard input.
    Stdin,
    /// As a variable.
    Env(String),
}

impl Delivery {
    /// Whether a value is a word of its own, which a program could take for a flag.
    pub fn is_a_word(&self) -> bool {
        match self {
            Delivery::Positional(_) => true,
            Delivery::Flag(flag) => !flag.joined,
            Delivery::File(_) | Delivery::Stdin | Delivery::Env(_) => false,
        }
    }
}

/// What stands before a positional argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    /// Nothing.
    None,
    /// `--`, when the argument is given.
    Dashes,
}

/// A flag and how its value is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The flag with its dashes.
    pub text: String,
    /// `flag=value` in one word instead of two words.
    pub joined: bool,
}
