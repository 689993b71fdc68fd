//! A light reader of shell scripts: which programs are run, where, with which words, and which paths they name.
//!
//! Reads far enough for an explanation. Must not be used to decide what is allowed: it guesses.

mod commands;
mod lexer;
mod mentions;
mod reader;

pub(super) use commands::Simple;
pub(super) use mentions::{Mention, looks_like_path};
pub(super) use reader::Script;
