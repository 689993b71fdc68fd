//! From a tool and the arguments of a call to a plan. Arguments are checked once, here.
//!
//! Must not start anything.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ahma_sandbox::{Input, InputPipe};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;

use super::call_error::CallError;
use super::call_parameters::{SHELL, shell_arguments};
use super::caller::Caller;
use super::context::ServiceContext;
use super::directory::working_directory;
use super::execution_mode::ExecutionMode;
use super::follow::Answering;
use super::readiness::{Readiness, ReadyWhen};
use crate::config::{
    ArgumentFault, ArgumentSpec, META_PARAMETERS, OutputKind, Restrictions, ResultSpec, ToolSpec,
    check_arguments, check_call,
};
use crate::executor::command_line::{Arg, PathContext, build};
use crate::executor::{CommandKind, CommandPlan, EVENTS_VERSION, Environment, EventPlan};
use crate::operation::{Dialogue, InputWriter};

/// Letters that are compared with patterns while others wait.
const MAX_AT_ONCE: usize = 256;

/// A longer script is given to the shell as a file: the kernel takes words up to 128 KiB.
const MAX_SCRIPT_WORD: usize = 100 * 1024;

/// Made once: every script is checked against them.
static SHELL_ARGUMENTS: LazyLock<Vec<ArgumentSpec>> = LazyLock::new(shell_arguments);

/// Arguments of a call that are right, those of the tool apart from those that steer the call.
pub(super) struct CheckedCall {
    parameters: CallParameters,
    arguments: Map<String, Value>,
}

/// What every call that runs something takes besides its own arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallParameters {
    working_directory: Option<String>,
    execution_mode: Option<ExecutionMode>,
    /// A whole number in its bounds, perhaps written as `5.0`.
    timeout_seconds: Option<f64>,
    ready: Option<ReadyWhen>,
}

impl CheckedCall {
    /// The arguments of the tool itself.
    pub(super) fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// How the caller wants to be answered.
    pub(super) fn mode(&self) -> Option<ExecutionMode> {
        self.parameters.execution_mode
    }

    /// What the caller waits for when it starts a service.
    fn ready(&self) -> Option<&ReadyWhen> {
        self.parameters.ready.as_ref()
    }

    /// Whether the caller starts a service.
    fn is_service(&self) -> bool {
        self.mode() == Some(ExecutionMode::Service)
    }

    /// How long the command may run: as the caller says, else as usual. A service has no deadline of its own accord.
    fn deadline(&self, usual: Duration) -> Option<Duration> {
        let usual = (!self.is_service()).then_some(usual);
        self.timeout().or(usual)
    }

    /// The directory the caller names.
    pub(super) fn directory(&self) -> Option<&str> {
        self.parameters.working_directory.as_deref()
    }

    /// The deadline the caller sets.
    pub(super) fn timeout(&self) -> Option<Duration> {
        self.parameters.timeout_seconds.map(Duration::from_secs_f64)
    }
}

/// Checks the arguments of a declared tool; everything that is wrong is in one answer.
pub(super) async fn check(
    tool: &Arc<ToolSpec>,
    arguments: Map<String, Value>,
) -> Result<CheckedCall, CallError> {
    if !takes_long(tool, &arguments) {
        return checked_for(tool, arguments);
    }
    // A caller decides how long that takes; others must not wait for it.
    let tool = Arc::clone(tool);
    let checking = spawn_blocking(move || checked_for(&tool, arguments));
    let stopped = |_| CallError::failed("the server stops");
    checking.await.map_err(stopped)?
}

/// The same for a step of a sequence, which says where it runs whatever the tool takes.
pub(super) async fn check_step(
    tool: &Arc<ToolSpec>,
    mut arguments: Map<String, Value>,
) -> Result<CheckedCall, CallError> {
    if tool.own_schema.is_none() {
        return check(tool, arguments).await;
    }
    let directory = arguments.shift_remove("working_directory");
    let mut call = check(tool, arguments).await?;
    call.parameters.working_directory = directory.and_then(|it| it.as_str().map(str::to_owned));
    Ok(call)
}

fn checked_for(tool: &ToolSpec, arguments: Map<String, Value>) -> Result<CheckedCall, CallError> {
    let Some(schema) = &tool.own_schema else {
        let faults = check_arguments(tool, &arguments);
        return checked(&tool.name, faults, arguments);
    };
    // Nothing steers such a call: every argument is the tool's own.
    let arguments = Value::Object(arguments);
    let faults = schema.faults(&arguments);
    if !faults.is_empty() {
        let faults = faults.into_iter().map(|(place, message)| ArgumentFault {
            argument: match place.strip_prefix('/') {
                Some(place) => place.to_owned(),
                None => tool.name.clone(),
            },
            message,
            hint: None,
        });
        return Err(described(faults.collect()));
    }
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    };
    Ok(CheckedCall {
        parameters: CallParameters::default(),
        arguments,
    })
}

