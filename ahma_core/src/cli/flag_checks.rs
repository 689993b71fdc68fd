//! Flags that would have no effect, or grant too much: refused instead of ignored.

use std::path::{Component, Path, PathBuf};

use super::args::Args;
use super::settings_error::SettingsError;

/// Flags that are about HTTP need it.
pub(super) fn refuse_http_flags(args: &Args) -> Result<(), SettingsError> {
    let flags = [
        ("--session-isolation", args.session_isolation),
        ("--workspace", !args.workspace.is_empty()),
        ("--http-socket", args.http_socket.is_some()),
        ("--http-host", args.http_host.is_some()),
        ("--http-port", args.http_port.is_some()),
        ("--http-token", args.http_token.is_some()),
        ("--allow-origin", !args.allow_origin.is_empty()),
        ("--max-sessions", args.max_sessions.is_some()),
        (
            "--session-idle-minutes",
            args.session_idle_minutes.is_some(),
        ),
        ("--rate-limit", args.rate_limit.is_some()),
        ("--rate-burst", args.rate_burst.is_some()),
    ];
    match flags.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(SettingsError::NeedsHttp(flag)),
        None => Ok(()),
    }
}

/// What is to be protected, or not, must be in the scope.
pub(super) fn refuse_paths_outside(args: &Args, scope: &Path) -> Result<(), SettingsError> {
    let flags = [
        ("--protect", &args.protect),
        ("--unprotect", &args.unprotect),
    ];
    for (flag, paths) in flags {
        if let Some(path) = paths.iter().find(|path| !lies_in(&scope.join(path), scope)) {
            return Err(SettingsError::NotInScope {
                flag,
                path: path.clone(),
                scope: scope.to_owned(),
            });
        }
    }
    Ok(())
}

/// Whether a path lies in a directory, by its letters.
fn lies_in(path: &Path, directory: &Path) -> bool {
    let climbs = path.components().any(|it| it == Component::ParentDir);
    path.starts_with(directory) && !climbs
}

/// Everything, or the whole home directory, is not granted by the way.
pub(super) fn refuse_wide_grant(
    flag: &'static str,
    granted: &[PathBuf],
    home: Option<&Path>,
) -> Result<(), SettingsError> {
    let home = home.and_then(|home| home.canonicalize().ok());
    let is_wide = |path: &&PathBuf| {
        path.parent().is_none() || home.as_ref().is_some_and(|home| home.starts_with(path))
    };
    match granted.iter().find(is_wide) {
        Some(path) => Err(SettingsError::WideGrant {
            flag,
            path: path.clone(),
        }),
        None => Ok(()),
    }
}
