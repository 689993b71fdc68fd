//! Where a setting of this server comes from, as it is told. Must not decide any.

use serde::Serialize;

/// A setting that is not the default, and who decided it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingOrigin {
    /// Its name, which is that of a flag.
    pub name: String,
    /// Its value, unless that is a secret.
    pub value: String,
    /// A flag, a variable, or a place in a file.
    pub source: String,
}
