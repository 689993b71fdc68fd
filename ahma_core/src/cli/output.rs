//! What a subcommand says on stdout. Must not be used by a server: there, stdout belongs to the protocol.

use std::io::{self, Write as _};

/// Says something, to whoever still listens.
pub(super) fn say(text: &str) -> io::Result<()> {
    match show(text) {
        // The reader has seen enough, as with `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        said => said,
    }
}

/// Says something that has to be read.
pub(super) fn show(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
