//! Why a sign-in fails, or a token cannot be had. Nothing secret is in it: texts of servers are shortened, and what a token
//! endpoint says beside its error code is left out, because it was told secrets.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Url;

/// What is shown of a text that a server gave.
const SHOWN: usize = 300;

/// Why a sign-in fails, or a token cannot be had.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AuthError {
    /// A URL that must not be asked or opened.
    #[error("{url} is not used: {what}")]
    Url {
        /// Without what may be secret.
        url: String,
        /// What is wrong with it.
        what: String,
    },
    /// It is not known how to sign in.
    #[error("how to sign in to {server} cannot be found out: {what}")]
    Discovery {
        /// Which server.
        server: String,
        /// What happened.
        what: String,
    },
    /// The authorization server does not know us.
    #[error("{issuer} does not register this program: {what}")]
    Registration {
        /// Which authorization server.
        issuer: String,
        /// What happened.
        what: String,
    },
    /// The client id that was given belongs to another authorization server.
    #[error("the client id belongs to {expected}, but the server sends to {issuer}")]
    OtherIssuer {
        /// Whose client id it is.
        expected: String,
        /// Who asks for it.
        issuer: String,
    },
    /// The authorization server has refused, or the person.
    #[error("the authorization server answered: {0}")]
    Denied(String),
    /// What came back is not the answer that is waited for.
    #[error("this is not the answer to the sign-in that is waiting: {0}")]
    Redirect(String),
    /// The answer comes from somebody else.
    #[error("the answer comes from {received} instead of {expected}")]
    Issuer {
        /// Who was asked.
        expected: String,
        /// Who answered.
        received: String,
    },
    /// The server asks for what it has been given.
    #[error(
        "the server asks for a scope that was granted already ({0}); signing in again would change nothing"
    )]
    Granted(String),
    /// The token endpoint refused, for good.
    #[error("the token endpoint answered with the error `{0}`")]
    Token(String),
    /// The refresh token, or the code, is not valid any more.
    #[error(
        "the authorization server does not accept what it has given out earlier (`invalid_grant`)"
    )]
    InvalidGrant,
    /// Something that may go by itself.
    #[error("{0}")]
    Transient(String),
    /// A record cannot be read or written.
    #[error("{path}: {what}", path = .path.display())]
    Store {
        /// Which file or directory.
        path: PathBuf,
        /// What happened.
        what: String,
    },
    /// Nobody came back.
    #[error("nobody has signed in within {} seconds", .0.as_secs())]
    Timeout(Duration),
    /// The port of the redirect URI cannot be had.
    #[error("{redirect_uri} cannot be listened on: {what}")]
    Listen {
        /// Which redirect URI.
        redirect_uri: String,
        /// What happened.
        what: String,
    },
    /// This sign-in has been finished, or given up.
    #[error("this sign-in is over")]
    Over,
}

impl AuthError {
    /// Whether another try may help without anybody doing something.
    pub fn is_transient(&self) -> bool {
        matches!(self, AuthError::Transient(_))
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            AuthError::Url { .. } => {
                "ask whoever runs the server; only https is used, and http on this machine, and no private address for a public server"
            }
            AuthError::Discovery { .. } => "is it the right URL, and does the server offer OAuth?",
            AuthError::Registration { .. } => "register a client by hand, and configure its id",
            AuthError::OtherIssuer { .. } => {
                "is that meant to be so? then forget the earlier sign-in, or configure the issuer"
            }
            AuthError::Denied(_)
            | AuthError::Timeout(_)
            | AuthError::Over
            | AuthError::Token(_)
            | AuthError::InvalidGrant => "sign in again",
            AuthError::Redirect(_) => "paste the whole URL that the browser shows after signing in",
            AuthError::Issuer { .. } => "do not sign in again before it is known who answers there",
            AuthError::Granted(_) => "ask whoever runs the server",
            AuthError::Transient(_) => "try again later",
            AuthError::Store { .. } => "look at the owner and the mode of the file",
            AuthError::Listen { .. } => {
                "is the port in use? another redirect URI can be configured"
            }
        }
    }

    pub(super) fn url(url: &Url, what: impl Into<String>) -> Self {
        AuthError::Url {
            url: place(url),
            what: what.into(),
        }
    }

    pub(super) fn store(path: &Path, what: &impl ToString) -> Self {
        AuthError::Store {
            path: path.to_owned(),
            what: what.to_string(),
        }
    }
}

/// A URL without what may be secret.
pub(super) fn place(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    shown(url.as_str())
}

/// A text of a server, as it can be shown: short, and without control characters.
pub(super) fn shown(text: &str) -> String {
    let text = text.trim();
    let mut shown: String = text
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it })
        .take(SHOWN)
        .collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
