//! What a browser brings back from an authorization server, or a person pastes.

use reqwest::Url;
use subtle::ConstantTimeEq as _;

use super::error::{AuthError, shown};
use crate::secret::Secret;

/// The longest that is looked at.
const MAX: usize = 16 * 1024;

/// An answer of an authorization server.
#[derive(Debug)]
pub(super) struct Redirect {
    /// A code, or why there is none.
    pub(super) outcome: Result<Secret, String>,
    /// Who answers, where it says so.
    pub(super) issuer: Option<String>,
}

impl Redirect {
    /// Reads the whole URL that a browser was sent to, or only the part of it after the question mark. An answer that does not
    /// belong to `state` is none.
    pub(super) fn parse(text: &str, state: &Secret) -> Result<Self, AuthError> {
        let text = text.trim();
        if text.len() > MAX {
            return Err(wrong("it is too long"));
        }
        let query = match text.split_once('?') {
            Some((_, query)) => query,
            None => text,
        };
        let query = query.split('#').next().unwrap_or_default();
        // Only its query counts.
        let mut url = Url::parse("http://localhost/").map_err(|_| wrong("it is not a URL"))?;
        url.set_query(Some(query));
        let given = one(&url, "state")?.ok_or_else(|| wrong("it has no `state`"))?;
        let is_ours = given.as_bytes().ct_eq(state.reveal().as_bytes());
        if !bool::from(is_ours) {
            return Err(wrong("its `state` is another one"));
        }
        let outcome = match (one(&url, "code")?, one(&url, "error")?) {
            (Some(code), None) => Ok(Secret::new(code)),
            (None, Some(error)) => {
                let description = one(&url, "error_description")?;
                Err(match description {
                    Some(description) => shown(&format!("{error}: {description}")),
                    None => shown(&error),
                })
            }
            _ => return Err(wrong("it has neither a `code` nor an `error`, or both")),
        };
        let issuer = one(&url, "iss")?;
        Ok(Redirect { outcome, issuer })
    }
}

/// A parameter that may be there once.
fn one(url: &Url, name: &str) -> Result<Option<String>, AuthError> {
    let mut values = url.query_pairs().filter(|(key, _)| key == name);
    let value = values.next().map(|(_, value)| value.into_owned());
    match values.next() {
        Some(_) => Err(wrong(&format!("it has more than one `{name}`"))),
        None => Ok(value),
    }
}

fn wrong(what: &str) -> AuthError {
    AuthError::Redirect(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Redirect, AuthError> {
        Redirect::parse(text, &Secret::new("s1"))
    }

    /// Proves: C67.
    #[test]
    fn a_pasted_url_is_taken_whole_or_in_part_and_only_with_its_state() {
        for text in [
            "http://127.0.0.1:4711/callback?code=c%2F1&state=s1&iss=https%3A%2F%2Fas.test",
            "  ?code=c/1&state=s1&iss=https://as.test\n",
            "code=c/1&state=s1&iss=https://as.test#",
        ] {
            let redirect = parse(text).unwrap();
            assert_eq!(redirect.outcome.unwrap().reveal(), "c/1", "{text}");
            assert_eq!(redirect.issuer.as_deref(), Some("https://as.test"));
        }
        let denied = parse("error=access_denied&error_description=no%0Away&state=s1").unwrap();
        assert_eq!(denied.outcome.unwrap_err(), "access_denied: no way");
        for (text, why) in [
            ("", "no `state`"),
            ("https://as.test/", "no `state`"),
            ("code=c&state=s2", "another one"),
            ("code=c&state=", "another one"),
            ("state=s1", "neither"),
            ("code=c&error=x&state=s1", "or both"),
            ("code=c&code=d&state=s1", "more than one `code`"),
            ("code=c&state=s1&state=s1", "more than one `state`"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
