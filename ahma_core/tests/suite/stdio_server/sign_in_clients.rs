//! As whom `ahma_mcp` makes itself known to an authorization server: by what its owner has written into the entry.

use std::fs;

use ahma_tests::{Workspace, repository, until};
use serde_json::{Value, json};

use super::behind::names;
use super::sign_in_world::World;

/// Where somebody would host the document.
const DOCUMENT: &str = "https://client.example/ahma_mcp.json";

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
