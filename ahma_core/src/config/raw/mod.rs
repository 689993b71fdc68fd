//! The raw form: an exact mirror of the JSON of a tool file.
//!
//! One definition serves three readers: serde decodes it, schemars makes the published schema from
//! it (doc comments become the descriptions an editor shows), and `docs/mtdf.md` is tested against
//! that schema. Nothing is inherited, defaulted or files here; see [`resolve`](super::resolve).

mod argument;
mod parts;
mod tool;

pub(crate) use argument::{ArgumentType, ItemType, RawArgument, RawItems, ValueFormat, ValueStyle};
pub(crate) use parts::{
    RawAnnotations, RawAvailability, RawAvailabilityCommand, RawComplete, RawIcon, RawLimits,
    RawNeed, RawOutput, RawStep, RawTask,
};
pub(crate) use tool::{Level, RawToolFile};

use std::collections::BTreeMap;

use super::field::Field;

/// An array of a tool file: each element can be faulty alone.
pub(crate) type List<T> = Field<Vec<Field<T>>>;

/// Free keys with text values.
pub(crate) type TextMap = Field<BTreeMap<String, Field<String>>>;

/// A JSON Schema, or any other object that is taken as it stands.
pub(crate) type AnyObject = Field<serde_json::Map<String, serde_json::Value>>;

/// Bounds of the numbers in a tool file. The schema states them, the loader enforces them.
pub(crate) mod bounds {
    use std::ops::RangeInclusive;

    /// Seconds that a command may be given.
    pub const TIMEOUT_SECONDS: RangeInclusive<u32> = 1..=86_400;
    pub(crate) const STEP_DELAY_MS: RangeInclusive<u32> = 0..=60_000;
    pub(crate) const MEMORY_MB: RangeInclusive<u32> = 1..=1_048_576;
    pub(crate) const PROCESSES: RangeInclusive<u32> = 1..=100_000;
    pub(crate) const OUTPUT_MB: RangeInclusive<u32> = 1..=256;
    pub(crate) const EXIT_CODE: RangeInclusive<u32> = 0..=255;
}
