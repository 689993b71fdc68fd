//! The token: the secret that callers show, and the proof that a server knows it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::ServerAddress;

/// A shorter one could be guessed.
const MIN_LEN: usize = 16;
const MAX_LEN: usize = 512;

/// A secret. It is never shown: not by `Debug`, and so not in a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Arc<str>);

/// Why a text is not a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is too short or too long.
    #[error("a token has {MIN_LEN} to {MAX_LEN} characters")]
    Length,
    /// It would have to be rewritten in a URL.
    #[error("a token may hold only letters, digits, and . _ ~ -")]
    Characters,
}

impl Token {
    /// A secret that somebody chose. It fits into a URL as it is.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        if !(MIN_LEN..=MAX_LEN).contains(&text.len()) {
            return Err(TokenError::Length);
        }
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
        if !text.bytes().all(fits) {
            return Err(TokenError::Characters);
        }
        Ok(Token(text.into()))
    }

    /// A new one, with 256 random bits.
    pub fn random() -> io::Result<Self> {
        Ok(Token(random_hex(32)?.into()))
    }

    /// The secret itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether this is it. Takes as long for a nearly right one as for any other.
    pub fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }

    /// What only a server that knows the token can say to a challenge. The address is part of it, so that
    /// nobody can pass on the answer of a server that listens elsewhere.
    pub fn proof(&self, address: &ServerAddress, challenge: &str) -> Option<String> {
        let bytes = self.mac(address, challenge)?.finalize().into_bytes();
        Some(HEXLOWER.encode(&bytes))
    }

    /// Whether a server has proven that it knows the token.
    pub fn is_proven(&self, address: &ServerAddress, challenge: &str, proof: &str) -> bool {
        let proof = HEXLOWER.decode(proof.as_bytes()).ok();
        let mac = self.mac(address, challenge);
        mac.zip(proof)
            .is_some_and(|(mac, proof)| mac.verify_slice(&proof).is_ok())
    }

    fn mac(&self, address: &ServerAddress, challenge: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).ok()?;
        mac.update(format!("ahma_mcp {address} {challenge}").as_bytes());
        Some(mac)
    }
}

/// The file with the token of a project, below the user's state directory of `ahma_mcp`. Each project has its own: a
/// token that gets into the wrong hands, of a program that took the port of a server that is gone, opens nothing else.
pub fn token_file(state_directory: &Path, project: &Path) -> PathBuf {
    let digest = Sha256::digest(project.as_os_str().as_encoded_bytes());
    let name = HEXLOWER.encode(&digest[..16]);
    state_directory.join("http-tokens").join(name)
}

/// The file with the token of a server that gives each session a scope of its own: it opens other projects too, so that
/// of the project it was started in must not be enough.
pub fn isolated_token_file(state_directory: &Path, project: &Path) -> PathBuf {
    let file = token_file(state_directory, project);
    file.with_extension("isolated")
}

/// So many random bytes from the operating system, in hexadecimal.
pub fn random_hex(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(io::Error::from)?;
    Ok(HEXLOWER.encode(&random))
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

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
        assert_eq!(
            Token::new("with a space in it"),
            Err(TokenError::Characters)
        );
        assert_eq!(
            Token::new("0123456789abcde&x=y"),
            Err(TokenError::Characters)
        );
        let (one, two) = (Token::random().unwrap(), Token::random().unwrap());
        assert_ne!(one, two);
        assert_eq!(one.reveal().len(), 64);
        assert!(Token::new(one.reveal()).is_ok());
    }

    /// Proves: D11.
    #[test]
    fn a_proof_holds_for_one_token_address_and_challenge() {
        let token = Token::new("0123456789abcdef").unwrap();
        let at = |port| ServerAddress::from(SocketAddr::from(([127, 0, 0, 1], port)));
        let here = &at(4242);
        let proof = token.proof(here, "hello").unwrap();
        // printf 'ahma_mcp 127.0.0.1:4242 hello' | openssl dgst -sha256 -hmac 0123456789abcdef
        let by_openssl = "efd19db89b90c2a7e2862c9eef561664c8218e458919b2d7baf0d379c0e84a6d";
        assert_eq!(proof, by_openssl);
        assert!(token.is_proven(here, "hello", by_openssl));
        assert!(!token.is_proven(&at(4243), "hello", &proof));
        assert!(!token.is_proven(here, "hello!", &proof));
        assert!(!Token::random().unwrap().is_proven(here, "hello", &proof));
        for broken in ["", "zz", &proof[1..], &proof[..62]] {
            assert!(!token.is_proven(here, "hello", broken), "{broken}");
        }
    }

    #[test]
    fn every_project_has_a_token_file_of_its_own() {
        // printf /p | sha256sum | head -c 32
        let name = "00d74baf14ea415c6164614838c91f83";
        let file = token_file(Path::new("/state/ahma_mcp"), Path::new("/p"));
        assert_eq!(file, Path::new("/state/ahma_mcp/http-tokens").join(name));
    }
}
