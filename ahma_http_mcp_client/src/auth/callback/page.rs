//! The page that a browser shows after a sign-in. It loads nothing and runs nothing, and what others have said is text in it.

use data_encoding::BASE64;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;
use sha2::{Digest as _, Sha256};

const STYLE: &str = "body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1.5rem;\
color:#1d1d1f;background:#fff}h1{font-size:1.6rem;line-height:1.2}h1::before{content:'';display:inline-block;width:.7em;\
height:.7em;border-radius:50%;margin-right:.5em}.done h1::before{background:#1a7f37}.failed h1::before{background:#cf222e}\
@media (prefers-color-scheme:dark){body{color:#f5f5f7;background:#1d1d1f}}";

/// What a page says.
#[derive(Debug)]
pub(in crate::auth) struct Page {
    status: StatusCode,
    is_good: bool,
    title: String,
    text: String,
}

impl Page {
    /// That somebody is signed in.
    pub(in crate::auth) fn signed_in(program: &str, server: &str) -> Self {
        Page {
            status: StatusCode::OK,
            is_good: true,
            title: "Signed in".to_owned(),
            text: format!("{program} can now use {server}. You can close this page."),
        }
    }

    /// That it has failed, why, and what to do.
    pub(in crate::auth) fn failed(server: &str, why: &str, hint: &str) -> Self {
        Page {
            status: StatusCode::BAD_REQUEST,
            is_good: false,
            title: "Not signed in".to_owned(),
            text: format!("Signing in to {server} has failed: {why}. What to do: {hint}."),
        }
    }

    /// That something else was asked for.
    pub(super) fn refused(status: StatusCode, text: &str) -> Self {
        Page {
            status,
            is_good: false,
            title: "Nothing was done".to_owned(),
            text: text.to_owned(),
        }
    }

    /// As it is sent.
    pub(super) fn response(&self) -> Response<Full<Bytes>> {
        let (class, title) = (if self.is_good { "done" } else { "failed" }, &self.title);
        let text = escaped(&self.text);
        let html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             <body class=\"{class}\">\n<h1>{title}</h1>\n<p>{text}</p>\n</body>\n</html>\n"
        );
        let style = BASE64.encode(&Sha256::digest(STYLE.as_bytes()));
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        Response::builder()
            .status(self.status)
            .header(CONTENT_TYPE, "text/html; charset=utf-8")
            .header(CONTENT_SECURITY_POLICY, policy)
            .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
            .header(REFERRER_POLICY, "no-referrer")
            .header(CACHE_CONTROL, "no-store")
            .header(CONNECTION, "close")
            .body(Full::new(Bytes::from(html)))
            .unwrap_or_default()
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            character => escaped.push(character),
        }
    }
    escaped
}
