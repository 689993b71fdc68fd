//! Why the server cannot start as it was told to.

use std::path::{Path, PathBuf};

use ahma_sandbox::ScopeError;

use super::http_settings::HttpSettingsError;
use super::reach::ReachError;

/// Why the server cannot start as it was told to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SettingsError {
    #[error("{0}\nhint: {hint}{wide}", hint = .0.hint(), wide = wide_hint(.0))]
    Scope(ScopeError),
    #[error(
        "{flag} {path} would grant commands everything of yours\nhint: name narrower directories{wide}",
        wide = wide_grant_hint(path)
    )]
    WideGrant { flag: &'static str, path: PathBuf },
    #[error(
        "{flag} {path} is not in the scope {scope}, so it has no effect\nhint: name a path in the scope"
    )]
    NotInScope {
        flag: &'static str,
        path: PathBuf,
        scope: PathBuf,
    },
    #[error("the path {path} of {flag} cannot be used: {reason}")]
    Grant {
        flag: &'static str,
        path: PathBuf,
        reason: String,
    },
    #[error("AHMA_NETWORK is `{0}`; use on or off")]
    Network(String),
    #[error("commands could write to the audit log {0}\nhint: name a file outside the scope")]
    AuditInReach(PathBuf),
    #[error("{0}")]
    Reach(#[from] ReachError),
    #[error("{0}")]
    Http(#[from] HttpSettingsError),
    #[error(
        "--session-isolation isolates nothing when the sandbox is off\nhint: leave out one of the two"
    )]
    NothingKeptApart,
    #[error("tools are read from the workspace {0}, so its commands could create tools")]
    AmongTools(PathBuf),
    #[error("{0} needs HTTP\nhint: add --mode http or --mode dual")]
    NeedsHttp(&'static str),
}

/// What helps where only the width is wrong: tokens of servers have to be out of reach still.
const WIDE: &str =
    "; or add --allow-wide-scope, and let XDG_STATE_HOME name a directory outside of it";

/// Nothing is outside of the whole file system.
fn wide_hint(error: &ScopeError) -> &'static str {
    match error {
        ScopeError::Home(_) => WIDE,
        _ => "",
    }
}

fn wide_grant_hint(path: &Path) -> &'static str {
    match path.parent() {
        Some(_) => WIDE,
        None => "",
    }
}

impl SettingsError {
    /// Whether the only fault is that this directory is not a project.
    pub(super) fn is_about_width(&self) -> bool {
        matches!(
            self,
            SettingsError::Scope(ScopeError::Root | ScopeError::Home(_))
        )
    }
}
