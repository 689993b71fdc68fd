//! Who may speak to a server on this machine: whoever means this server.
//!
//! A web page can have the user's browser send requests to any address. What it cannot do is choose the
//! `Host` and `Origin` that the browser sends along. So both are compared, exactly and always: names that
//! were made to lead to this machine are foreign names still.

use std::net::SocketAddr;

use ahma_contract::ServerAddress;
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderName, StatusCode, Uri};

use crate::problem::Problem;

/// A web origin: scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

/// Why a text is no origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an origin; an origin looks like http://localhost:5173, without a path")]
pub struct OriginError(String);

impl Origin {
    /// As browsers write it.
    pub fn new(text: &str) -> Result<Self, OriginError> {
        let wrong = || OriginError(text.to_owned());
        let rest = text.strip_prefix("http://");
        let rest = rest.or_else(|| text.strip_prefix("https://"));
        let host = rest.ok_or_else(wrong)?;
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let authority = uri.authority().ok_or_else(wrong)?;
        let is_plain = !host.is_empty() && !host.contains(['/', '?', '#', '@', '*']);
        if !is_plain || authority.as_str() != host || text != text.to_ascii_lowercase() {
            return Err(wrong());
        }
        Ok(Origin(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The names of this server, and the origins that may call it.
#[derive(Debug, Clone)]
pub(crate) struct OriginGuard {
    hosts: Vec<String>,
    origins: Vec<String>,
    /// How a foreign origin could be allowed.
    hint: &'static str,
}

impl OriginGuard {
    /// `is_localhost`: whether nobody else can be at this port of either loopback address.
    pub(crate) fn new(
        address: &ServerAddress,
        is_localhost: bool,
        origins: &[Origin],
        hint: &'static str,
    ) -> Self {
        let hosts = match address {
            ServerAddress::Port(address) => hosts_of_port(*address, is_localhost),
            ServerAddress::Socket(_) => vec!["localhost".to_owned()],
        };
        let own = hosts.iter().map(|host| format!("http://{host}"));
        let allowed = origins.iter().map(|origin| origin.as_str().to_owned());
        OriginGuard {
            hint,
            origins: own.chain(allowed).collect(),
            hosts,
        }
    }

    /// Whether a request is meant for this server, and does not come from a foreign web page.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let host = only(headers, &HOST)?;
        let is_ours = |name: &str| {
            let mut hosts = self.hosts.iter();
            hosts.any(|host| host.eq_ignore_ascii_case(name))
        };
        if !host.is_some_and(is_ours) {
            return Err(foreign(format!(
                "this request was not meant for this server: its Host is {}; use {}",
                host.map_or("missing".to_owned(), |host| format!("`{}`", cut(host))),
                self.hosts.first().map_or("", String::as_str),
            )));
        }
        if let Some(authority) = uri.authority()
            && !is_ours(authority.as_str())
        {
            return Err(foreign("this server is not a proxy".to_owned()));
        }
        match only(headers, &ORIGIN)? {
            Some(origin) if !self.origins.iter().any(|it| it == origin) => Err(foreign(format!(
                "web pages of `{}` may not call this server; {}",
                cut(origin),
                self.hint
            ))),
            _ => Ok(()),
        }
    }
}

fn hosts_of_port(address: SocketAddr, is_localhost: bool) -> Vec<String> {
    let port = address.port();
    let mut hosts = vec![address.to_string()];
    if is_localhost {
        let names = ["localhost", "127.0.0.1", "[::1]"];
        hosts.extend(names.map(|name| format!("{name}:{port}")));
    }
    if port == 80 {
        let without: Vec<String> = hosts
            .iter()
            .filter_map(|host| host.strip_suffix(":80").map(str::to_owned))
            .collect();
        hosts.extend(without);
    }
    hosts
}

fn foreign(why: String) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, why)
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(100)]
}

