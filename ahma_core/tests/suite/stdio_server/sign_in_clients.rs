//! As whom `ahma_mcp` makes itself known to an authorization server: by what its owner has written into the entry.

use std::fs;

use ahma_tests::{Workspace, repository, until};
use serde_json::{Value, json};

use super::behind::names;
use super::sign_in_world::{World, is_secret_free, walk};

/// Where somebody would host the document.
const DOCUMENT: &str = "https://client.example/ahma_mcp.json";

/// A secret that has to be encoded on its way.
const SECRET: &str = "s3cret-by:hand/+%";

/// A world with a client that was registered by hand, and whose tokens have to be renewed soon.
fn by_hand() -> World {
    let mut world = World::behaving(2, &[&format!("--by-hand=our-client:{SECRET}")]);
    world.variables.insert("NOTES_SECRET", SECRET.to_owned());
    world
}

/// Signs in and renews as that client, with the secret out of the variable.
fn signs_in_and_renews(world: &World) {
    let done = world.auth(&["login", "notes"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(
        is_secret_free(&done.stdout) && is_secret_free(&done.stderr),
        "{done:?}"
    );
    let signed_in = "authorize right notes:read our-client";
    assert_eq!(world.behind.count(signed_in), 1);
    let mut client = world.start();
    until(|| names(&mut client).contains(&"notes_echo".to_owned()));
    until(|| world.behind.count("token refresh_token our-client") >= 2);
    let echoed = client.call("notes_echo", &json!({ "text": "hello" }));
    assert!(!echoed.is_error, "{echoed:?}");
    assert_eq!(world.behind.count("register"), 0);
    client.close();
    for path in walk(&world.tokens()) {
        let kept = fs::read_to_string(&path).unwrap();
        assert!(!kept.contains(SECRET), "{kept}");
    }
}

/// Proves: C3, C62.
#[test]
fn a_client_that_was_registered_by_hand_signs_in_with_a_secret_from_a_variable() {
    let mut world = by_hand();
    let issuer = world.url.replace("/mcp", "");
    let oauth = json!({
        "client_id": "our-client", "client_secret": "${env:NOTES_SECRET}", "issuer": issuer
    });
    world.name(json!({ "oauth": oauth }));
    signs_in_and_renews(&world);
    // Without the variable, and with a wrong value.
    world.variables.remove("NOTES_SECRET");
    let refused = world.auth(&["login", "notes"]);
    let why = "client_secret: there is no value for `${env:NOTES_SECRET}`";
    assert!(
        refused.code == 1 && refused.stderr.contains(why),
        "{refused:?}"
    );
    let wrong = "s3cret-wrong".to_owned();
    world.variables.insert("NOTES_SECRET", wrong);
    let refused = world.auth(&["login", "notes"]);
    let why = "the token endpoint answered with the error `invalid_client`";
    assert!(
        refused.code == 1 && refused.stderr.contains(why),
        "{refused:?}"
    );
    assert!(is_secret_free(&refused.stderr), "{refused:?}");
}

/// Proves: C3, C62.
#[test]
fn a_client_of_atlassian_signs_in_with_the_fields_of_its_own() {
    let world = by_hand();
    world.name(json!({
        "atlassian_client_id": "our-client", "atlassian_client_secret": "${env:NOTES_SECRET}"
    }));
    signs_in_and_renews(&world);
}

/// Proves: C3, C62.
#[test]
fn a_client_of_another_authorization_server_is_not_used() {
    let world = by_hand();
    let oauth = json!({
        "client_id": "our-client", "client_secret": "${env:NOTES_SECRET}", "issuer": "https://as.elsewhere.test"
    });
    world.name(json!({ "oauth": oauth }));
    let refused = world.auth(&["login", "notes"]);
    let why = "the client id belongs to https://as.elsewhere.test, but the server sends to";
    assert!(
        refused.code == 1 && refused.stderr.contains(why),
        "{refused:?}"
    );
    assert_eq!(world.behind.count("authorize"), 0);
    assert_eq!(world.behind.count("token"), 0);
}

/// The document that we ship, with the address at which it is: what whoever hosts it changes.
fn hosted(place: &Workspace) -> String {
    let shipped = fs::read(repository().join("docs/client-metadata.json")).unwrap();
    let mut document: Value = serde_json::from_slice(&shipped).unwrap();
    document["client_id"] = json!(DOCUMENT);
    place.write("client.json", document.to_string());
    format!("--document={}", place.path().join("client.json").display())
}

/// Proves: C3, C62.
#[test]
fn the_shipped_document_makes_us_known_where_its_owner_hosts_it() {
    let place = Workspace::new();
    // With tokens that have to be renewed soon.
    let world = World::behaving(2, &[&hosted(&place)]);
    world.name(json!({ "oauth": { "client_metadata_url": DOCUMENT } }));
    world.login();
    let signed_in = format!("authorize right notes:read {DOCUMENT}");
    assert_eq!(world.behind.count(&signed_in), 1);
    let mut client = world.start();
    until(|| names(&mut client).contains(&"notes_echo".to_owned()));
    let renewed = format!("token refresh_token {DOCUMENT}");
    until(|| world.behind.count(&renewed) >= 2);
    let echoed = client.call("notes_echo", &json!({ "text": "hello" }));
    assert!(!echoed.is_error, "{echoed:?}");
    assert_eq!(world.behind.count("register"), 0);
}
