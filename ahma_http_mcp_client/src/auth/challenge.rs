//! What a server says when it refuses a request: its `WWW-Authenticate`.

use reqwest::Url;
use rmcp::transport::auth::WWWAuthenticateParams;

/// What a server wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Challenge {
    /// The scopes that a request needs.
    pub scopes: Vec<String>,
    /// Whether it is only that: the token is good, but does not allow enough.
    pub is_insufficient_scope: bool,
}

impl Challenge {
    /// Reads the challenge of a `RequestError::Unauthorized`.
    pub fn parse(header: &str) -> Self {
        // Where its metadata is does not matter here.
        let Ok(base) = Url::parse("https://localhost/") else {
            return Challenge::default();
        };
        let params = WWWAuthenticateParams::parse(header, &base);
        let scopes = params.scope.as_deref().unwrap_or_default();
        Challenge {
            scopes: scopes.split_whitespace().map(str::to_owned).collect(),
            is_insufficient_scope: params.is_insufficient_scope(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_and_their_lack_are_read() {
        let header =
            r#"Bearer realm="x", error="insufficient_scope", scope="files:read files:write""#;
        let challenge = Challenge::parse(header);
        assert_eq!(challenge.scopes, ["files:read", "files:write"]);
        assert!(challenge.is_insufficient_scope);
        assert_eq!(Challenge::parse("Basic"), Challenge::default());
    }
}
