//! Which scopes are asked for: never all that there are.

use ahma_http_mcp_client::RequestError;
use ahma_http_mcp_client::auth::{AuthError, SignIn};
use serde_json::json;

use super::listener::Answer;
use super::realm::Realm;

async fn asked_for(realm: &Realm, challenge: Option<&str>) -> Option<String> {
    let sign_in = SignIn::begin(realm.options(), challenge).await.unwrap();
    let mut pairs = sign_in.url().query_pairs();
    pairs.find(|it| it.0 == "scope").map(|it| it.1.into_owned())
}

/// Proves: C62.
#[tokio::test]
async fn scopes_come_from_the_challenge_else_from_the_resource_else_from_nowhere() {
    let realm = Realm::new().await;
    assert_eq!(asked_for(&realm, None).await, None);
    realm.rule(|rules| {
        rules.resource_metadata = vec![("scopes_supported", json!(["read", "write"]))];
    });
    assert_eq!(asked_for(&realm, None).await.as_deref(), Some("read write"));
    let challenge = Some(r#"Bearer scope="read""#);
    assert_eq!(asked_for(&realm, challenge).await.as_deref(), Some("read"));
    // Without it, some servers give no refresh token.
    realm.rule(|rules| rules.metadata = vec![("scopes_supported", json!(["x", "offline_access"]))]);
    let with_offline = asked_for(&realm, challenge).await;
    assert_eq!(with_offline.as_deref(), Some("read offline_access"));
}

/// Proves: C62.
#[tokio::test]
async fn a_server_that_wants_more_is_asked_for_both_and_not_for_what_it_has_granted() {
    let realm = Realm::new().await;
    let first = Some(r#"Bearer scope="read""#);
    realm.sign_in_with(realm.options(), first).await.unwrap();
    let more = Some(r#"Bearer error="insufficient_scope", scope="write""#);
    assert_eq!(asked_for(&realm, more).await.as_deref(), Some("read write"));
    let status = realm.sign_in_with(realm.options(), more).await.unwrap();
    assert_eq!(status.scopes, ["read", "write"]);
    let error = SignIn::begin(realm.options(), more).await.err().unwrap();
    assert!(matches!(error, AuthError::Granted(_)), "{error}");
}

/// Proves: C62.
#[tokio::test]
async fn only_a_403_that_lacks_a_scope_asks_somebody_to_sign_in() {
    let realm = Realm::new().await;
    realm.sign_in().await.unwrap();
    let client = realm.converse(&realm.source()).await.unwrap();
    let refused = async |challenge: Option<&'static str>| {
        realm.trick(move |asked, _| {
            let answer = Answer::new(403).body("not from here");
            let answer = match challenge {
                Some(challenge) => answer.with("www-authenticate", challenge),
                None => answer,
            };
            (asked.path() == "/mcp").then_some(answer)
        });
        client.tools().await.unwrap_err()
    };
    let before = realm.listener.asked().len();
    for challenge in [
        None,
        Some("Bearer"),
        Some(r#"Bearer scope="write""#),
        Some(r#"Bearer error="invalid_token", error_description="insufficient_scope""#),
    ] {
        let error = refused(challenge).await;
        assert!(
            matches!(&error, RequestError::Forbidden(said) if said == "\"not from here\""),
            "{challenge:?}: {error}"
        );
    }
    // Each was sent once, and nothing was renewed.
    assert_eq!(realm.listener.asked().len(), before + 4);
    let error = refused(Some(r#"Bearer error="insufficient_scope""#)).await;
    assert!(
        matches!(error, RequestError::Unauthorized { .. }),
        "{error}"
    );
}
