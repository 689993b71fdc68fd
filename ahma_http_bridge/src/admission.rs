//! Who shows the token, and how often they may come.

use std::collections::HashMap;
use std::num::NonZeroU32;

use ahma_contract::Token;
use axum::http::request::Parts;
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use http::StatusCode;
use http::header::AUTHORIZATION;

use crate::config::{Limits, RateLimit, WorkspaceRoute};
use crate::problem::Problem;
use crate::workspace_path::workspace_name;

/// How often somebody may come.
pub(crate) struct Rate {
    limiter: DefaultDirectRateLimiter,
    limit: RateLimit,
    /// How more could be allowed.
    hint: &'static str,
}

impl Rate {
    pub(crate) fn new(limit: RateLimit, hint: &'static str) -> Self {
        let quota = Quota::per_second(limit.per_second).allow_burst(limit.burst);
        Rate {
            limiter: RateLimiter::direct(quota),
            limit,
            hint,
        }
    }

    /// Counts a request, unless it is too much.
    pub(crate) fn count(&self) -> Result<(), Problem> {
        self.limiter.check().map_err(|too_early| {
            let wait = too_early.wait_time_from(DefaultClock::default().now());
            let seconds = wait.as_secs() + 1;
            let RateLimit { per_second, burst } = self.limit;
            let why = format!(
                "too many requests: the limit is {per_second} per second and {burst} at once; try again in {seconds} s \
                 ({})", self.hint
            );
            Problem::new(StatusCode::TOO_MANY_REQUESTS, why).retry_after(seconds)
        })
    }
}

/// Who may come, and how often those may who belong to no session.
pub(crate) struct Admission {
    token: Option<Token>,
    /// Of each workspace; each opens nothing else.
    workspaces: HashMap<String, Option<Token>>,
    /// Of those without the token: what they do must not keep those out who may.
    unknown: Option<Rate>,
    /// Of those who ask whether the server is well.
    health: Rate,
}

impl Admission {
    pub(crate) fn new(
        token: Option<Token>,
        workspaces: &[WorkspaceRoute],
        limits: &Limits,
        hint: &'static str,
    ) -> Self {
        let show_token = "with the token there is no limit";
        Admission {
            token,
            workspaces: workspaces
                .iter()
                .map(|it| (it.name.clone(), it.token.clone()))
                .collect(),
            unknown: limits.rate.map(|rate| Rate::new(rate, hint)),
            health: Rate::new(limits.health_rate, show_token),
        }
    }

    pub(crate) fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// Whether a request shows the token, which is taken out: nothing behind this needs to know it.
    pub(crate) fn admit(&self, parts: &mut Parts) -> Result<(), Problem> {
        let is_known = self.shows_token(parts, self.token_of(parts.uri.path()));
        without_secret(parts);
        if is_known {
            return Ok(());
        }
        self.count_unknown()?;
        Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "this server requires its token: send it as the header `Authorization: Bearer …`, or append `?key=…` to the \
             URL; the server prints the URL with its key when it starts, and its state file names the file that holds it",
        ))
    }

    pub(crate) fn count_unknown(&self) -> Result<(), Problem> {
        self.unknown.as_ref().map_or(Ok(()), Rate::count)
    }

    /// Counts a question whether the server is well, unless it shows the token.
    pub(crate) fn count_health(&self, parts: &Parts) -> Result<(), Problem> {
        let token = self.token.as_ref();
        match token.is_some() && self.shows_token(parts, token) {
            true => Ok(()),
            false => self.health.count(),
        }
    }

    /// The token of what is at a path. A name that was not declared is not a workspace, however it is written.
    fn token_of(&self, path: &str) -> Option<&Token> {
        match workspace_name(path).and_then(|name| self.workspaces.get(name)) {
            Some(of_workspace) => of_workspace.as_ref(),
            None => self.token.as_ref(),
        }
    }

    fn shows_token(&self, parts: &Parts, token: Option<&Token>) -> bool {
        let Some(token) = token else {
            return true;
        };
        let headers = parts.headers.get_all(AUTHORIZATION).iter();
        let mut shown = headers.filter_map(|value| bearer(value.as_bytes()));
        let query = parts.uri.query().unwrap_or_default();
        let mut keys = query
            .split('&')
            .filter_map(|pair| pair.strip_prefix("key="));
        shown.any(|it| token.is(it)) || keys.any(|it| token.is(it.as_bytes()))
    }
}

/// What follows `Bearer`, which may be written in any case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| rest.trim_ascii())
}

/// Takes the token out of a request, right or wrong, wherever it was.
fn without_secret(parts: &mut Parts) {
    parts.headers.remove(AUTHORIZATION);
    if parts.uri.query().is_some()
        && let Ok(path) = parts.uri.path().parse()
    {
        parts.uri = path;
    }
}

/// A rate from what the operator says; zero means none.
impl RateLimit {
    /// None when either is zero.
    pub fn of(per_second: u32, burst: u32) -> Option<Self> {
        Some(RateLimit {
            per_second: NonZeroU32::new(per_second)?,
            burst: NonZeroU32::new(burst)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;
    use http::Request;

    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn admission() -> Admission {
        let limits = Limits {
            rate: RateLimit::of(1, 2),
            ..Limits::default()
        };
        Admission::new(Some(Token::new(SECRET).unwrap()), &[], &limits, "")
    }

    fn admitted(uri: &str, headers: &[&str]) -> (bool, Parts) {
        let mut request = Request::builder().uri(uri);
        for value in headers {
            request = request.header(AUTHORIZATION, *value);
        }
        let mut parts = request.body(()).unwrap().into_parts().0;
        let is_admitted = admission().admit(&mut parts).is_ok();
        (is_admitted, parts)
    }

    #[test]
    fn the_token_is_taken_from_header_or_url_and_goes_no_further() {
        for (uri, headers) in [
            ("/mcp", vec!["Bearer 0123456789abcdef"]),
            ("/mcp", vec!["bearer  0123456789abcdef"]),
            ("/mcp?key=0123456789abcdef", vec![]),
            ("/mcp?a=b&key=0123456789abcdef", vec!["Basic x"]),
        ] {
            let (is_admitted, parts) = admitted(uri, &headers);
            assert!(is_admitted, "{uri} {headers:?}");
            assert!(!format!("{parts:?}").contains(SECRET), "{parts:?}");
        }
    }

    #[test]
    fn nothing_else_is_the_token() {
        for (uri, headers) in [
            ("/mcp", vec![]),
            ("/mcp", vec!["0123456789abcdef"]),
            ("/mcp", vec!["Bearer 0123456789abcdeF"]),
            ("/mcp", vec!["Bearer "]),
            ("/mcp", vec!["Bear"]),
            ("/mcp", vec!["Basic 0123456789abcdef"]),
            ("/mcp?key=", vec![]),
            ("/mcp?KEY=0123456789abcdef", vec![]),
            ("/mcp?xkey=0123456789abcdef", vec![]),
            ("/0123456789abcdef", vec![]),
        ] {
            assert!(!admitted(uri, &headers).0, "{uri} {headers:?}");
        }
    }

    #[test]
    fn strangers_do_not_use_up_what_others_may() {
        let admission = admission();
        let stranger = || {
            let mut parts = Request::new(()).into_parts().0;
            let refused = admission.admit(&mut parts).unwrap_err();
            refused.into_response().status()
        };
        assert_eq!(stranger(), StatusCode::UNAUTHORIZED);
        assert_eq!(stranger(), StatusCode::UNAUTHORIZED);
        assert_eq!(stranger(), StatusCode::TOO_MANY_REQUESTS);
    }
}
