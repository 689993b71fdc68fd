//! A text that nobody may read by accident: its `Debug` shows nothing of it, and it has no `Display`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A token, a code, a client's secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text to itself.
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// The text, for whoever has to send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_it_is_shown() {
        let secret = Secret::new("abc");
        assert_eq!(format!("{secret:?}"), "[secret]");
        assert_eq!(secret.reveal(), "abc");
    }
}
