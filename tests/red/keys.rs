//! Keys that stand where every command can read them.

use ahma_tests::Workspace;
use ahma_tests::http_process::HttpProcess;
use ahma_tests::served::ahma_mcp;
use ahma_tests::served::over_http::Served;
use ahma_tests::until;
use serde_json::json;

/// Proves: H23.
#[test]
fn the_owner_is_warned_of_a_key_in_a_file_of_the_project() {
    let project = Workspace::new();
    let variables = [("AHMA_HTTP_TOKEN", "0123456789abcdef0123")];
    let entry = json!({ "mcpServers": { "Ahama": { "url": "http://127.0.0.1:4242/mcp?key=0123456789abcdef0123" } } });
    project.write(".cursor/mcp.json", entry.to_string());
    let mut process = HttpProcess::start_with(&ahma_mcp(), &[], project.path(), &variables);
    until(|| {
        process
            .stderr()
            .contains(".cursor/mcp.json, where every command can read it")
    });
    let told = process
        .connect()
        .call("get_server_info", &json!({}))
        .structured;
    let warnings = told["sandbox"]["warnings"].to_string();
    assert!(
        warnings.contains("a key of this server stands in"),
        "{warnings}"
    );
    assert!(
        !warnings.contains("0123456789abcdef"),
        "and not told itself: {warnings}"
    );
    let mut other = Served::new();
    other.connect().sync("true");
    assert!(!other.process.stderr().contains("a key of this server"));
}
