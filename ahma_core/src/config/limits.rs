//! Bounds of what one tool file may hold: far beyond what clients can use, near enough that judging
//! any file stays quick.

/// Tools of one file.
pub(super) const LEAVES_PER_FILE: usize = 500;
/// Options and positional arguments of one tool.
pub(super) const ARGUMENTS_PER_LEAF: usize = 100;
/// Values an argument may be restricted to.
pub(super) const ALLOWED_VALUES: usize = 500;
/// Steps of one sequence.
pub(super) const STEPS_PER_SEQUENCE: usize = 100;
/// Regular expressions of one file: each is compiled and kept.
pub(super) const PATTERNS_PER_FILE: usize = 50;
/// Characters of one regular expression.
pub(super) const PATTERN_LENGTH: usize = 1_000;
/// Memory of one compiled expression, in bytes.
pub(super) const PATTERN_MEMORY: usize = 256 * 1024;
/// Bytes of a value that is compared with a regular expression.
pub(super) const PATTERN_VALUE: usize = 64 * 1024;
/// Bytes of one JSON Schema: it is compiled and kept.
pub(super) const SCHEMA_BYTES: usize = 64 * 1024;
/// Pictures that one tool may have.
pub(super) const ICONS: usize = 8;
/// Arguments of one prompt, or variables of one family of resources.
pub(super) const PROMPT_ARGUMENTS: usize = 50;
/// Messages of one prompt.
pub(super) const MESSAGES: usize = 100;
/// Bytes of the URI of a resource.
pub(super) const URI_BYTES: usize = 2_000;
/// Tool files of one directory.
pub(super) const FILES_PER_DIRECTORY: usize = 1000;
/// Bytes of all tool files of one directory.
pub(super) const BYTES_PER_DIRECTORY: usize = 8 * 1024 * 1024;
