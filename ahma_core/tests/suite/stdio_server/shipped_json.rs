//! Shipped tools whose programs write JSON: it is the structured result.

use ahma_tests::Workspace;
use serde_json::json;

use super::Served;

fn manifest(name: &str, more: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}")
}

/// Proves: T57.
#[test]
fn what_cargo_tells_of_a_project_is_a_structured_result() {
    let project = Workspace::new();
    let needs = "[dependencies]\nkettle = { path = \"kettle\" }\n";
    project.write("Cargo.toml", manifest("tea", needs));
    project.write("src/main.rs", "fn main() {}\n");
    project.write("kettle/Cargo.toml", manifest("kettle", ""));
    project.write("kettle/src/lib.rs", "");
    let mut served = Served::of(project, &[]);
    let result = served
        .client
        .call("cargo_metadata", &json!({ "offline": true }));
    assert!(!result.is_error, "{result:?}");
    let packages = result.structured["packages"].as_array().unwrap();
    assert_eq!(packages.len(), 1, "without dependencies: {result:?}");
    assert_eq!(packages[0]["name"], "tea");
    assert_eq!(packages[0]["targets"][0]["kind"], json!(["bin"]));
    let all = json!({ "offline": true, "no-deps": false });
    let result = served.client.call("cargo_metadata", &all);
    let packages = result.structured["packages"].as_array().unwrap();
    let mut names: Vec<_> = packages.iter().map(|it| &it["name"]).collect();
    names.sort_by_key(|it| it.as_str());
    assert_eq!(names, ["kettle", "tea"]);
    // What cargo complains of is told, and nothing structured with it.
    served.project.write("Cargo.toml", "[package]\n");
    let failed = served
        .client
        .call("cargo_metadata", &json!({ "offline": true }));
    assert!(failed.is_error, "{failed:?}");
    assert!(
        failed.text.contains("failed to parse manifest"),
        "{failed:?}"
    );
    assert!(failed.structured.is_null(), "{failed:?}");
}
