//! Where MCP clients keep their entries, and how those files are edited in place.
//!
//! # Theory of operation
//!
//! A [`Client`] says what its entry looks like, a [`Machine`] where its files are. [`plan()`] reads these files and says what would
//! change; nothing is written yet, so that it can be shown. [`Change::make`] keeps what is there in the [`Records`] and then
//! writes the file, whole or not at all. [`plan_undo`] does the same backwards: a file that nobody else has changed gets its old
//! bytes back, from any other only our changes are taken out.
//!
//! A text is changed by inserting or taking out one piece, so that comments, order, indentation and line ends stay as they are.
//! Each such change is then read again and compared with what the text should say; a file that is not understood is left as it
//! is, with the [`Refusal`] that says why.
//!
//! Must not know MCP or the sandbox, print, exit, or read the environment.

#![forbid(unsafe_code)]

mod client;
mod diff;
mod edit;
mod fault;
mod file;
mod json_container;
mod json_layout;
mod json_text;
mod places;
mod plan;
mod records;
mod refusal;
mod text;
mod toml_text;
mod undo;

pub use client::{Client, Level, OwnShell};
pub use diff::unified;
pub use edit::{Edit, Manner, PROGRAM};
pub use fault::Fault;
pub use places::{Machine, Place, Platform};
pub use plan::{Action, Change, FilePlan, Note, Plan, Wish, plan};
pub use records::{Lock, Records};
pub use refusal::{Refusal, Remedy};
pub use text::Language;
pub use undo::{UndoAction, UndoPlan, plan_undo};
