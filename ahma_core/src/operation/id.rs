//! Names of operations: unguessable, and never used twice.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// `op_` and 26 characters of base 32: 128 random bits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(Arc<str>);

impl OperationId {
    /// A new one.
    pub(super) fn random() -> Self {
        // A version 4 UUID has 122 random bits from the operating system.
        Self::from_bits(uuid::Uuid::new_v4().as_u128())
    }

    fn from_bits(mut bits: u128) -> Self {
        const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let mut text = String::from("op_");
        for _ in 0..26 {
            let digit = usize::try_from(bits & 31).unwrap_or_default();
            text.push(char::from(ALPHABET[digit]));
            bits >>= 5;
        }
        OperationId(text.into())
    }

    /// The text clients use.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for OperationId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
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
        let ids: HashSet<OperationId> = (0..10_000).map(|_| OperationId::random()).collect();
        assert_eq!(ids.len(), 10_000);
        for id in ids {
            let digits = id.as_str().strip_prefix("op_").unwrap();
            assert_eq!(digits.len(), 26);
            assert!(
                digits
                    .bytes()
                    .all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7')),
                "{id}"
            );
        }
    }

    #[test]
    fn no_bit_is_lost() {
        assert_ne!(OperationId::from_bits(0), OperationId::from_bits(1 << 127));
        assert_ne!(OperationId::from_bits(0), OperationId::from_bits(1));
    }
}
