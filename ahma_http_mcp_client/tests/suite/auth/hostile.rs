//! Servers that want a client to open, ask or tell what it should not.

use std::time::Duration;

use ahma_http_mcp_client::auth::{AuthError, SignIn};
use serde_json::{Value, json};

use super::listener::{Answer, Listener};
use super::realm::Realm;

/// A server that everybody can reach, as far as its name says. Only what it asks itself reaches this machine.
async fn public() -> Realm {
    Realm::named(
        "mcp.public.test",
        &[
            ("mcp.public.test", "127.0.0.1"),
            ("as.public.test", "93.184.216.34"),
            ("mixed.public.test", "93.184.216.34"),
            ("mixed.public.test", "10.0.0.7"),
            ("private.test", "10.0.0.7"),
            ("internal.test", "127.0.0.1"),
            ("cloud.test", "169.254.169.254"),
        ],
    )
    .await
}

async fn refused(realm: &Realm) -> AuthError {
    SignIn::begin(realm.options(), None).await.err().unwrap()
}

/// URLs that nobody may open or ask on behalf of a public server, and why.
fn forbidden(internal: &Listener) -> Vec<(String, &'static str)> {
    let port = internal.address.port();
    let mut forbidden = vec![
        (format!("http://127.0.0.1:{port}/x"), "on this machine"),
        (format!("http://internal.test:{port}/x"), "on this machine"),
        (
            format!("http://[::ffff:127.0.0.1]:{port}/x"),
            "on this machine",
        ),
    ];
    for (url, why) in [
        ("file:///etc/passwd", "neither http nor https"),
        ("a:$(calc)", "neither http nor https"),
        ("javascript:alert(1)", "neither http nor https"),
        ("https://10.0.0.7/x", "in a private network"),
        ("https://private.test/x", "in a private network"),
        ("https://mixed.public.test/x", "in a private network"),
        ("https://cloud.test/x", "that nobody may name"),
        (
            "http://169.254.169.254/latest/meta-data",
            "that nobody may name",
        ),
        ("https://[fd00:ec2::254]/x", "that nobody may name"),
        ("http://as.public.test/x", "not https"),
        ("https://me:pw@as.public.test/x", "a user name"),
    ] {
        forbidden.push((url.to_owned(), why));
    }
    forbidden
}

/// Proves: C63.
#[tokio::test]
async fn endpoints_that_must_not_be_opened_or_asked_are_not() {
    let (realm, internal) = (public().await, Listener::nobody().await);
    for endpoint in [
        "authorization_endpoint",
        "token_endpoint",
        "registration_endpoint",
    ] {
        for (url, why) in forbidden(&internal) {
            realm.rule(|rules| rules.metadata = vec![(endpoint, json!(url))]);
            let error = refused(&realm).await;
            let text = error.to_string();
            assert!(
                matches!(error, AuthError::Url { .. }),
                "{endpoint} {url}: {text}"
            );
            assert!(text.contains(why), "{endpoint} {url}: {text}");
            assert!(!text.contains("pw@"), "{text}");
        }
    }
    assert_eq!(internal.connections(), 0);
    // Everything else is as it should be.
    realm.rule(|rules| rules.metadata.clear());
    realm.sign_in().await.unwrap();
}

/// Proves: C63.
#[tokio::test]
async fn metadata_is_not_fetched_from_where_a_public_server_has_no_business() {
    let (realm, internal) = (public().await, Listener::nobody().await);
    for (url, _) in forbidden(&internal) {
        realm.rule(|rules| rules.resource_metadata = vec![("authorization_servers", json!([url]))]);
        refused(&realm).await;
        let challenge = format!("Bearer resource_metadata=\"{url}\"");
        let begun = SignIn::begin(realm.options(), Some(&challenge)).await;
        assert!(begun.is_err(), "{url}");
    }
    assert_eq!(internal.connections(), 0);
    // A server on this machine may name another one there.
    let (local, other) = (Realm::new().await, Realm::new().await);
    local.rule(|rules| {
        rules.resource_metadata = vec![("authorization_servers", json!([other.base]))];
    });
    let sign_in = SignIn::begin(local.options(), None).await.unwrap();
    assert!(sign_in.url().as_str().starts_with(&other.base));
}