/// The value of a header that may be there once. Which of two counts, different programs see differently.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else {
        return Ok(None);
    };
    match (first.to_str(), values.next()) {
        (Ok(value), None) => Ok(Some(value)),
        _ => Err(foreign(format!("send one {name} header, in ASCII"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> OriginGuard {
        let address = SocketAddr::from(([127, 0, 0, 1], 4242));
        OriginGuard::new(
            &address.into(),
            true,
            &[Origin::new("https://app.example").unwrap()],
            "",
        )
    }

    fn passes(headers: &[(&str, &str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            map.append(name, value.parse().unwrap());
        }
        guard().check(&Uri::from_static("/mcp"), &map).is_ok()
    }

    /// Proves: H8.
    #[test]
    fn the_server_has_these_names_and_no_others() {
        for host in [
            "127.0.0.1:4242",
            "localhost:4242",
            "LOCALHOST:4242",
            "[::1]:4242",
        ] {
            assert!(passes(&[("host", host)]), "{host}");
        }
        for host in [
            "",
            "localhost",
            "127.0.0.1",
            "localhost:4243",
            "localhost:42420",
            "localhost.:4242",
            "localhost.evil.example:4242",
            "evil.localhost:4242",
            "evil.example:4242",
            "127.0.0.1.evil.example:4242",
            "127.0.0.1:4242@evil.example",
            "evil.example@127.0.0.1:4242",
            "127.1:4242",
            "2130706433:4242",
            "0.0.0.0:4242",
            "::1:4242",
            "[::1]",
            "[::ffff:127.0.0.1]:4242",
            "[0:0:0:0:0:0:0:1]:4242",
            " localhost:4242",
            "localhost:4242, evil.example",
        ] {
            assert!(!passes(&[("host", host)]), "{host}");
        }
        assert!(!passes(&[]), "none at all");
        let twice = [("host", "localhost:4242"), ("host", "localhost:4242")];
        assert!(!passes(&twice), "even when both are right");
    }

    /// Proves: H8.
    #[test]
    fn web_pages_need_to_be_ours_or_allowed() {
        let from = |origin: &str| passes(&[("host", "localhost:4242"), ("origin", origin)]);
        for origin in [
            "http://localhost:4242",
            "http://127.0.0.1:4242",
            "http://[::1]:4242",
            "https://app.example",
        ] {
            assert!(from(origin), "{origin}");
        }
        for origin in [
            "null",
            "",
            "http://localhost",
            "https://localhost:4242",
            "http://localhost:4242.evil.example",
            "http://localhost:42421",
            "https://app.example.evil.example",
            "https://app.example:8443",
            "http://app.example",
            "https://evil.example",
            "https://app.example/",
            "HTTPS://APP.EXAMPLE",
        ] {
            assert!(!from(origin), "{origin}");
        }
        assert!(!passes(&[
            ("host", "localhost:4242"),
            ("origin", "http://localhost:4242"),
            ("origin", "https://evil.example"),
        ]));
    }

    /// Proves: H8.
    #[test]
    fn a_request_for_another_server_is_not_passed_on() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "localhost:4242".parse().unwrap());
        let elsewhere = Uri::from_static("http://evil.example/mcp");
        assert!(guard().check(&elsewhere, &headers).is_err());
        let here = Uri::from_static("http://localhost:4242/mcp");
        assert!(guard().check(&here, &headers).is_ok());
    }

    #[test]
    fn what_is_no_origin_is_refused() {
        for text in [
            "",
            "null",
            "*",
            "localhost",
            "http://",
            "http://*",
            "http://a/",
            "http://a/b",
            "ftp://a",
            "http://A",
            "http://u@a",
        ] {
            assert!(Origin::new(text).is_err(), "{text}");
        }
        for text in [
            "http://localhost:5173",
            "https://app.example",
            "http://[::1]:80",
        ] {
            assert_eq!(Origin::new(text).unwrap().as_str(), text);
        }
    }
}
