//! Tool files drafted from what programs print about themselves.
//!
//! ```text
//! text ─clean─► lines ─layout─► sections and rows ─reader─► Help ─compose─► ToolDraft ─check─► ─write─► a tool file
//! ```
//!
//! One file for each style of help (`clap`, `argparse`, `click`, `cobra`, `git`, `gnu`, `bsd`) tells it from the others and reads
//! what only it says; the tables that all of them have are read in one place. Pure: text in, text out. Must not run anything, and
//! must not offer a flag that does not stand in the text.

mod argparse;
mod bsd;
mod caution;
mod check;
mod clap;
mod clean;
mod click;
mod cobra;
mod compose;
mod effects;
mod flag_spec;
mod git;
mod gnu;
mod headings;
mod help;
mod layout;
mod naming;
mod reader;
mod sentence;
mod style;
mod tool;
mod usage;
mod values;
mod write;

pub(crate) use check::{Draft, checked};
pub(crate) use compose::{Branch, compose};
pub(crate) use help::Help;
pub(crate) use naming::tool_name;
pub(crate) use reader::{is_manual_page, of_row, read};