/// Proves: C63.
#[tokio::test]
async fn redirects_are_not_followed_to_another_origin() {
    let (realm, internal) = (Realm::new().await, Listener::nobody().await);
    let well_known = "/.well-known/oauth-authorization-server";
    let resource = "/.well-known/oauth-protected-resource/mcp";
    for location in [
        format!("http://{}/x", internal.address),
        // As where clouds keep keys, nobody may name it. Who followed it all the same would reach this machine, and be noticed.
        format!(
            "http://0.0.0.0:{}/latest/meta-data",
            internal.address.port()
        ),
        "file:///etc/passwd".to_owned(),
    ] {
        for (path, status) in [
            (well_known, 302),
            (resource, 307),
            ("/register", 307),
            ("/token", 307),
            ("/token", 308),
        ] {
            let to = location.clone();
            realm.trick(move |asked, _| {
                (asked.path() == path).then(|| Answer::redirect(status, to.clone()))
            });
            let error = realm.sign_in().await.unwrap_err();
            let is_right = match path {
                "/register" => matches!(error, AuthError::Registration { .. }),
                "/token" => matches!(error, AuthError::Transient(_)),
                _ => matches!(error, AuthError::Discovery { .. }),
            };
            assert!(is_right, "{path} {location}: {error:?}");
        }
    }
    assert_eq!(internal.connections(), 0);
    assert!(realm.records().is_empty());
    // Within its own origin a server may move things.
    realm.trick(move |asked, base| {
        (asked.path() == well_known && !asked.target.contains('?'))
            .then(|| Answer::redirect(302, format!("{base}{well_known}?moved")))
    });
    realm.sign_in().await.unwrap();
}

/// Proves: C64.
#[tokio::test]
async fn an_answer_of_somebody_else_gets_no_code() {
    let realm = Realm::new().await;
    let must_say = (
        "authorization_response_iss_parameter_supported",
        json!(true),
    );
    for (iss, metadata) in [
        (json!("https://mix-up.test"), vec![]),
        (json!(format!("{}/", realm.base)), vec![]),
        (Value::Null, vec![must_say]),
    ] {
        realm.rule(|rules| {
            rules.iss = Some(iss.clone());
            rules.metadata = metadata;
        });
        let error = realm.sign_in().await.unwrap_err();
        assert!(matches!(error, AuthError::Issuer { .. }), "{iss}: {error}");
    }
    assert!(realm.listener.asked_at("/token").is_empty());
    // A server that does not promise it may leave it out.
    realm.rule(|rules| {
        rules.iss = Some(Value::Null);
        rules.metadata.clear();
    });
    realm.sign_in().await.unwrap();
}

/// Proves: C64.
#[tokio::test]
async fn metadata_of_somebody_else_and_resources_of_somebody_else_are_not_used() {
    let realm = Realm::new().await;
    for (metadata, resource_metadata) in [
        (("issuer", json!("https://mix-up.test")), None),
        (("issuer", Value::Null), None),
        (("code_challenge_methods_supported", json!(["plain"])), None),
        (("code_challenge_methods_supported", Value::Null), None),
        (
            ("x", Value::Null),
            Some(("resource", json!("https://other.test/mcp"))),
        ),
        (
            ("x", Value::Null),
            Some(("resource", json!(format!("{}/mcp/else", realm.base)))),
        ),
    ] {
        realm.rule(|rules| {
            rules.metadata = vec![metadata.clone()];
            rules.resource_metadata = resource_metadata.clone().into_iter().collect();
        });
        let challenge = format!(
            "Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"",
            realm.base
        );
        let begun = SignIn::begin(realm.options(), Some(&challenge)).await;
        let error = begun
            .err()
            .unwrap_or_else(|| panic!("{metadata:?} {resource_metadata:?}"));
        assert!(matches!(error, AuthError::Discovery { .. }), "{error}");
    }
    assert!(realm.listener.asked_at("/register").is_empty());
}

/// Proves: C63.
#[tokio::test]
async fn an_answer_that_is_too_long_is_not_read() {
    let realm = Realm::new().await;
    let long = |length: usize| vec![("padding", json!("x".repeat(length)))];
    realm.rule(|rules| rules.metadata = long(300 * 1024));
    let error = refused(&realm).await.to_string();
    assert!(error.contains("longer than 256 KiB"), "{error}");
    realm.rule(|rules| rules.metadata = long(200 * 1024));
    realm.sign_in().await.unwrap();
}

/// Proves: C63.
#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let realm = Realm::new().await;
    realm.trick(|asked, _| {
        asked
            .path()
            .contains("oauth-authorization-server")
            .then(Answer::never)
    });
    let limit = Duration::from_secs(120);
    let error = tokio::time::timeout(limit, refused(&realm))
        .await
        .unwrap()
        .to_string();
    assert!(error.contains("took longer than 10 s"), "{error}");
}
