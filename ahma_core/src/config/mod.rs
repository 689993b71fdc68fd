//! Tool files (MTDF): from bytes to tools that can be served. And, in [`downstream`], servers of others.
//!
//! ```text
//! bytes ─text─► spanned JSON ─decode─► raw form ─resolve─► ToolFile ─link─► Catalog
//! ```
//!
//! Pure and synchronous: apart from [`files`], which fetches bytes, nothing here may read a file, run a program, or know
//! MCP, the built-in tools or the server's flags; what the server contributes is passed in as [`ServerFacts`]. Every fault of every file is reported, each with line, column, JSON
//! pointer and advice; a rejected file never hides another.

pub mod content;
pub mod downstream;
pub mod files;
pub mod settings;

mod catalog;
mod checked;
mod checked_schema;
mod checks;
mod decode;
mod describe;
mod fault;
mod field;
mod header_marks;
mod input_schema;
mod limits;
mod link;
mod lint;
mod load;
mod names;
mod raw;
mod resolve;
mod schema;
mod server_facts;
mod shared_fields;
mod spec;
mod suggest;
mod text;
mod values;

pub use catalog::{Catalog, RejectedFile, WarnedFile};
pub use checked_schema::{CheckedSchema, SchemaFault};
pub use fault::{Fault, Severity};
pub use input_schema::input_schema;
pub use load::{load, load_beside};
pub use names::MAX_NAME_LENGTH;
pub use raw::bounds::TIMEOUT_SECONDS;
pub use schema::{SCHEMA_FILE_NAME, tool_file_schema, tool_file_schema_text};
pub use server_facts::{ReservedTool, ServerFacts};
pub use spec::{
    Action, Annotations, ArgumentSpec, AvailabilityCheck, ClientNeeds, CommandLine, CompleteSpec,
    Delivery, Flag, IconSpec, OutputKind, Restrictions, ResultSpec, ScalarKind, ScalarSpec,
    Separator, Sequence, StepSpec, TaskMode, ToolFile, ToolSpec, ValueSpec,
};
#[cfg(feature = "server")]
pub(crate) use suggest::nearest;
pub use text::MAX_FILE_BYTES;
pub use values::{
    ArgumentFault, EXECUTION_MODES, META_PARAMETERS, SERVICE_MODE, check_arguments, check_call,
};
#[cfg(feature = "server")]
pub(crate) use values::{MAX_FAULTS, check_value, missing, shown, unknown};
