//! `status`: lists operations.

use std::time::Duration;

use rmcp::model::CallToolResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::built_in::{AnswerTool, Request};
use crate::audit::timestamp;
use crate::operation::{OperationFilter, OperationRecord, OperationState};
use crate::service::call_error::CallError;
use crate::service::respond;

const DEFAULT_ROWS: usize = 20;
/// A command that has been silent for this long may be waiting for something.
const SILENCE: Duration = Duration::from_secs(30);

/// The tool.
pub(super) struct Status;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Only this one.
    operation_id: Option<String>,
    /// Only operations of tools whose names begin with one of these.
    #[serde(default)]
    tools: Vec<String>,
    /// Only operations in this state.
    #[schemars(extend("enum" = OperationState::ALL.map(OperationState::name)))]
    state: Option<String>,
    /// At most this many.
    #[serde(default = "default_rows")]
    #[schemars(range(min = 1))]
    limit: usize,
}

fn default_rows() -> usize {
    DEFAULT_ROWS
}

/// What programs are told of an operation.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    record: OperationRecord,
    /// The beginning of what it runs.
    command: String,
    started_at: String,
    /// When it is stopped, once it runs.
    deadline_at: Option<String>,
    service: bool,
    /// Who asked for it.
    client: String,
}

impl AnswerTool for Status {
    const NAME: &'static str = "status";
    const TITLE: &'static str = "List operations";
    const DESCRIPTION: &'static str = "Lists operations, the newest first: what they run, their state, start, deadline and caller; not \
        their output.";
    type Args = Args;

    async fn answer(request: Request<'_>, args: Args) -> Result<CallToolResult, CallError> {
        let store = request.context.operations();
        if let Some(id) = &args.operation_id {
            store.get(id).ok_or_else(|| respond::no_operation(id))?;
        }
        let found = store.query(&OperationFilter {
            state: args.state.as_deref().map(state_of).transpose()?,
            id: args.operation_id,
            tools: args.tools,
            limit: Some(args.limit),
            ..OperationFilter::default()
        });
        let mut rows = Vec::new();
        let mut records = Vec::new();
        for operation in found {
            let record = operation.record();
            let started = timestamp(operation.created_at());
            let ends = operation.ends_at().map(timestamp);
            let client = &operation.origin().client;
            let mut row = format!("{} {}", respond::summary(&record), record.tool);
            row += &format!(": {}", operation.command());
            row += &format!("\n  in {}, since {started}", record.working_directory);
            match (&ends, record.state.is_final()) {
                (Some(ends), false) => row += &format!(", deadline {ends}"),
                (None, false) if operation.is_service() => row += ", a service",
                _ => {}
            }
            row += &format!(", for {client}");
            let silent = operation.output().last_written().elapsed();
            if record.state == OperationState::Running && silent >= SILENCE {
                let seconds = silent.as_secs();
                row += &format!(" (no output for {seconds} s, may be waiting for input)");
            }
            rows.push(row);
            records.push(Row {
                record,
                command: operation.command().to_owned(),
                started_at: started,
                deadline_at: ends,
                service: operation.is_service(),
                client: client.to_string(),
            });
        }
        if rows.is_empty() {
            rows.push("no operations".to_owned());
        }
        let result = respond::text(rows.join("\n"));
        Ok(respond::with_records(result, &records))
    }
}

fn state_of(name: &str) -> Result<OperationState, CallError> {
    let mut states = OperationState::ALL.into_iter();
    states.find(|state| state.name() == name).ok_or_else(|| {
        let names = OperationState::ALL.map(OperationState::name);
        CallError::new(format!("state: expected one of {}", names.join(", ")))
    })
}
