//! The tools that are offered now.
//!
//! A [`ToolSnapshot`] merges what every tool source offers; it never changes. The [`Registry`] holds the current one and
//! tells when another takes its place. A call keeps the one it started with. Hot reload is here as a whole: which files
//! are read ([`ToolFiles`]), what notices their changes, and the loop that reads them again.
//!
//! Must not run a command or speak to a client: whether a program can be used is asked of a [`Prober`].

mod asking;
mod content_lists;
mod current;
mod declared;
mod declared_content;
mod definition;
mod entry;
mod foreign;
mod foreign_state;
mod reload;
mod snapshot;
mod surface;
mod tool_files;
mod watcher;

pub(crate) use asking::{AskClient, AskError, Asking};
pub use content_lists::{ContentError, ContentLists, ContentRequest};
pub(crate) use current::Registry;
pub(crate) use declared::{Circumstances, DeclaredTools, Presentation, ProbeResults, Prober};
pub(crate) use declared_content::DeclaredContent;
pub use definition::definition;
pub(crate) use definition::with_background_note;
pub(crate) use entry::Runner;
#[cfg(feature = "cli")]
pub(crate) use entry::ToolEntry;
pub use foreign::{
    ForeignCall, ForeignDefinition, ForeignError, ForeignProgress, ForeignResult, ForeignServers,
    ForeignTool,
};
pub use foreign_state::{ServerConfig, ServerEvent, ServerEventKind};
pub(crate) use reload::{Reload, ReloadSafety};
pub(crate) use snapshot::ToolSnapshot;
pub use surface::Surface;
pub use tool_files::ToolFileRules;
pub(crate) use tool_files::ToolFiles;
#[cfg(feature = "cli")]
pub(crate) use watcher::Watcher;
