//! A token endpoint at another origin than its issuer, as large authorization servers have it.
//!
//! Which endpoints are refused is in `hostile.rs`.

use serde_json::json;

use super::listener::{Asked, Listener};
use super::realm::Realm;

fn endpoint_at(listener: &Listener) -> String {
    format!("http://{}/token", listener.address)
}

fn grants(listener: &Listener) -> Vec<String> {
    let grant = |it: &Asked| it.param("grant_type").unwrap();
    listener.asked_at("/token").iter().map(grant).collect()
}

/// Proves: C64.
#[tokio::test]
async fn a_token_endpoint_may_be_at_another_origin_than_its_issuer() {
    let realm = Realm::new().await;
    let tokens = realm.second_origin().await;
    let endpoint = endpoint_at(&tokens);
    realm.rule(|rules| rules.metadata = vec![("token_endpoint", json!(endpoint))]);
    let status = realm.sign_in().await.unwrap();
    assert_eq!(status.issuer, realm.base);
    assert_eq!(grants(&tokens), ["authorization_code"]);
    assert_eq!(grants(&realm.listener), [""; 0]);
    // The token is good where it was signed in to.
    realm.converse(&realm.source()).await.unwrap();
    assert_eq!(realm.offences(), Vec::<String>::new());
}

/// Proves: C64, C65.
#[tokio::test]
async fn a_renewal_goes_to_the_endpoint_of_the_sign_in_whatever_metadata_says_since() {
    let realm = Realm::new().await;
    let (tokens, nobody) = (realm.second_origin().await, Listener::nobody().await);
    let endpoint = endpoint_at(&tokens);
    realm.rule(|rules| {
        rules.metadata = vec![("token_endpoint", json!(endpoint))];
        // It is due at once.
        rules.life = 1;
    });
    realm.sign_in().await.unwrap();
    let elsewhere = endpoint_at(&nobody);
    realm.rule(|rules| rules.metadata = vec![("token_endpoint", json!(elsewhere))]);
    let renewed = realm.source().current().await.unwrap().unwrap();
    let given = realm.given.lock().unwrap().access.clone();
    assert_eq!(Some(renewed.reveal()), given.as_deref());
    assert_eq!(grants(&tokens), ["authorization_code", "refresh_token"]);
    assert_eq!(grants(&realm.listener), [""; 0]);
    assert_eq!(nobody.connections(), 0);
    // Whoever signs in anew is told of the other one.
    realm.sign_in().await.unwrap_err();
    assert_eq!(grants(&nobody), ["authorization_code"]);
}
