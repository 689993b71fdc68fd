//! What programs other than the server may rely on.
//!
//! Plain types and rules that the server, its clients and other tools share: where a server leaves its
//! [state file](ServerState), which [token](Token) opens it and how a server proves that it knows the token, where a
//! user's [state and cache](UserDirectories) are, and what is told about an [operation](OperationRecord). Each is
//! written here and nowhere else.
//!
//! Must not know MCP, HTTP, or how commands run.

#![forbid(unsafe_code)]

mod operation;
mod operation_id;
mod server_address;
mod state_file;
mod token;
mod user_directories;

pub use operation::{OperationRecord, OperationState};
pub use operation_id::OperationId;
pub use server_address::ServerAddress;
pub use state_file::{ProjectReference, STATE_FILE, STATE_VERSION, ServerState};
pub use token::{Token, TokenError, isolated_token_file, random_hex, token_file};
pub use user_directories::UserDirectories;
