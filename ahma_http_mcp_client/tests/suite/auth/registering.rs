//! How a client becomes known: by hand, by a document, by asking; in this order.

use ahma_http_mcp_client::Secret;
use ahma_http_mcp_client::auth::{AuthError, AuthOptions, RegisteredClient, SignIn};
use serde_json::{Value, json};

use super::realm::Realm;

const DOCUMENT: &str = "https://client.test/about.json";

fn by_hand(options: AuthOptions, issuer: Option<String>) -> AuthOptions {
    options.with_client(RegisteredClient {
        id: "by-hand".to_owned(),
        secret: Some(Secret::new("s3cret-by-hand")),
        issuer,
    })
}

fn client_of(realm: &Realm) -> Value {
    realm.records()[0]["client"].clone()
}

/// Proves: C62.
#[tokio::test]
async fn by_hand_comes_before_a_document_and_a_document_before_asking() {
    let realm = Realm::new().await;
    let with_document = || {
        realm
            .options()
            .with_client_metadata_url(DOCUMENT.parse().unwrap())
    };
    realm.rule(|rules| {
        rules.metadata = vec![("client_id_metadata_document_supported", json!(true))];
    });
    realm
        .sign_in_with(by_hand(with_document(), None), None)
        .await
        .unwrap();
    assert_eq!(
        client_of(&realm),
        json!({ "id": "by-hand", "registration": "by_hand" })
    );
    let header = realm.token_requests("authorization_code")[0]
        .header("authorization")
        .to_owned();
    assert_eq!(header, "Basic YnktaGFuZDpzM2NyZXQtYnktaGFuZA==");

    realm.sign_in_with(with_document(), None).await.unwrap();
    assert_eq!(
        client_of(&realm),
        json!({ "id": DOCUMENT, "registration": "metadata_document" })
    );
    assert!(realm.listener.asked_at("/register").is_empty());

    // A server that does not read such documents is asked.
    realm.rule(|rules| rules.metadata.clear());
    realm.sign_in_with(with_document(), None).await.unwrap();
    assert_eq!(
        client_of(&realm),
        json!({ "id": "registered-1", "registration": "dynamic" })
    );
    let asked: Value = serde_json::from_str(&realm.listener.asked_at("/register")[0].body).unwrap();
    assert_eq!(asked["token_endpoint_auth_method"], "none");
    assert_eq!(asked["client_name"], "ahma_mcp");
    assert_eq!(realm.offences(), Vec::<String>::new());
}

/// Proves: C62.
#[tokio::test]
async fn the_shipped_document_says_of_us_what_a_registration_says() {
    let realm = Realm::new().await;
    realm.sign_in().await.unwrap();
    let asked = realm.listener.asked_at("/register");
    let mut registration: Value = serde_json::from_str(&asked[0].body).unwrap();
    let uri = registration["redirect_uris"][0].as_str().unwrap();
    let mut uri: reqwest::Url = uri.parse().unwrap();
    // It is another one each time, which authorization servers have to allow on this machine.
    uri.set_port(None).unwrap();
    registration["redirect_uris"] = json!([uri]);
    registration["client_id"] = json!("https://example.com/ahma_mcp/client-metadata.json");
    let shipped = ahma_tests::repository().join("docs/client-metadata.json");
    let shipped: Value = serde_json::from_slice(&std::fs::read(shipped).unwrap()).unwrap();
    assert_eq!(shipped, registration);
}

/// Proves: C62.
#[tokio::test]
async fn a_client_that_was_registered_elsewhere_is_not_mentioned() {
    let realm = Realm::new().await;
    let elsewhere = Some("https://as.elsewhere.test".to_owned());
    let error = realm
        .sign_in_with(by_hand(realm.options(), elsewhere), None)
        .await
        .unwrap_err();
    assert!(matches!(error, AuthError::OtherIssuer { .. }), "{error}");
    let asked = realm.listener.asked();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|it| !it.whole().contains("by-hand")));
    let here = Some(realm.base.clone());
    realm
        .sign_in_with(by_hand(realm.options(), here), None)
        .await
        .unwrap();
}

/// Proves: C62.
#[tokio::test]
async fn a_server_that_was_taken_over_does_not_get_a_registered_client_elsewhere() {
    let (realm, evil) = (Realm::new().await, Realm::new().await);
    realm
        .sign_in_with(by_hand(realm.options(), None), None)
        .await
        .unwrap();
    let servers = json!([evil.base]);
    realm.rule(|rules| rules.resource_metadata = vec![("authorization_servers", servers)]);
    let error = realm
        .sign_in_with(by_hand(realm.options(), None), None)
        .await
        .unwrap_err();
    assert!(matches!(error, AuthError::OtherIssuer { .. }), "{error}");
    let asked = evil.listener.asked();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|it| !it.whole().contains("by-hand")));
    // Somebody who means it forgets the earlier one.
    let store = ahma_http_mcp_client::auth::TokenStore::new(realm.tokens());
    assert!(store.forget(&realm.url()).await.unwrap());
    let sign_in = SignIn::begin(by_hand(realm.options(), None), None).await;
    assert!(sign_in.unwrap().url().as_str().starts_with(&evil.base));
}

/// Proves: C62.
#[tokio::test]
async fn a_secret_that_came_with_a_registration_is_kept_for_renewals() {
    let realm = Realm::new().await;
    realm.rule(|rules| rules.life = 1);
    realm.trick(|asked, _| {
        let client =
            json!({ "client_id": "confidential", "client_secret": "given", "redirect_uris": [] });
        (asked.path() == "/register").then(|| super::listener::Answer::json(&client))
    });
    realm.sign_in().await.unwrap();
    assert_eq!(client_of(&realm)["secret"], "given");
    assert!(realm.source().current().await.unwrap().is_some());
    let header = realm.token_requests("refresh_token")[0]
        .header("authorization")
        .to_owned();
    assert_eq!(header, "Basic Y29uZmlkZW50aWFsOmdpdmVu");
}

/// Proves: C62.
#[tokio::test]
async fn a_secret_of_the_configuration_is_used_for_renewals_and_never_stored() {
    let realm = Realm::new().await;
    realm.rule(|rules| {
        rules.life = 1;
        rules.metadata = vec![(
            "token_endpoint_auth_methods_supported",
            json!(["client_secret_post"]),
        )];
    });
    let options = by_hand(realm.options(), None);
    realm.sign_in_with(options.clone(), None).await.unwrap();
    assert!(!realm.records()[0].to_string().contains("s3cret-by-hand"));
    let source = ahma_http_mcp_client::auth::TokenSource::new(options);
    assert!(source.current().await.unwrap().is_some());
    let renewal = &realm.token_requests("refresh_token")[0];
    assert_eq!(renewal.param("client_secret").unwrap(), "s3cret-by-hand");
    assert!(!realm.records()[0].to_string().contains("s3cret-by-hand"));
    // Somebody else's sign-in is not used.
    assert!(realm.source().current().await.unwrap().is_none());
}
