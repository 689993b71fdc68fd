//! A server that runs elsewhere: its URL, its headers, how to sign in.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::field::Field;
use super::port::{is_port, refuse_port, report_port};
use super::raw::RawServer;
use super::secret::Secret;
use super::secret_maps::{refuse_references, secret, secrets};
use super::spec::{OAuthSpec, TransportSpec};
use super::surroundings::Surroundings;

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

type Context<'c> = (Surroundings<'c>, Checks<'c>);

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

/// What is wrong with a URL, if anything. Only what people get wrong: whoever connects to it parses it.
fn url_fault(url: &str) -> Option<(&'static str, &'static str)> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Some(("this is not a URL", "write it in full: `https://host/path`"));
    };
    if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
        return Some((
            "only `http` and `https` are supported",
            "write it as `https://host/path`",
        ));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some((
            "the URL holds a user name or password",
            "URLs are shown; use `headers` with a reference, as in `Bearer ${env:TOKEN}`",
        ));
    }
    if authority.is_empty() || authority.starts_with(':') {
        return Some(("the URL names no host", "write it as `https://host/path`"));
    }
    let is_odd = |letter: char| letter.is_whitespace() || letter.is_control();
    url.contains(is_odd).then_some((
        "the URL holds a blank or a control character",
        "write a blank as `%20`",
    ))
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

fn oauth(raw: &RawServer, place: &JsonLocation<'_>, context: Context<'_>) -> Option<OAuthSpec> {
    let checks = context.1;
    let mut settings = raw.oauth.value().cloned().unwrap_or_default();
    let at = place.key("oauth");
    refuse_misspelt(&settings, &at, checks);
    let mut client_id = take_text(&mut settings, "client_id", &at, checks);
    let mut client_secret = take_text(&mut settings, "client_secret", &at, checks)
        .and_then(|text| client_secret_of(&text, &at.key("client_secret"), context));
    for (field, short, given, is_taken) in [
        (
            "atlassian_client_id",
            "client_id",
            &raw.atlassian_client_id,
            client_id.is_some(),
        ),
        (
            "atlassian_client_secret",
            "client_secret",
            &raw.atlassian_client_secret,
            client_secret.is_some(),
        ),
    ] {
        if given.is_present() && is_taken {
            checks.faults.add_to_key(
                &place.key(field),
                format!("`{field}` says the same as `{short}` of `oauth`"),
                "keep one of them".to_owned(),
            );
        }
    }
    let field = place.key("atlassian_client_id");
    client_id = client_id.or(checks.text(&raw.atlassian_client_id, &field));
    if let Some(id) = &client_id {
        let at = match raw.atlassian_client_id.is_present() {
            true => field,
            false => at.key("client_id"),
        };
        refuse_references(id, &at, checks);
    }
    let field = place.key("atlassian_client_secret");
    let of_atlassian = checks.text(&raw.atlassian_client_secret, &field);
    client_secret =
        client_secret.or(of_atlassian.and_then(|it| client_secret_of(&it, &field, context)));
    let is_asked_for = raw.oauth.is_present() || client_id.is_some() || client_secret.is_some();
    is_asked_for.then_some(OAuthSpec {
        client_id,
        client_secret,
        settings,
    })
}

fn client_secret_of(text: &str, place: &JsonLocation<'_>, context: Context<'_>) -> Option<Secret> {
    let secret = secret(text, place, context)?;
    if secret.references().any(is_port) {
        report_port(place, context.1);
    }
    Some(secret)
}

/// Takes a text out of the settings, which are not decoded.
fn take_text(
    settings: &mut Map<String, Value>,
    field: &str,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Option<String> {
    let place = place.key(field);
    match settings.remove(field)? {
        Value::String(text) => checks.text(&Field::Value(text), &place),
        _ => {
            let hint = "write it in double quotes";
            checks
                .faults
                .add_with_hint(&place, "expected a string", hint);
            None
        }
    }
}

/// The two fields that have a meaning here must not get lost among those that are kept as they are.
fn refuse_misspelt(settings: &Map<String, Value>, place: &JsonLocation<'_>, checks: Checks<'_>) {
    const KNOWN: [&str; 2] = ["client_id", "client_secret"];
    let is_same = |left: &str, right: &str| {
        let letters = |it: &str| it.replace(['_', '-'], "").to_ascii_lowercase();
        letters(left) == letters(right)
    };
    for key in settings.keys().filter(|key| !KNOWN.contains(&key.as_str())) {
        if let Some(meant) = KNOWN.into_iter().find(|meant| is_same(key, meant)) {
            checks.faults.add_to_key(
                &place.key(key),
                format!("unknown field `{key}`"),
                format!("did you mean `{meant}`?"),
            );
        }
    }
}
