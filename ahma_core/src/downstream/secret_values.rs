//! What references in an operator's file stand for: variables, files, and what command lines print. May block.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::command_values::Printed;
use crate::config::downstream::SecretSource;

/// A longer value is none.
const MAX_LEN: u64 = 64 * 1024;

/// Looks values up for whoever started this program.
pub(super) struct SecretValues<'v> {
    pub(super) environment: &'v BTreeMap<OsString, OsString>,
    pub(super) port: Option<u16>,
    /// What command lines printed.
    pub(super) printed: &'v Printed,
}

impl SecretSource for SecretValues<'_> {
    fn env(&self, name: &str) -> Option<String> {
        self.environment
            .get(OsStr::new(name))?
            .to_str()
            .map(ToOwned::to_owned)
    }

    #[expect(clippy::disallowed_methods, reason = "beside the runtime")]
    fn file(&self, path: &Path) -> Option<String> {
        let about = std::fs::metadata(path).ok()?;
        if !about.is_file() || about.len() > MAX_LEN {
            return None;
        }
        let text = std::fs::read_to_string(path).ok()?;
        Some(text.trim_end_matches(['\r', '\n']).to_owned())
    }

    fn command(&self, line: &str) -> Option<String> {
        self.printed.get(line)?.as_ref().ok().cloned()
    }

    fn port(&self) -> Option<u16> {
        self.port
    }
}
