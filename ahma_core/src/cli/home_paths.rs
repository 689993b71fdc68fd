//! Paths that begin with `~` or `${HOME}`: no shell fills that in for the arguments in an `mcp.json`, nor in a settings file.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::args::Args;

/// A path of a settings file, with `~` and variables filled in; none where a variable is missing.
pub(super) fn filled(path: &str, environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    let variable = |name: &str| {
        environment
            .get(OsStr::new(name))
            .filter(|it| !it.is_empty())
    };
    if let Some(rest) = path.strip_prefix("~/") {
        return Some(PathBuf::from(variable("HOME")?).join(rest));
    }
    let named = path.strip_prefix("${").and_then(|it| it.split_once('}'));
    match (path, named) {
        ("~", _) => variable("HOME").map(PathBuf::from),
        (_, Some((name, rest))) => {
            let mut whole = variable(name)?.clone();
            whole.push(rest);
            Some(PathBuf::from(whole))
        }
        (_, None) => Some(PathBuf::from(path)),
    }
}

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
