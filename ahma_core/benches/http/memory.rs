//! What sessions and large outputs take.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use ahma_tests::http::{Client, Connection};
use ahma_tests::http_process::HttpProcess;
use serde_json::{Value, json};

use super::ahma;

const SESSIONS: usize = 400;
const REST: Duration = Duration::from_millis(500);
const LINES: usize = 2_700_000;

pub(crate) fn measure(scope: &Path, arguments: &[&str]) {
    sessions("one tool file", &ahma(scope, arguments));
    sessions("the shipped tools", &ahma(scope, &[]));
    output(&ahma(scope, &[]));
}

/// A session that has listed its tools, with the connection it did so on.
fn open(served: &HttpProcess) -> (Client, Connection) {
    let client = served.connect();
    let list = client.message(&json!(1), "tools/list", &json!({}));
    let (reply, connection) = Connection::to(client.address).request(&list);
    assert_eq!(reply.status, 200);
    (client, connection)
}

fn sessions(name: &str, served: &HttpProcess) {
    let first: Vec<_> = (0..20).map(|_| open(served)).collect();
    sleep(REST);
    let before = kb(served, "VmRSS:");
    let more: Vec<_> = (0..SESSIONS).map(|_| open(served)).collect();
    sleep(REST);
    let grown = kb(served, "VmRSS:").saturating_sub(before);
    println!(
        "an open session with its connection, {name}: {:.1} KiB resident",
        grown as f64 / SESSIONS as f64
    );
    drop((first, more));
}

/// 20 MB of output, read page by page.
fn output(served: &HttpProcess) {
    let client = served.connect();
    client.sync("seq 1 1000");
    sleep(REST);
    let before = kb(served, "VmRSS:");
    let result = client.sync(&format!("seq 1 {LINES}"));
    let bytes = result.record["output_bytes"].as_u64().unwrap();
    let mut read = 0;
    while read < bytes {
        let page = json!({ "operation_id": result.operation_id(), "offset": read });
        let text = client.call("read_output", &page).text;
        let (page, _) = text.rsplit_once("\n[bytes ").unwrap();
        read += page.len() as u64;
    }
    let grown = kb(served, "VmHWM:").saturating_sub(before);
    println!(
        "{bytes} bytes of output, read to the end: {:.1} MiB at most more than before",
        grown as f64 / 1024.0
    );
    assert_eq!(
        client.call("status", &json!({})).structured["operations"][0]["output_bytes"],
        Value::from(bytes)
    );
}

fn kb(served: &HttpProcess, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", served.pid())).unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
