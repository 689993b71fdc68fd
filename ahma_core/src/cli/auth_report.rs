//! Who is signed in where, as the owner reads it. Must not show a token.

use std::fmt::Write as _;
use std::time::SystemTime;

use ahma_http_mcp_client::auth::SignInStatus;
use serde_json::{Value, json};

use super::downstream_report::visible;
use crate::audit::timestamp;
use crate::config::downstream::{ServerSpec, TransportSpec};

/// One server that can be signed in to.
pub(super) struct Row {
    name: String,
    url: String,
    has_own_token: bool,
    status: Result<Option<SignInStatus>, String>,
}

impl Row {
    /// Of a server that is reached over HTTP; nobody signs in to others.
    pub(super) fn of(
        spec: &ServerSpec,
        status: Result<Option<SignInStatus>, String>,
    ) -> Option<Self> {
        let TransportSpec::Http { url, headers, .. } = &spec.transport else {
            return None;
        };
        let is_token = |name: &String| name.eq_ignore_ascii_case("authorization");
        Some(Row {
            name: spec.name.clone(),
            // A query may hold a key.
            url: url.split('?').next().unwrap_or_default().to_owned(),
            has_own_token: headers.keys().any(is_token),
            status,
        })
    }
}

/// All of them, a line each.
pub(super) fn rows(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no server is reached over HTTP; nobody signs in to others\n".to_owned();
    }
    let mut text = String::new();
    for row in rows {
        let what = match (&row.status, row.has_own_token) {
            (_, true) => "has a token in `headers`".to_owned(),
            (Ok(None), false) => "nobody is signed in".to_owned(),
            (Ok(Some(status)), false) => in_words(status),
            (Err(why), false) => why.clone(),
        };
        let _ = writeln!(text, "{} ({}): {what}", row.name, row.url);
    }
    text
}

/// The same for programs.
pub(super) fn document(rows: &[Row]) -> Value {
    let rows = rows.iter().map(|row| {
        let status = row.status.as_ref().ok().and_then(Option::as_ref);
        json!({
            "name": row.name,
            "url": row.url,
            "signed_in": status.is_some_and(|it| it.has_token),
            "token_in_headers": row.has_own_token,
            "issuer": status.map(|it| &it.issuer),
            "scopes": status.map(|it| &it.scopes),
            "since": status.map(|it| timestamp(it.signed_in_at)),
            "expires_at": status.and_then(|it| it.expires_at).map(timestamp),
            "renewable": status.map(|it| it.is_renewable),
            "kept_in": status.map(|it| it.kept_in.to_string()),
            "fault": row.status.as_ref().err(),
        })
    });
    json!({ "servers": rows.collect::<Vec<_>>() })
}

/// What came of a sign-in.
pub(super) fn signed_in(server: &str, status: &SignInStatus) -> String {
    format!("{server}: {}\n", in_words(status))
}

fn in_words(status: &SignInStatus) -> String {
    if !status.has_token {
        return format!("{} has taken the token back; sign in again", status.issuer);
    }
    let scopes = match status.scopes.is_empty() {
        true => String::new(),
        false => format!(", for {}", visible(&status.scopes.join(" "))),
    };
    let now = SystemTime::now();
    let life = match (status.expires_at, status.is_renewable) {
        (_, true) => "its token is renewed by itself".to_owned(),
        (Some(end), false) if end <= now => "its token has expired; sign in again".to_owned(),
        (Some(end), false) => format!("its token is good until {}", timestamp(end)),
        (None, false) => "its token has no known end".to_owned(),
    };
    format!(
        "signed in with {}{scopes} since {}; {life}; kept in {}",
        visible(&status.issuer),
        timestamp(status.signed_in_at),
        status.kept_in
    )
}
