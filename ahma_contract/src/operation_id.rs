//! Names of operations: unguessable, and never used twice.

use std::borrow::Borrow;
use std::fmt;
use std::io;
use std::sync::Arc;

use data_encoding::BASE32_NOPAD;
use serde::{Deserialize, Serialize};

/// `op_` and 26 characters of base 32: 128 random bits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct OperationId(Arc<str>);

impl OperationId {
    /// A new one.
    pub fn random() -> io::Result<Self> {
        let mut bits = [0; 16];
        getrandom::fill(&mut bits).map_err(io::Error::from)?;
        let digits = BASE32_NOPAD.encode(&bits).to_ascii_lowercase();
        Ok(OperationId(format!("op_{digits}").into()))
    }

    /// The text clients use.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Any text may be asked for; one that names nothing is unknown.
impl From<String> for OperationId {
    fn from(text: String) -> Self {
        OperationId(text.into())
    }
}

impl From<OperationId> for String {
    fn from(id: OperationId) -> Self {
        id.0.as_ref().to_owned()
    }
}

impl Borrow<str> for OperationId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_have_their_form_and_differ() {
        let ids: HashSet<OperationId> = (0..10_000)
            .map(|_| OperationId::random().unwrap())
            .collect();
        assert_eq!(ids.len(), 10_000);
        for id in ids {
            let digits = id.as_str().strip_prefix("op_").unwrap();
            assert_eq!(digits.len(), 26);
            let is_digit = |byte: u8| matches!(byte, b'a'..=b'z' | b'2'..=b'7');
            assert!(digits.bytes().all(is_digit), "{id}");
        }
    }

    #[test]
    fn an_id_is_a_plain_text_in_json() {
        let id = OperationId::from("op_a".to_owned());
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"op_a\"");
        assert_eq!(serde_json::from_str::<OperationId>("\"op_a\"").unwrap(), id);
    }
}