/// Whether values of more than a few letters have to match patterns, or a schema.
fn takes_long(tool: &ToolSpec, arguments: &Map<String, Value>) -> bool {
    let has_pattern =
        tool.own_schema.is_some() || tool.arguments.iter().any(|it| it.values.has_pattern());
    has_pattern && arguments.values().map(length).sum::<usize>() > MAX_AT_ONCE
}

/// Letters of a value, as far as they can have to match a pattern.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(length).sum(),
        Value::Object(fields) => fields.values().map(length).sum(),
        _ => 1,
    }
}

/// Checks the arguments of the shell, with the same messages.
pub(super) fn check_script(arguments: Map<String, Value>) -> Result<CheckedCall, CallError> {
    let faults = check_call(SHELL, &SHELL_ARGUMENTS, true, &arguments);
    checked(SHELL, faults, arguments)
}

fn checked(
    tool: &str,
    faults: Vec<ArgumentFault>,
    arguments: Map<String, Value>,
) -> Result<CheckedCall, CallError> {
    if !faults.is_empty() {
        return Err(described(faults));
    }
    let (parameters, arguments): (Map<String, Value>, Map<String, Value>) = arguments
        .into_iter()
        .partition(|(name, _)| META_PARAMETERS.contains(&name.as_str()));
    let parameters = serde_json::from_value(Value::Object(parameters)).map_err(|error| {
        // It names types of Rust, which say nothing to a caller.
        tracing::debug!(tool, "arguments that were found right: {error}");
        CallError::new(format!("the arguments of `{tool}` cannot be read"))
    })?;
    Ok(CheckedCall {
        parameters,
        arguments,
    })
}

/// What is wrong with the arguments of a call, a line each.
pub(super) fn described(faults: Vec<ArgumentFault>) -> CallError {
    let lines = faults.into_iter().map(|fault| {
        let hint = fault.hint.map(|hint| format!(" ({hint})"));
        let hint = hint.unwrap_or_default();
        format!("{}: {}{hint}", fault.argument, fault.message)
    });
    CallError::new(lines.collect::<Vec<_>>().join("\n"))
}

/// How a call is answered.
pub(super) async fn answering(
    context: &ServiceContext,
    call: &CheckedCall,
    usual: ExecutionMode,
) -> Result<Answering, CallError> {
    let mode = context.style.mode(call.mode(), usual);
    let ready = match mode {
        ExecutionMode::Service => Some(Readiness::new(call.ready(), context).await?),
        _ if call.ready().is_some() => {
            let why = "ready: only with execution_mode \"service\"";
            return Err(CallError::new(why));
        }
        _ => None,
    };
    Ok(Answering {
        mode,
        ready,
        task: None,
        has_shape: false,
    })
}

/// The command of a call of a declared tool.
pub(super) async fn declared(
    context: &ServiceContext,
    tool: &ToolSpec,
    call: CheckedCall,
    caller: &Caller,
) -> Result<CommandPlan, CallError> {
    let commands = &context.commands;
    let working_directory = working_directory(context, call.directory()).await?;
    let paths = PathContext {
        working_directory: &working_directory,
        roots: &commands.roots,
    };
    let (usual, is_service) = (commands.timeout, call.is_service());
    let built = match tool.own_schema {
        None => build(tool, &call.arguments, paths),
        // They are read from the standard input.
        Some(_) => build(tool, &Map::new(), paths),
    };
    let built = built.map_err(described)?;
    let environment = environment(context, tool, built.env);
    let (input, events) = match (tool.result.kind, &tool.own_schema) {
        (OutputKind::Events, _) => {
            let arguments = as_declared(tool, &call.arguments);
            let (input, events) = spoken_with(&arguments, caller)?;
            (input, Some(events))
        }
        (_, Some(_)) => {
            let arguments = Value::Object(call.arguments.clone());
            (Input::Bytes(format!("{arguments}\n").into_bytes()), None)
        }
        (_, None) => (input(built.input), None),
    };
    let declared = tool
        .timeout_seconds
        .map(|it| Duration::from_secs(it.into()));
    Ok(CommandPlan {
        tool: tool.name.clone(),
        kind: CommandKind::Program,
        arguments: built.words,
        environment,
        input,
        input_writer: None,
        deadline: call.deadline(declared.unwrap_or(usual)),
        is_service,
        restrictions: tool.restrictions,
        success_exit_codes: tool.success_exit_codes.clone(),
        output: tool.result.clone(),
        events,
        working_directory,
    })
}

