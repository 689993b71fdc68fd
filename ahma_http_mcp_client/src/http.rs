//! Servers that are reached over HTTP.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};

/// Connections that are kept for further requests.
const MAX_IDLE: usize = 10;
/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends requests to one server only: what it is told is not passed on to where it points.
pub(crate) fn client(url: &Url, socket: Option<&Path>) -> reqwest::Result<Client> {
    let mut builder = Client::builder()
        // One question, one answer.
        .pool_max_idle_per_host(0)
        .redirect(Policy::none());
    if let Some(socket) = socket {
        builder = builder.unix_socket(socket);
    }
    if is_here(url) {
        // A proxy is somewhere else.
        builder = builder.no_proxy();
    }
    builder.build()
}

/// The same, for a conversation of many requests whose answers are read to their end.
pub(crate) fn pooled_client(url: &Url, socket: Option<&Path>) -> reqwest::Result<Client> {
    let mut builder = Client::builder()
        .pool_max_idle_per_host(MAX_IDLE)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(Policy::none());
    if let Some(socket) = socket {
        builder = builder.unix_socket(socket);
    }
    if is_here(url) {
        // A proxy is somewhere else.
        builder = builder.no_proxy();
    }
    builder.build()
}

/// Whether a URL leads to this machine, whatever names mean.
pub(crate) fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_here() {
        let here = |text: &str| is_here(&text.parse().unwrap());
        assert!(here("http://127.0.0.1:4242/mcp"));
        assert!(here("http://[::1]:4242/mcp"));
        assert!(here("http://localhost:4242/mcp"));
        assert!(!here("http://localhost.evil.example/mcp"));
        assert!(!here("http://127.0.0.1.evil.example/mcp"));
        assert!(!here("http://192.168.1.5/mcp"));
    }
}
