//! `ahma.toml`: what an operator, or a project, says once instead of with every start. From text to settings by their names; what they
//! mean is the program's business.

mod keys;
mod read;
mod schema;

pub use keys::{KEYS, Key, Kind, Narrowing};
pub use read::{Given, SettingsFile, read};
pub use schema::{settings_file_schema, settings_file_schema_text};