/// Arguments under their own names, with those that have a value when none is given.
fn as_declared(tool: &ToolSpec, given: &Map<String, Value>) -> Map<String, Value> {
    if tool.own_schema.is_some() {
        return given.clone();
    }
    let value = |argument: &ArgumentSpec| {
        let alias = argument.alias.as_ref().and_then(|it| given.get(it));
        let value = given.get(&argument.name).or(alias);
        let value = value.or(argument.default.as_ref())?;
        Some((argument.name.clone(), value.clone()))
    };
    tool.arguments.iter().filter_map(value).collect()
}

/// How a command that writes events is spoken with: its input stays open, and it reads its arguments first.
fn spoken_with(
    arguments: &Map<String, Value>,
    caller: &Caller,
) -> Result<(Input, EventPlan), CallError> {
    let none = |error| CallError::failed(format!("there is no pipe for its input: {error}"));
    let (pipe, writing) = InputPipe::new().map_err(none)?;
    let first_line = json!({
        "version": EVENTS_VERSION,
        "arguments": arguments,
        "client": caller.answers(),
    });
    let events = EventPlan {
        dialogue: Arc::new(Dialogue::new(InputWriter::new(writing))),
        first_line: Arc::new(first_line),
    };
    Ok((Input::Pipe(pipe), events))
}

/// The variables of a declared tool: the usual ones, its own, those of this call, and a PATH that begins with what it has in the project.
fn environment(
    context: &ServiceContext,
    tool: &ToolSpec,
    of_call: Vec<(String, String)>,
) -> Environment {
    let usual = &context.commands.environment;
    if tool.env.is_empty() && tool.local_bin.is_empty() && of_call.is_empty() {
        return Arc::clone(usual);
    }
    let mut environment = usual.to_vec();
    let mut own = tool.env.clone();
    own.extend(of_call);
    environment.retain(|(known, _)| !own.keys().any(|name| known == name.as_str()));
    let own = own.into_iter();
    environment.extend(own.map(|(name, value)| (name.into(), value.into())));
    let path = environment.iter_mut().find(|(name, _)| name == "PATH");
    if let (Some((_, path)), false) = (path, tool.local_bin.is_empty()) {
        let scope = &context.hosts.policy().scope;
        let local = tool.local_bin.iter().map(|it| scope.join(it));
        let all: Vec<PathBuf> = local.chain(std::env::split_paths(path)).collect();
        // A scope whose name holds the separator has no programs of its own.
        if let Ok(joined) = std::env::join_paths(all) {
            *path = joined;
        }
    }
    Arc::new(environment)
}

/// The command of a call of the shell.
pub(super) async fn script(
    context: &ServiceContext,
    mut call: CheckedCall,
) -> Result<CommandPlan, CallError> {
    let commands = &context.commands;
    let working_directory = working_directory(context, call.directory()).await?;
    let mut text = |name: &str| match call.arguments.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (script, stdin) = (text("command").unwrap_or_default(), text("stdin"));
    let wants_input = call.arguments.get("input") == Some(&Value::Bool(true));
    let (input, input_writer) = match (stdin, wants_input) {
        (Some(_), true) => {
            let why = "input: there is `stdin` already, after which the input ends";
            return Err(CallError::new(why).with_hint("leave out one of the two"));
        }
        (None, true) => {
            let pipe = InputPipe::new();
            let none =
                |error| CallError::failed(format!("there is no pipe for its input: {error}"));
            let (pipe, writing) = pipe.map_err(none)?;
            (Input::Pipe(pipe), Some(Arc::new(InputWriter::new(writing))))
        }
        (stdin, false) => (input(stdin), None),
    };
    let mut arguments = vec![Arg::Text(commands.shell.to_string_lossy().into_owned())];
    match script.len() > MAX_SCRIPT_WORD {
        false => arguments.extend([
            Arg::from("-c"),
            // A script may begin with a dash.
            Arg::from("--"),
            Arg::Text(script),
        ]),
        true => arguments.push(Arg::File {
            prefix: String::new(),
            content: script,
        }),
    }
    Ok(CommandPlan {
        tool: SHELL.to_owned(),
        kind: CommandKind::Script,
        arguments,
        environment: Arc::clone(&commands.environment),
        input,
        input_writer,
        deadline: call.deadline(commands.timeout),
        is_service: call.is_service(),
        restrictions: Restrictions::default(),
        success_exit_codes: Vec::new(),
        output: ResultSpec::default(),
        events: None,
        working_directory,
    })
}

fn input(text: Option<String>) -> Input {
    text.map_or(Input::Nothing, |text| Input::Bytes(text.into_bytes()))
}
