//! Files of a project that prompts and resources name. The server is not confined: no link is followed, no other file system entered,
//! and nothing outside the scope is opened.

use std::io;
use std::path::{Component, Path};

use tokio::task::spawn_blocking;

use crate::output::media_type;
use crate::service::context::ServiceContext;

/// Bytes of a file.
pub(super) const MAX_BYTES: u64 = 8 << 20;

/// Why a file cannot be had.
#[derive(Debug)]
pub(super) enum FileFault {
    /// There is none of that name.
    Missing(String),
    /// It is not for us, or not readable.
    Unreadable(String),
}

/// Reads a file below the scope.
pub(super) async fn read(context: &ServiceContext, path: &str) -> Result<Vec<u8>, FileFault> {
    if !is_below(path) {
        let why = format!("`{path}` is no path below the scope");
        return Err(FileFault::Unreadable(why));
    }
    let scope = context.hosts.policy().scope.clone();
    let below = Path::new(path).to_owned();
    let reading = spawn_blocking(move || {
        let scope = ahma_sandbox::open_directory(&scope)?;
        ahma_sandbox::read_beneath(scope, &below, MAX_BYTES + 1)
    });
    let read = reading
        .await
        .unwrap_or_else(|_| Err(io::Error::other("the server stops")));
    let bytes = read.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            FileFault::Missing(format!("there is no file `{path}` in the scope"))
        }
        _ => FileFault::Unreadable(format!(
            "the file `{path}` of the scope cannot be read: {error}"
        )),
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        let most = MAX_BYTES >> 20;
        let why = format!(
            "the file `{path}` has more than {most} MiB, which is the most that is passed on"
        );
        return Err(FileFault::Unreadable(why));
    }
    Ok(bytes)
}

/// Whether a path stays below the scope, by its words.
pub(super) fn is_below(path: &str) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    !path.is_empty() && !path.contains('\0') && Path::new(path).components().all(is_plain)
}

/// The type of a file, by its first bytes and its name.
pub(super) fn type_of(path: &str, bytes: &[u8]) -> String {
    if let Some(found) = media_type(bytes) {
        return found.to_owned();
    }
    let is_text = std::str::from_utf8(bytes).is_ok();
    let by_name = mime_guess::from_path(path).first_raw();
    match (by_name, is_text) {
        (Some(found), _) => found,
        (None, true) => "text/plain",
        (None, false) => "application/octet-stream",
    }
    .to_owned()
}
