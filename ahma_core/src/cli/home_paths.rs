//! Paths that begin with `~` or `${HOME}`: no shell fills that in for the arguments in an `mcp.json`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::args::Args;

/// The same arguments, with the home directory filled in.
pub(super) fn with_home_filled_in(args: &Args, environment: &BTreeMap<OsString, OsString>) -> Args {
    let mut args = args.clone();
    let Some(home) = environment.get(OsStr::new("HOME")).map(PathBuf::from) else {
        return args;
    };
    let filled = |path: &mut PathBuf| {
        let rest = path
            .strip_prefix("~")
            .or_else(|_| path.strip_prefix("${HOME}"));
        if let Ok(rest) = rest.map(Path::to_owned) {
            *path = home.join(rest);
        }
    };
    let lists = [
        &mut args.tools_dir,
        &mut args.sandbox_read,
        &mut args.sandbox_write,
        &mut args.scope_root,
    ];
    lists.into_iter().flatten().for_each(filled);
    let single = [
        &mut args.sandbox_scope,
        &mut args.audit_log,
        &mut args.http_socket,
    ];
    single.into_iter().flatten().for_each(filled);
    for workspace in &mut args.workspace {
        if let Some((name, path)) = workspace.split_once('=') {
            let mut path = PathBuf::from(path);
            filled(&mut path);
            *workspace = format!("{name}={}", path.display());
        }
    }
    args
}
