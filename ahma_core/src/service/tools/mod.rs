//! The built-in tools: one file each, and this table.
//!
//! A new one is a file here and three lines below: its module, its name, its entry.

mod facts;

#[cfg(feature = "server")]
mod argument_check;
#[cfg(feature = "server")]
mod await_operations;
#[cfg(feature = "server")]
mod built_in;
#[cfg(feature = "server")]
mod call_tool;
#[cfg(feature = "server")]
mod cancel;
#[cfg(feature = "server")]
mod find_tools;
#[cfg(feature = "server")]
mod read_output;
#[cfg(feature = "server")]
mod schema;
#[cfg(feature = "server")]
mod send_input;
#[cfg(feature = "server")]
mod server_info;
#[cfg(feature = "server")]
mod shell;
#[cfg(feature = "server")]
mod status;
#[cfg(feature = "server")]
mod table;

use super::call_parameters::SHELL;
pub use facts::server_facts;

#[cfg(feature = "server")]
pub(super) use built_in::{BuiltIn, Request};
#[cfg(feature = "server")]
pub(super) use call_tool::called;
#[cfg(feature = "server")]
pub(crate) use table::definitions;
#[cfg(feature = "server")]
pub(super) use table::find;

/// Names that no tool file may use, in the order they are listed.
pub(crate) const NAMES: [&str; 9] = [
    SHELL,
    "await",
    "status",
    "cancel",
    "send_input",
    "read_output",
    "get_server_info",
    "find_tools",
    "call_tool",
];

/// The tools behind the names.
#[cfg(feature = "server")]
static BUILT_INS: [&dyn BuiltIn; NAMES.len()] = [
    &shell::Shell,
    &await_operations::Await,
    &status::Status,
    &cancel::Cancel,
    &send_input::SendInput,
    &read_output::ReadOutput,
    &server_info::ServerInfo,
    &find_tools::FindTools,
    &call_tool::CallTool,
];

#[cfg(all(test, feature = "server"))]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::service::CallStyle;

    #[test]
    fn every_name_has_its_tool() {
        let names = BUILT_INS.map(|tool| tool.definition(CallStyle::default()).name.into_owned());
        assert_eq!(names, NAMES);
    }

    #[test]
    fn every_schema_is_valid_and_closed() {
        for tool in BUILT_INS {
            let tool = tool.definition(CallStyle::default());
            let schema = Value::Object((*tool.input_schema).clone());
            let is_valid = jsonschema::draft202012::meta::is_valid(&schema);
            assert!(is_valid, "{}", tool.name);
            assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        }
    }
}
