//! The engine as a library: a directory that is served.
//!
//! [`Scope::open`] gets everything ready that commands in one directory need: private directories, a sandbox policy, an
//! environment, tools from tool files, and the first sandbox host, which has shown that it confines.
//! [`Scope::service`] is a handler for any MCP transport; [`Scope::operations`] tells what runs and ran;
//! [`Scope::shutdown`] ends it all, in the one order that loses nothing. What several scopes of a program share is in
//! [`SharedResources`]; [`ScopeManager`] opens scopes for sessions and workspaces.
//!
//! Must not read flags or the environment, print, or block the runtime.

mod availability;
mod availability_cache;
mod config;
mod confinement;
mod explainer;
mod git_file;
mod git_identity;
mod git_submodule;
mod git_worktree;
mod kept_home;
mod manager;
#[cfg(feature = "cli")]
mod one_script;
mod open_error;
mod prepare;
mod protection;
mod roots;
#[expect(
    clippy::module_inception,
    reason = "the type the module is named after"
)]
mod scope;
mod shared;
mod toolchains;
mod trusted_path;
mod user_path;

pub use config::{ScopeConfig, Siblings};
#[cfg(feature = "cli")]
pub(crate) use confinement::private_base;
#[cfg(feature = "cli")]
pub(crate) use kept_home::unused as unused_homes;
pub use manager::{ManagerConfig, ScopeManager};
pub use open_error::OpenError;
#[cfg(feature = "cli")]
pub(crate) use protection::tool_places;
pub use roots::RootRules;
pub use scope::Scope;
pub use shared::{SharedConfig, SharedResources};
#[cfg(feature = "cli")]
pub(crate) use trusted_path::{in_reach, link_in_reach, real_as_far_as_it_exists};
