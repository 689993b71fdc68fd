//! What the operator should not overlook.

use std::io::{self, Write as _};

/// Says it on stderr too, wherever the log goes. May wait for whoever reads that.
pub(super) fn warn_loudly(warning: &str) {
    tracing::warn!("{warning}");
    let _ = writeln!(io::stderr(), "warning: {warning}");
}
