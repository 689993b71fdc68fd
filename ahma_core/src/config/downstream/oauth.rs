//! How to sign in to a server that runs elsewhere.

use serde_json::{Map, Value};

use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::field::Field;
use super::port::{is_port, refuse_port, report_port};
use super::raw::RawServer;
use super::secret::Secret;
use super::secret_maps::{refuse_references, secret};
use super::spec::OAuthSpec;
use super::surroundings::Context;
use super::url_rules::url_fault;

/// The fields that have a meaning here.
const KNOWN: [&str; 5] = [
    "client_id",
    "client_secret",
    "issuer",
    "redirect_uri",
    "client_metadata_url",
];

pub(super) fn oauth(
    raw: &RawServer,
    place: &JsonLocation<'_>,
    context: Context<'_>,
) -> Option<OAuthSpec> {
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
    if let (Some(_), None) = (&client_secret, &client_id) {
        checks.faults.add_with_hint(
            place,
            "a client secret without the client that it belongs to",
            "add `client_id`",
        );
    }
    let issuer = take_url(&mut settings, "issuer", &at, checks);
    let redirect_uri = take_url(&mut settings, "redirect_uri", &at, checks);
    let client_metadata_url = take_url(&mut settings, "client_metadata_url", &at, checks);
    if let Some(url) = &client_metadata_url
        && !url.to_ascii_lowercase().starts_with("https://")
    {
        checks.faults.add_with_hint(
            &at.key("client_metadata_url"),
            "authorization servers read such a document over https only",
            "write it as `https://host/path`",
        );
    }
    let is_asked_for = raw.oauth.is_present() || client_id.is_some() || client_secret.is_some();
    is_asked_for.then_some(OAuthSpec {
        client_id,
        client_secret,
        issuer,
        redirect_uri,
        client_metadata_url,
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

/// Takes a URL out of the settings.
fn take_url(
    settings: &mut Map<String, Value>,
    field: &str,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Option<String> {
    let url = take_text(settings, field, place, checks)?;
    let at = place.key(field);
    refuse_references(&url, &at, checks);
    refuse_port(&url, &at, checks);
    if let Some((message, hint)) = url_fault(&url) {
        checks.faults.add_with_hint(&at, message, hint);
    }
    Some(url)
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

/// Fields that have a meaning here must not get lost among those that are kept as they are.
fn refuse_misspelt(settings: &Map<String, Value>, place: &JsonLocation<'_>, checks: Checks<'_>) {
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
