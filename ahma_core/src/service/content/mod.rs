//! Prompts and resources: those that files of the project declare, outputs of operations, and those of other servers. Listed, filled in,
//! read, completed and watched. Must not run anything that a file does not name, nor open what is not below the scope.

mod completion;
mod foreign;
mod lists;
mod operation_output;
mod project_file;
mod prompts;
mod resources;
mod subscriptions;

pub(crate) use completion::{complete, near};
pub(super) use foreign::fetched;
pub(crate) use lists::{ContentKind, merged, offered, page};
pub(crate) use prompts::{PromptClient, filled};
pub(crate) use resources::{is_known, read};
pub(crate) use subscriptions::{MAX_SUBSCRIPTIONS, Subscriptions, watch};
