//! Code that a command could leave in the scope for programs outside to run: which paths are
//! protected from it, and what is noticed after it.
//!
//! Decides nothing about confinement: the sandbox makes protected paths read-only where it can. This
//! names them, and a thread looks at every depth of a scope for what could not be protected:
//!
//! ```text
//! operation ─► scope_guard ─► guard (thread) ─► watched ─► tree    which directories have changed
//!                  ▲                              ├─► known        what the files that count hold
//!                  └── what is to be told ────────┴─► report
//! ```

pub(crate) mod git_config;
mod git_harmless;
mod git_syntax;
mod guard;
mod identity;
mod intervals;
mod known;
mod listing;
mod names;
mod protected;
mod report;
mod scope_guard;
mod snapshot;
mod tree;
mod watched;

pub use self::guard::{Guard, WatchConfig};
pub(crate) use self::protected::{repositories_below, usually_protected};
pub use self::scope_guard::ScopeGuard;
