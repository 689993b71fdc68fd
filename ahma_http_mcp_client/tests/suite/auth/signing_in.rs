//! From a refusal to a conversation, and what is left on disk.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use ahma_http_mcp_client::auth::{AuthError, SignIn, TokenStore};
use ahma_http_mcp_client::{Client, ClientOptions, RequestError, UrlEntry};

use super::realm::{Realm, browser};

/// Proves: C61, C64.
#[tokio::test]
async fn somebody_who_was_refused_signs_in_with_a_browser_and_is_let_through() {
    let realm = Realm::new().await;
    let source = realm.source();
    let refused = realm.converse(&source).await.err().unwrap();
    let RequestError::Unauthorized { challenge } = refused else {
        panic!("{refused}");
    };

    let sign_in = SignIn::begin(realm.options(), challenge.as_deref())
        .await
        .unwrap();
    let asked = sign_in.url().clone();
    let param = |name: &str| {
        asked
            .query_pairs()
            .find(|it| it.0 == name)
            .unwrap()
            .1
            .into_owned()
    };
    assert_eq!(param("response_type"), "code");
    assert_eq!(param("code_challenge_method"), "S256");
    assert_eq!(param("resource"), realm.url());
    assert!(
        asked.query_pairs().all(|(name, _)| name != "scope"),
        "{asked}"
    );
    let redirect_uri = param("redirect_uri");
    assert!(
        redirect_uri.starts_with("http://127.0.0.1:"),
        "{redirect_uri}"
    );
    assert!(redirect_uri.ends_with("/callback"), "{redirect_uri}");

    let browsing = async {
        let back = realm.opened(asked.as_str()).await;
        browser()
            .get(back)
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
    };
    let waiting = sign_in.wait(Duration::from_secs(60));
    let (status, page) = tokio::join!(waiting, browsing);
    let status = status.unwrap();
    assert_eq!(
        (status.issuer, status.resource),
        (realm.base.clone(), realm.url())
    );
    assert!(status.has_token && status.is_renewable);
    assert!(page.contains("<h1>Signed in</h1>"), "{page}");

    // The source that was refused before knows of it.
    let client = realm.converse(&source).await.unwrap();
    assert!(client.tools().await.unwrap().items.is_empty());
    client.close().await;
    assert_eq!(realm.offences(), Vec::<String>::new());
    let exchanges = realm.token_requests("authorization_code");
    assert_eq!(exchanges[0].param("resource").unwrap(), realm.url());
}

/// Proves: C66.
#[tokio::test]
async fn a_record_can_be_read_by_its_owner_alone_and_forgotten() {
    let realm = Realm::new().await;
    std::fs::create_dir(realm.tokens()).unwrap();
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(realm.tokens(), open).unwrap();
    realm.sign_in().await.unwrap();
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&realm.tokens()), 0o700);
    let mut extensions = Vec::new();
    for entry in std::fs::read_dir(realm.tokens()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        extensions.push(path.extension().unwrap().to_owned());
    }
    extensions.sort();
    assert_eq!(extensions, ["json", "lock"]);
    let record = &realm.records()[0];
    assert_eq!(record["issuer"], realm.base);
    assert_eq!(record["resource"], realm.url());
    assert_eq!(
        record["metadata"]["token_endpoint"],
        format!("{}/token", realm.base)
    );
    let tokens = &record["tokens"];
    let life = tokens["expires_at"].as_u64().unwrap() - tokens["issued_at"].as_u64().unwrap();
    assert_eq!(life, 3600);

    let store = TokenStore::new(realm.tokens());
    assert!(store.status(&realm.url()).await.unwrap().unwrap().has_token);
    assert!(store.forget(&realm.url()).await.unwrap());
    assert!(!store.forget(&realm.url()).await.unwrap());
    assert_eq!(store.status(&realm.url()).await.unwrap(), None);
    assert!(realm.records().is_empty());
}

/// Proves: C67.
#[tokio::test]
async fn a_pasted_answer_of_another_sign_in_changes_nothing() {
    let realm = Realm::new().await;
    let other = SignIn::begin(realm.options(), None).await.unwrap();
    let of_other = realm.opened(other.url().as_str()).await;
    let sign_in = SignIn::begin(realm.options(), None).await.unwrap();
    let error = sign_in.redirected(&of_other).await.unwrap_err();
    assert!(matches!(error, AuthError::Redirect(_)), "{error}");
    assert!(realm.records().is_empty());
    let own = realm.opened(sign_in.url().as_str()).await;
    sign_in.redirected(&own).await.unwrap();
    let again = sign_in.redirected(&own).await.unwrap_err();
    assert!(matches!(again, AuthError::Over), "{again}");
    assert_eq!(realm.offences(), Vec::<String>::new());
}

/// Proves: C61.
#[tokio::test]
async fn without_somebody_who_gives_tokens_nothing_is_different() {
    let realm = Realm::new().await;
    realm.sign_in().await.unwrap();
    let entry = UrlEntry::new(realm.url(), Default::default());
    let refused = Client::at(&entry, ClientOptions::default())
        .await
        .err()
        .unwrap();
    assert!(
        matches!(refused, RequestError::Unauthorized { .. }),
        "{refused}"
    );
    let posts = realm.listener.asked_at("/mcp");
    assert!(posts.iter().all(|it| it.header("authorization").is_empty()));
}

/// Proves: C61.
#[tokio::test]
async fn a_server_without_any_metadata_is_asked_where_such_servers_listened() {
    let realm = Realm::new().await;
    realm.trick(|asked, _| match asked.path() {
        "/mcp" => Some(super::listener::Answer::new(401)),
        path if path.starts_with("/.well-known/") => Some(super::listener::Answer::new(404)),
        _ => None,
    });
    // Whoever has no name cannot give one.
    realm.rule(|rules| rules.iss = Some(serde_json::Value::Null));
    let status = realm.sign_in().await.unwrap();
    assert_eq!(status.issuer, realm.base);
    assert_eq!(realm.offences(), Vec::<String>::new());
}
