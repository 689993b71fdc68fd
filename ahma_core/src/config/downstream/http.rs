//! A server that runs elsewhere: its URL, its headers, how to sign in.

use std::collections::BTreeMap;

use super::super::fault::JsonLocation;
use super::oauth::oauth;
use super::port::{is_port, refuse_port, report_port};
use super::raw::RawServer;
use super::secret::Secret;
use super::secret_maps::{refuse_references, secrets};
use super::spec::TransportSpec;
use super::surroundings::Context;
use super::url_rules::url_fault;

/// Headers that the transport sets; another value would break it.
const OF_THE_TRANSPORT: [&str; 8] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

pub(super) fn http(
    raw: &RawServer,
    place: &JsonLocation<'_>,
    context: Context<'_>,
) -> Option<TransportSpec> {
    let checks = context.1;
    checks.required(&raw.url, place, "url");
    let url = checks.text(&raw.url, &place.key("url"));
    if let Some(url) = &url {
        let at = place.key("url");
        refuse_references(url, &at, checks);
        refuse_port(url, &at, checks);
        if let Some((message, hint)) = url_fault(url) {
            checks.faults.add_with_hint(&at, message, hint);
        }
    }
    let headers = headers(raw, &place.key("headers"), context);
    let oauth = oauth(raw, place, context);
    Some(TransportSpec::Http {
        url: url?,
        headers,
        oauth,
    })
}

fn headers(
    raw: &RawServer,
    place: &JsonLocation<'_>,
    context: Context<'_>,
) -> BTreeMap<String, Secret> {
    let checks = context.1;
    let headers = secrets(&raw.headers, place, context, header_fault);
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (name, value) in &headers {
        let at = place.key(name);
        if value.references().any(is_port) {
            report_port(&at, checks);
        }
        if value.plain_parts().any(|it| it.contains(char::is_control)) {
            checks.faults.add_with_hint(
                &at,
                "the value of a header holds a control character",
                "remove it; a header is one line",
            );
        }
        if let Some(other) = seen.insert(name.to_ascii_lowercase(), name) {
            checks.faults.add_to_key(
                &at,
                format!("`{name}` and `{other}` are the same header"),
                "keep one of them".to_owned(),
            );
        }
    }
    headers
}

/// What is wrong with the name of a header, if anything.
fn header_fault(name: &str) -> Option<(String, &'static str)> {
    let is_token =
        |letter: char| letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter);
    if name.is_empty() || !name.chars().all(is_token) {
        let message = "this cannot be the name of a header".to_owned();
        return Some((message, "use letters, digits and `-`"));
    }
    let is_taken = OF_THE_TRANSPORT.contains(&name.to_ascii_lowercase().as_str());
    is_taken.then(|| {
        let message = format!("the header `{name}` is set by the transport");
        (message, "leave it out")
    })
}
