//! Whether a program is on this machine. Must not run it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Whether there is a program of this name on PATH, or at this path. One of the project cannot be looked for from here.
pub(crate) fn is_there(program: &str) -> bool {
    let path = Path::new(program);
    if path.is_absolute() {
        return is_program(path);
    }
    if program.contains('/') {
        return true;
    }
    let directories = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&directories).any(|directory| is_program(&directory.join(program)))
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
