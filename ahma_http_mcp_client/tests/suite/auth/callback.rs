//! The port that waits for a browser, and the page it shows.

use std::time::Duration;

use ahma_http_mcp_client::auth::{AuthError, SignIn};
use serde_json::Value;

use super::realm::{Realm, browser};

const LIMIT: Duration = Duration::from_secs(60);

fn param(sign_in: &SignIn, name: &str) -> String {
    let mut pairs = sign_in.url().query_pairs();
    pairs.find(|it| it.0 == name).unwrap().1.into_owned()
}

/// Proves: C67.
#[tokio::test]
async fn only_the_right_answer_ends_the_waiting() {
    let realm = Realm::new().await;
    let sign_in = SignIn::begin(realm.options(), None).await.unwrap();
    let callback = param(&sign_in, "redirect_uri");
    let state = param(&sign_in, "state");
    let browsing = async {
        let get = |target: String| browser().get(target).send();
        let port = callback
            .split(':')
            .next_back()
            .unwrap()
            .split('/')
            .next()
            .unwrap();
        // A connection that never asks anything.
        let silent = tokio::net::TcpStream::connect(format!("127.0.0.1:{port}"))
            .await
            .unwrap();
        let wrong = [
            (get(format!("{callback}?code=x&state=guessed")).await, 400),
            (get(format!("{callback}?code=x")).await, 400),
            (
                get(format!("{callback}/else?code=x&state={state}")).await,
                404,
            ),
            (
                browser()
                    .post(format!("{callback}?code=x&state={state}"))
                    .send()
                    .await,
                405,
            ),
            (
                browser()
                    .get(format!("{callback}?code=x&state={state}"))
                    .header("host", "evil.test")
                    .send()
                    .await,
                421,
            ),
        ];
        for (index, (response, status)) in wrong.into_iter().enumerate() {
            assert_eq!(response.unwrap().status().as_u16(), status, "{index}");
        }
        assert!(realm.listener.asked_at("/token").is_empty());
        let back = realm.opened(sign_in.url().as_str()).await;
        let page = browser().get(back).send().await.unwrap();
        drop(silent);
        page
    };
    let (status, page) = tokio::join!(sign_in.wait(LIMIT), browsing);
    assert!(status.unwrap().has_token);
    assert_eq!(page.status(), 200);
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-"),
        "{policy}"
    );
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(page.headers()["referrer-policy"], "no-referrer");
    let html = page.text().await.unwrap();
    for outside in ["<script", "http://", "https://", "src="] {
        let without_server = html.replace(&realm.url(), "");
        assert!(!without_server.contains(outside), "{outside}: {html}");
    }
}

/// Proves: C67.
#[tokio::test]
async fn a_refusal_is_shown_as_text_and_nothing_is_stored() {
    let realm = Realm::new().await;
    let sign_in = SignIn::begin(realm.options(), None).await.unwrap();
    let (callback, state) = (param(&sign_in, "redirect_uri"), param(&sign_in, "state"));
    let mut back: reqwest::Url = callback.parse().unwrap();
    back.query_pairs_mut()
        .append_pair("error", "access_denied")
        .append_pair("error_description", "<script>alert(1)</script>")
        .append_pair("iss", &realm.base)
        .append_pair("state", &state);
    let browsing = async { browser().get(back).send().await.unwrap() };
    let (status, page) = tokio::join!(sign_in.wait(LIMIT), browsing);
    let error = status.unwrap_err();
    assert!(matches!(error, AuthError::Denied(_)), "{error}");
    assert_eq!(page.status(), 400);
    let html = page.text().await.unwrap();
    assert!(html.contains("<h1>Not signed in</h1>"), "{html}");
    assert!(
        html.contains("access_denied: &lt;script&gt;alert(1)"),
        "{html}"
    );
    assert!(!html.contains("<script"), "{html}");
    assert!(realm.records().is_empty());
}

/// Proves: C67.
#[tokio::test]
async fn waiting_ends_by_itself_and_after_too_many_others() {
    let realm = Realm::new().await;
    let sign_in = SignIn::begin(realm.options(), None).await.unwrap();
    let error = sign_in.wait(Duration::from_millis(50)).await.unwrap_err();
    assert!(matches!(error, AuthError::Timeout(_)), "{error}");

    let callback = param(&sign_in, "redirect_uri");
    let browsing = async {
        loop {
            let guess = format!("{callback}?code=x&state=guessed");
            if browser().get(guess).send().await.is_err() {
                return;
            }
        }
    };
    let error = tokio::select! {
        outcome = sign_in.wait(LIMIT) => outcome.unwrap_err(),
        () = browsing => panic!("it does not answer"),
    };
    assert!(error.to_string().contains("too many others"), "{error}");
}

/// Proves: C61.
#[tokio::test]
async fn a_redirect_uri_that_was_registered_is_used_as_it_is() {
    let realm = Realm::new().await;
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    let uri = format!("http://localhost:{port}/my/callback");
    let options = || realm.options().with_redirect_uri(uri.parse().unwrap());
    let taken = SignIn::begin(options(), None).await.err().unwrap();
    assert!(matches!(taken, AuthError::Listen { .. }), "{taken}");
    drop(free);
    let sign_in = SignIn::begin(options(), None).await.unwrap();
    assert_eq!(param(&sign_in, "redirect_uri"), uri);
    let back = realm.opened(sign_in.url().as_str()).await;
    assert!(back.starts_with(&uri), "{back}");
    let browsing = async { browser().get(back).send().await.unwrap().status() };
    let (status, page) = tokio::join!(sign_in.wait(LIMIT), browsing);
    assert!(status.unwrap().has_token);
    assert_eq!(page, 200);

    // One that leads elsewhere is not listened on; the answer is pasted.
    let elsewhere = "https://company.test/callback".parse().unwrap();
    let options = realm.options().with_redirect_uri(elsewhere);
    let sign_in = SignIn::begin(options, None).await.unwrap();
    assert!(!sign_in.is_listening());
    let back = realm.opened(sign_in.url().as_str()).await;
    sign_in.redirected(&back).await.unwrap();
    assert_eq!(realm.records().len(), 1);
    assert_ne!(realm.records()[0]["tokens"], Value::Null);
}
