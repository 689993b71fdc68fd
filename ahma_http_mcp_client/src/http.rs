//! Servers that are reached over HTTP.

use std::collections::HashMap;
use std::error::Error;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpError,
};

use crate::config::UrlEntry;
use crate::error::ConnectError;

/// Connections that are kept for further requests.
const MAX_IDLE: usize = 10;
/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A way to a server, on which nothing was sent yet.
pub(crate) fn transport(
    entry: &UrlEntry,
) -> Result<StreamableHttpClientTransport<Client>, ConnectError> {
    let wrong = |what: String| ConnectError::Url {
        url: entry.place().to_owned(),
        what,
    };
    let url: Url = entry.url().parse().map_err(|_| {
        wrong("it is not a URL; one looks like http://127.0.0.1:4242/mcp?key=…".to_owned())
    })?;
    let mut headers = HashMap::new();
    for (name, value) in entry.headers() {
        let parsed = name
            .parse::<HeaderName>()
            .ok()
            .zip(HeaderValue::from_str(value).ok());
        let (name, value) = parsed.ok_or_else(|| wrong(format!("`{name}` is not a header")))?;
        headers.insert(name, value);
    }
    let client = client(&url, entry.socket()).map_err(|error| wrong(error.to_string()))?;
    let config = StreamableHttpClientTransportConfig::with_uri(entry.url()).custom_headers(headers);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Sends requests to one server only: what it is told is not passed on to where it points.
pub(crate) fn client(url: &Url, socket: Option<&Path>) -> reqwest::Result<Client> {
    let mut builder = Client::builder()
        // The SDK leaves answers unread to the end, and a connection that is used again then waits.
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

/// What went wrong, without the ways of the SDK and without a secret.
pub(crate) fn explained(error: &(dyn Error + 'static), entry: &UrlEntry) -> String {
    let mut cause = Some(error);
    let mut deepest = error;
    while let Some(error) = cause {
        match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(StreamableHttpError::AuthRequired(_)) => {
                return "it wants a token, or another one than it was shown".to_owned();
            }
            Some(StreamableHttpError::Client(error)) if error.is_connect() => {
                return "nothing answers there".to_owned();
            }
            _ => {}
        }
        deepest = error;
        cause = error.source();
    }
    deepest.to_string().replace(entry.url(), entry.place())
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

    #[test]
    fn what_is_no_url_or_header_is_named_without_its_key() {
        let wrong = |url: &str, name: &str| {
            let headers = [(name.to_owned(), "v".to_owned())].into();
            transport(&UrlEntry::new(url, headers))
                .err()
                .unwrap()
                .to_string()
        };
        let no_url = wrong("127.0.0.1:x/mcp?key=secret", "a");
        assert!(no_url.contains("it is not a URL"), "{no_url}");
        assert!(!no_url.contains("secret"), "{no_url}");
        let no_header = wrong("http://127.0.0.1:1/mcp", "a b");
        assert!(no_header.contains("`a b` is not a header"), "{no_header}");
    }
}
