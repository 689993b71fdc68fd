//! Where tokens, codes and secrets must not turn up.

use std::time::Duration;

use ahma_http_mcp_client::auth::{AuthOptions, SignIn, TokenSource, TokenStore};
use ahma_http_mcp_client::{Client, ClientOptions, RequestError, UrlEntry};
use serde_json::json;
use std::sync::Arc;

use super::listener::{Answer, Listener};
use super::realm::{Realm, browser};

/// Proves: C68.
#[tokio::test]
async fn a_token_for_one_server_never_reaches_another() {
    let (a, b) = (Realm::new().await, Realm::new().await);
    a.sign_in().await.unwrap();
    // The same store is used for both.
    let options = AuthOptions::new(&b.url(), TokenStore::new(a.tokens())).unwrap();
    let for_b = Arc::new(TokenSource::new(options.clone()));
    let refused = b.converse(&for_b).await.err().unwrap();
    assert!(
        matches!(refused, RequestError::Unauthorized { .. }),
        "{refused}"
    );
    b.sign_in_with(options, None).await.unwrap();
    b.converse(&for_b).await.unwrap().close().await;

    // The first one sends its requests on to the second one.
    let for_a = a.source();
    let client = a.converse(&for_a).await.unwrap();
    let target = b.url();
    a.trick(move |asked, _| {
        (asked.path() == "/mcp").then(|| Answer::redirect(307, target.clone()))
    });
    let before = b.listener.asked().len();
    client.tools().await.unwrap_err();
    assert_eq!(b.listener.asked().len(), before);

    // And says that it is the second one.
    let resource = b.url();
    a.rule(|rules| {
        rules.trick = None;
        rules.resource_metadata = vec![("resource", json!(resource))];
    });
    let challenge = format!(
        "Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"",
        a.base
    );
    a.sign_in_with(a.options(), Some(&challenge))
        .await
        .unwrap_err();

    let (of_a, of_b) = (
        a.given.lock().unwrap().secrets.clone(),
        b.given.lock().unwrap().secrets.clone(),
    );
    assert!(of_a.len() >= 4 && of_b.len() >= 4);
    for (listener, secrets) in [(&b.listener, of_a), (&a.listener, of_b)] {
        for asked in listener.asked() {
            let whole = asked.whole();
            assert!(secrets.iter().all(|it| !whole.contains(it)), "{whole}");
        }
    }
    let seen = b.listener.asked_at("/mcp");
    let tokens = seen
        .iter()
        .filter(|it| !it.header("authorization").is_empty());
    assert!(tokens.count() > 0);
}

/// Proves: C68.
#[tokio::test]
async fn no_token_is_sent_where_others_can_read_it() {
    let realm = Realm::new().await;
    let source = realm.source();
    let entry = UrlEntry::new("http://mcp.public.test/mcp", Default::default());
    let error = Client::at(&entry.authorized_by(source), ClientOptions::default()).await;
    let error = error.err().unwrap().to_string();
    assert!(error.contains("over https only"), "{error}");
}

/// Proves: C68.
#[tokio::test]
async fn what_a_token_endpoint_repeats_is_not_shown() {
    let realm = Realm::new().await;
    realm.trick(|asked, _| {
        let body = json!({ "error": "invalid_client", "error_description": asked.body, "error_uri": asked.body });
        (asked.path() == "/token").then(|| Answer::json(&body).status(401))
    });
    let sign_in = SignIn::begin(realm.options(), None).await.unwrap();
    let browsing = async {
        let back = realm.opened(sign_in.url().as_str()).await;
        browser()
            .get(back)
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
    };
    let (outcome, page) = tokio::join!(sign_in.wait(Duration::from_secs(60)), browsing);
    let error = outcome.unwrap_err();
    let texts = [
        error.to_string(),
        format!("{error:?}"),
        error.hint().to_owned(),
        page,
    ];
    assert!(texts[0].contains("`invalid_client`"), "{}", texts[0]);
    // It heard code and verifier; it has made nothing itself but the code.
    let asked = &realm.listener.asked_at("/token")[0];
    for secret in ["code", "code_verifier"].map(|it| asked.param(it).unwrap()) {
        assert!(texts.iter().all(|it| !it.contains(&secret)), "{texts:?}");
    }
}

/// Proves: C68.
#[tokio::test]
async fn a_key_in_a_servers_url_stays_there() {
    let realm = Realm::new().await;
    let url = format!("{}?key=s3cret-key", realm.url());
    let options = AuthOptions::new(&url, TokenStore::new(realm.tokens())).unwrap();
    realm.sign_in_with(options, None).await.unwrap();
    assert!(
        realm
            .listener
            .asked()
            .iter()
            .all(|it| !it.whole().contains("s3cret-key"))
    );
    assert!(!realm.records()[0].to_string().contains("s3cret-key"));
    let nobody = Listener::nobody().await;
    let url = format!("http://{}/mcp?key=s3cret-key", nobody.address);
    let options = AuthOptions::new(&url, TokenStore::new(realm.tokens())).unwrap();
    let error = SignIn::begin(options, None).await.err().unwrap();
    assert!(
        !format!("{error} {error:?}").contains("s3cret-key"),
        "{error}"
    );
}
