//! Other MCP servers behind one that is reached over HTTP.

use std::path::Path;

use ahma_tests::Workspace;
use ahma_tests::http::{Client, Request, initialize};
use ahma_tests::http_process::HttpProcess;
use ahma_tests::mcp::CallResult;
use serde_json::{Value, json};

use super::AHMA_MCP;

/// What the tool `odd` of the server answers, without its `_meta`. Only the spelling of an exponent may be another one.
const ODD: &str = concat!(
    r#"{"content":[{"type":"text","text":"odd","vendor":{"b":1,"a":2}},{"type":"newkind","x":[]}],"#,
    r#""vendorTop":1.10,"huge":12345678901234567890123,"exp":1e+5,"tools":[],"structuredContent":{"z":0.10000000000000000555,"a":null}}"#
);

/// A server of ours, with one behind it that is told to behave so.
fn serve(project: &Workspace, place: &Workspace, options: &[&str]) -> HttpProcess {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/upstream/server.py");
    let script = script.canonicalize().unwrap();
    let args = [&[script.to_str().unwrap()], options].concat();
    let server = json!({ "command": "python3", "args": args });
    let servers = json!({ "servers": { "up": server } });
    place.write("mcp.json", servers.to_string());
    let config = place.path().join("mcp.json");
    let scope = project.path().to_str().unwrap();
    let config = config.to_str().unwrap();
    let arguments = ["--sandbox-scope", scope, "--mcp-config", config];
    HttpProcess::start(AHMA_MCP, &arguments, project.path())
}

/// Proves: C10, C27, C55.
#[test]
fn results_of_other_servers_pass_whole_in_both_lifecycles() {
    let (project, place) = (Workspace::new(), Workspace::new());
    let process = serve(&project, &place, &[]);
    for (client, is_stateless) in [(process.connect(), false), (process.stateless(), true)] {
        let expected = |text: &str| match is_stateless {
            true => format!(
                r#"{},"resultType":"complete"}}"#,
                text.strip_suffix('}').unwrap()
            ),
            false => text.to_owned(),
        };
        let odd = json!({ "name": "up_odd", "arguments": {} });
        for accepts in ["application/json, text/event-stream", "application/json"] {
            let request = client.message(&json!(7), "tools/call", &odd);
            let request = request.without("accept").header("accept", accepts);
            let answer = request.send(process.address).answer();
            assert_eq!(answer["id"], 7, "{answer}");
            let mut result = answer["result"].as_object().unwrap().clone();
            let meta = result.shift_remove("_meta").unwrap();
            assert_eq!(
                Value::Object(result).to_string(),
                expected(ODD),
                "{accepts}"
            );
            assert_eq!(meta["ahma/operation"]["state"], "completed");
        }
        let tools = result(&client, "tools/list", &json!({}));
        let tools = tools["tools"].as_array().unwrap().iter();
        let echo = tools.clone().find(|it| it["name"] == "up_echo").unwrap();
        assert_eq!(echo["vendorField"], json!({ "kept": 1 }));
        let wanted = json!({ "name": "up_greet", "arguments": { "who": "Ada" } });
        let got = result(&client, "prompts/get", &wanted).to_string();
        let whole = r#"{"messages":[{"role":"user","content":{"type":"text","text":"Hello Ada"}}],"vendor":1.10}"#;
        assert_eq!(got, expected(whole));
        // One of ours is as it was.
        let own = client.call("status", &json!({}));
        assert!(!own.is_error, "{own:?}");
    }
    // For people with curl.
    let listed = |path: &str| {
        let token = format!("Bearer {}", process.token.as_ref().unwrap());
        let request = Request::new("GET", path).header("authorization", &token);
        request.send(process.address).json()
    };
    let arguments = json!([{ "name": "who" }]);
    let greet = json!({ "name": "up_greet", "description": "Greets", "arguments": arguments });
    assert_eq!(listed("/prompts"), json!({ "prompts": [greet] }));
    let note = json!({ "uri": "test://note", "name": "note" });
    assert_eq!(listed("/resources"), json!({ "resources": [note] }));
}

fn result(client: &Client, method: &str, params: &Value) -> Value {
    let answer = client.request(method, params);
    answer["result"].clone()
}

/// Proves: C37.
#[test]
fn a_question_of_a_server_comes_with_the_answer_to_the_call() {
    let (project, place) = (Workspace::new(), Workspace::new());
    let process = serve(&project, &place, &["--asks", "--revision=legacy"]);
    let mut first = initialize("2025-11-25");
    first["params"]["capabilities"] = json!({ "elicitation": {} });
    let client = process.stateless().connected(&first);
    // It listens to nothing else.
    let mut stream = client.calling("up_ask", &json!({})).open(client.address);
    let question = stream.message("elicitation/create");
    let given = json!({ "action": "accept", "content": { "name": "Ada" } });
    client.answer(&question["id"], &given);
    let result = CallResult::of(&stream.rest().answer());
    let heard: Value = serde_json::from_str(&result.text).unwrap();
    assert_eq!(heard, given);
}
