//! What commands must not be able to reach, whatever the operator names: refused at the start.

use std::path::{Path, PathBuf};

use ahma_contract::UserDirectories;

use super::args::Args;
use crate::scope::{link_in_reach, real_as_far_as_it_exists};

/// What would be in reach.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReachError {
    #[error(
        "commands could read {state}, where servers of this user keep their tokens, because of {granted}\n\
         hint: name a narrower directory{elsewhere}",
        elsewhere = elsewhere_hint(granted)
    )]
    State { state: PathBuf, granted: PathBuf },
    #[error(
        "{path} leads through the link {link}, which commands can write, so that they would decide what they are granted\n\
         hint: name the real directory, or move the link out of what commands can write"
    )]
    Link { path: PathBuf, link: PathBuf },
}

/// Nothing is elsewhere when everything is in reach.
fn elsewhere_hint(granted: &Path) -> &'static str {
    match granted.parent() {
        Some(_) => ", or move the state elsewhere with XDG_STATE_HOME",
        None => "",
    }
}

/// With a token of another server, a command could leave its scope by calling that one.
pub(super) fn keep_state_out_of_reach<'p>(
    user: &UserDirectories,
    reachable: impl Iterator<Item = &'p PathBuf>,
) -> Result<(), ReachError> {
    let Some(state) = &user.state else {
        return Ok(());
    };
    let real = real_as_far_as_it_exists(state);
    let holds = |granted: &&PathBuf| {
        real.starts_with(granted) || state.starts_with(granted) || granted.starts_with(&real)
    };
    match reachable.into_iter().find(holds) {
        Some(granted) => Err(ReachError::State {
            state: state.clone(),
            granted: granted.clone(),
        }),
        None => Ok(()),
    }
}

/// A link that commands can write, in the place of a directory that the operator names, would let them choose another one.
pub(super) fn refuse_links_in_reach(
    args: &Args,
    scope: Option<&Path>,
    directory: &Path,
    places: &[PathBuf],
) -> Result<(), ReachError> {
    let workspaces = args.workspace.iter();
    let workspaces = workspaces.filter_map(|it| Some(Path::new(it.split_once('=')?.1)));
    let granted = args.sandbox_read.iter().chain(&args.sandbox_write);
    let named = granted.chain(&args.scope_root).map(PathBuf::as_path);
    let named = named.chain(workspaces).chain(scope);
    for path in named {
        let path = directory.join(path);
        if let Some(link) = link_in_reach(&path, places) {
            return Err(ReachError::Link { path, link });
        }
    }
    Ok(())
}
