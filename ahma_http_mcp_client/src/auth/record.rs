//! What is kept of a sign-in: everything that renewing its tokens needs, so that nothing has to be found out again from
//! servers that may have changed since.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::Url;
use rmcp::transport::auth::AuthorizationMetadata;
use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// How a client became known to an authorization server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Registration {
    /// By hand; its secret is in somebody's configuration, not here.
    ByHand,
    /// By a document that it names.
    MetadataDocument,
    /// By asking.
    Dynamic,
}

/// Who we are to an authorization server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ClientIdentity {
    pub(super) id: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) secret: Option<Secret>,
    pub(super) registration: Registration,
}

/// What an authorization server gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Tokens {
    pub(super) access: Secret,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) refresh: Option<Secret>,
    /// Seconds since 1970.
    pub(super) issued_at: u64,
    /// The same; unknown where the server does not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) expires_at: Option<u64>,
}

/// Where the secrets of a record are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    /// In its file.
    #[default]
    File,
    /// In the keyring of the operating system.
    Keyring,
}

/// One sign-in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TokenRecord {
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) client: ClientIdentity,
    pub(super) metadata: AuthorizationMetadata,
    pub(super) scopes: Vec<String>,
    pub(super) signed_in_at: u64,
    /// None once the authorization server has taken them back.
    pub(super) tokens: Option<Tokens>,
    #[serde(default)]
    pub(super) place: Place,
}

impl TokenRecord {
    /// Whether it is a sign-in to the resource that a server is, or is part of.
    pub(super) fn is_for(&self, server: &Url) -> bool {
        let Ok(resource) = self.resource.parse::<Url>() else {
            return false;
        };
        let rest = server.path().strip_prefix(resource.path());
        let is_within =
            |rest: &str| rest.is_empty() || rest.starts_with('/') || resource.path().ends_with('/');
        resource.origin() == server.origin() && rest.is_some_and(is_within)
    }
}

/// No token is good for longer, whatever its authorization server says: ten years.
const LONGEST_LIFE: u64 = 10 * 366 * 24 * 3600;

impl Tokens {
    /// With a life that can be reckoned with.
    pub(super) fn bounded(self) -> Self {
        let issued_at = self.issued_at.min(now());
        let latest = issued_at.saturating_add(LONGEST_LIFE);
        Tokens {
            issued_at,
            expires_at: self.expires_at.map(|it| it.min(latest)),
            ..self
        }
    }

    /// Whether four fifths of its life are over.
    pub(super) fn is_due(&self, now: u64) -> bool {
        self.due_at().is_some_and(|due| now >= due)
    }

    /// When four fifths of its life are over.
    pub(super) fn due_at(&self) -> Option<u64> {
        let life = self.expires_at?.saturating_sub(self.issued_at);
        Some(
            self.issued_at
                .saturating_add(life / 5 * 4 + life % 5 * 4 / 5),
        )
    }

    /// Whether its life is over.
    pub(super) fn is_expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| now >= end)
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

/// Where tokens are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptIn {
    /// In a file that its owner alone can read.
    File(PathBuf),
    /// In the keyring of the operating system.
    Keyring,
}

impl fmt::Display for KeptIn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeptIn::File(path) => write!(formatter, "{}", path.display()),
            KeptIn::Keyring => formatter.write_str("the keyring"),
        }
    }
}

/// What may be said of a sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInStatus {
    /// The authorization server.
    pub issuer: String,
    /// What was signed in to.
    pub resource: String,
    /// What is granted.
    pub scopes: Vec<String>,
    /// When somebody signed in.
    pub signed_in_at: SystemTime,
    /// Whether there is a token; none once the authorization server has taken it back.
    pub has_token: bool,
    /// When the current token ends, where that is known.
    pub expires_at: Option<SystemTime>,
    /// Whether it is renewed without anybody signing in.
    pub is_renewable: bool,
    /// Where it is kept.
    pub kept_in: KeptIn,
}

impl SignInStatus {
    pub(super) fn new(record: &TokenRecord, kept_in: KeptIn) -> Self {
        let time = |seconds: u64| {
            let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
            time.unwrap_or(UNIX_EPOCH)
        };
        let tokens = record.tokens.as_ref();
        SignInStatus {
            issuer: record.issuer.clone(),
            resource: record.resource.clone(),
            scopes: record.scopes.clone(),
            signed_in_at: time(record.signed_in_at.min(now())),
            has_token: tokens.is_some(),
            expires_at: tokens.and_then(|it| it.expires_at).map(time),
            is_renewable: tokens.is_some_and(|it| it.refresh.is_some()),
            kept_in,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(resource: &str) -> TokenRecord {
        TokenRecord {
            issuer: "https://as.test".to_owned(),
            resource: resource.to_owned(),
            client: ClientIdentity {
                id: "c".to_owned(),
                secret: None,
                registration: Registration::Dynamic,
            },
            metadata: AuthorizationMetadata::default(),
            scopes: Vec::new(),
            signed_in_at: 0,
            tokens: None,
            place: Place::File,
        }
    }

    #[test]
    fn a_record_is_for_its_resource_and_what_is_beneath_it() {
        let is_for =
            |resource: &str, server: &str| record(resource).is_for(&server.parse().unwrap());
        assert!(is_for("https://a.test/mcp", "https://a.test/mcp"));
        assert!(is_for("https://a.test", "https://a.test/mcp"));
        assert!(is_for("https://a.test/mcp", "https://a.test/mcp/v2"));
        assert!(!is_for("https://a.test/mcp", "https://a.test/mcp2"));
        assert!(!is_for("https://a.test/mcp", "https://a.test/"));
        assert!(!is_for("https://a.test/mcp", "http://a.test/mcp"));
        assert!(!is_for("https://a.test/mcp", "https://a.test:8443/mcp"));
        assert!(!is_for("https://a.test/mcp", "https://b.test/mcp"));
    }

    /// Proves: C65.
    #[test]
    fn a_token_is_due_at_four_fifths_of_its_life() {
        let mut tokens = Tokens {
            access: Secret::new("a"),
            refresh: None,
            issued_at: 1000,
            expires_at: Some(1100),
        };
        assert!(!tokens.is_due(1079));
        assert!(tokens.is_due(1080));
        assert!(!tokens.is_expired(1099));
        assert!(tokens.is_expired(1100));
        tokens.expires_at = None;
        assert!(!tokens.is_due(u64::MAX));
    }

    /// Proves: C65.
    #[test]
    fn an_endless_life_is_cut_to_one_that_can_be_reckoned_with() {
        for expires_at in [u64::MAX, i64::MAX as u64, 10_000_000_000_000] {
            let tokens = Tokens {
                access: Secret::new("a"),
                refresh: None,
                issued_at: u64::MAX,
                expires_at: Some(expires_at),
            };
            let tokens = tokens.bounded();
            assert_eq!(tokens.expires_at, Some(tokens.issued_at + LONGEST_LIFE));
            assert!(!tokens.is_due(now()) && tokens.due_at() < tokens.expires_at);
            let mut record = record("https://a.test/mcp");
            record.tokens = Some(tokens);
            record.signed_in_at = u64::MAX;
            let status = SignInStatus::new(&record, KeptIn::Keyring);
            assert!(status.expires_at > Some(SystemTime::now()));
        }
    }
}
