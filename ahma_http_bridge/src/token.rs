//! The secret that callers show.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

/// A shorter one could be guessed.
const MIN_LEN: usize = 16;
const MAX_LEN: usize = 512;

/// A secret. It is never shown: not by `Debug`, and so not in a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Arc<str>);

/// Why a text is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It has too few or too many letters.
    #[error("a token has {MIN_LEN} to {MAX_LEN} letters")]
    Length,
    /// It would have to be rewritten in a URL.
    #[error("a token is made of letters, digits, and . _ ~ -")]
    Letters,
}

impl Token {
    /// A secret that somebody chose. It fits into a URL as it is.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        if !(MIN_LEN..=MAX_LEN).contains(&text.len()) {
            return Err(TokenError::Length);
        }
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
        if !text.bytes().all(fits) {
            return Err(TokenError::Letters);
        }
        Ok(Token(text.into()))
    }

    /// A new one, at random.
    pub fn random() -> Self {
        let halves = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
        Token(halves.map(|half| half.simple().to_string()).concat().into())
    }

    /// The secret itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether this is it. Takes as long for a nearly right one as for any other.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }

    /// What only a server that knows the token can say to a challenge. The address is part of it, so that
    /// nobody can pass on the answer of a server that listens elsewhere.
    pub fn proof(&self, address: SocketAddr, challenge: &str) -> Option<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).ok()?;
        mac.update(format!("ahma_mcp {address} {challenge}").as_bytes());
        let bytes = mac.finalize().into_bytes();
        Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_shown() {
        let token = Token::new("0123456789abcdef").unwrap();
        assert_eq!(format!("{token:?}"), "Token(…)");
        assert_eq!(token.reveal(), "0123456789abcdef");
    }

    #[test]
    fn only_the_token_itself_is_right() {
        let token = Token::new("0123456789abcdef").unwrap();
        assert!(token.is(b"0123456789abcdef"));
        for wrong in [
            "",
            "0123456789abcde",
            "0123456789abcdeg",
            "0123456789abcdef0",
        ] {
            assert!(!token.is(wrong.as_bytes()), "{wrong}");
        }
    }

    #[test]
    fn what_is_easily_guessed_or_does_not_fit_a_url_is_refused() {
        assert_eq!(Token::new("short"), Err(TokenError::Length));
        assert_eq!(Token::new(&"x".repeat(513)), Err(TokenError::Length));
        assert_eq!(Token::new("with a space in it"), Err(TokenError::Letters));
        assert_eq!(Token::new("0123456789abcde&x=y"), Err(TokenError::Letters));
        let (one, two) = (Token::random(), Token::random());
        assert_ne!(one, two);
        assert_eq!(one.reveal().len(), 64);
        assert!(Token::new(one.reveal()).is_ok());
    }

    #[test]
    fn a_proof_holds_for_one_token_address_and_challenge() {
        let token = Token::new("0123456789abcdef").unwrap();
        let here = SocketAddr::from(([127, 0, 0, 1], 4242));
        let proof = token.proof(here, "hello").unwrap();
        // echo -n 'ahma_mcp 127.0.0.1:4242 hello' | openssl dgst -sha256 -hmac 0123456789abcdef
        assert_eq!(proof.len(), 64);
        let elsewhere = SocketAddr::from(([127, 0, 0, 1], 4243));
        assert_ne!(token.proof(elsewhere, "hello").unwrap(), proof);
        assert_ne!(token.proof(here, "hello!").unwrap(), proof);
        assert_ne!(Token::random().proof(here, "hello").unwrap(), proof);
    }
}
