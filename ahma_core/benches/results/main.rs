//! What results that are more than text cost: calls of one program that writes the same bytes, as text and as what they are; and
//! what the server holds of a picture.
//!
//! `cargo bench -p ahma_core --bench results`. All are visited in turn by one client of one server; compare ratios, not times.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark may start programs, print and fail"
)]

mod client;

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use self::client::Server;

const ROUNDS: usize = 60;
/// Calls before the next one is visited.
const BATCH: usize = 10;
/// Bytes of a picture.
const PICTURE: usize = 5 << 20;
/// Servers that are asked for a picture; the middle one counts.
const SERVERS: usize = 5;

fn main() {
    ahma_tests::without_the_libraries_of_cargo();
    let scope = tempfile::tempdir().unwrap();
    let scope = scope.path();
    let schema = json!({
        "type": "object", "required": ["rows"],
        "properties": { "rows": { "type": "array", "items": {
            "type": "object", "properties": { "name": { "type": "string" }, "size": { "type": "integer" } }
        } } }
    });
    for (size, rows) in [("small", 3), ("long", 150)] {
        fs::write(scope.join(format!("{size}.json")), document(rows)).unwrap();
        fs::write(scope.join(format!("{size}.events")), events(rows)).unwrap();
        let name = |kind: &str| format!("{size}_{kind}");
        let (document, lines) = (format!("{size}.json"), format!("{size}.events"));
        declare(scope, &name("document"), &document, &json!({}));
        declare(
            scope,
            &name("json"),
            &document,
            &json!({ "output": "json" }),
        );
        let checked = json!({ "output": "json", "output_schema": schema });
        declare(scope, &name("checked"), &document, &checked);
        declare(scope, &name("lines"), &lines, &json!({}));
        declare(
            scope,
            &name("events"),
            &lines,
            &json!({ "output": "events" }),
        );
    }
    let picture = [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(),
        &vec![7; PICTURE - 16],
    ]
    .concat();
    fs::write(scope.join("picture.png"), picture).unwrap();
    fs::write(scope.join("path"), "picture.png\n").unwrap();
    let image = json!({ "output": "image" });
    declare(scope, "bytes", "picture.png", &image);
    fs::write(scope.join("tiny.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    declare(scope, "tiny", "tiny.png", &image);
    declare(scope, "path", "path", &image);

    for size in ["small", "long"] {
        latency(scope, size);
    }
    for tool in ["bytes", "path"] {
        memory(scope, tool);
    }
}

/// A tool that writes a file.
fn declare(scope: &Path, name: &str, file: &str, fields: &Value) {
    let mut tool = json!({
        "name": name, "description": "Writes a file.", "command": "cat", "fixed_args": [file],
        "synchronous": true
    });
    tool.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    let tools = scope.join(".ahma/tools");
    fs::create_dir_all(&tools).unwrap();
    fs::write(tools.join(format!("{name}.json")), tool.to_string()).unwrap();
}

fn document(rows: usize) -> String {
    let rows = (0..rows).map(|row| json!({ "name": format!("row number {row}"), "size": row }));
    let rows: Vec<Value> = rows.collect();
    json!({ "rows": rows }).to_string()
}

/// Two events for each row.
fn events(rows: usize) -> String {
    let lines = (0..rows).map(|row| {
        let content = json!({ "type": "text", "text": format!("row number {row}") });
        let content = json!({ "type": "content", "content": content });
        let progress = json!({ "type": "progress", "progress": row + 1, "total": rows });
        format!("{content}\n{progress}\n")
    });
    lines.collect()
}

/// The middle of some numbers.
fn middle(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn latency(scope: &Path, size: &str) {
    let mut server = Server::start(scope);
    let tools = ["document", "json", "checked", "lines", "events"];
    let mut times: [Vec<f64>; 5] = Default::default();
    for _ in 0..ROUNDS {
        for (tool, times) in tools.iter().zip(&mut times) {
            let tool = format!("{size}_{tool}");
            server.call(&tool);
            for _ in 0..BATCH {
                let begun = Instant::now();
                server.call(&tool);
                times.push(begun.elapsed().as_secs_f64() * 1000.0);
            }
        }
    }
    let [document, json, checked, lines, events] = times.map(middle);
    let length = |name: &str| fs::metadata(scope.join(name)).unwrap().len();
    println!(
        "{size} outputs, p50: as text {document:.2} ms ({} bytes) and {lines:.2} ms ({} bytes)",
        length(&format!("{size}.json")),
        length(&format!("{size}.events")),
    );
    println!("  json ÷ text {:.3}", json / document);
    println!("  json with a schema ÷ text {:.3}", checked / document);
    println!("  events ÷ text {:.3}", events / lines);
}

fn memory(scope: &Path, tool: &str) {
    let mut all = Vec::new();
    for _ in 0..SERVERS {
        let mut server = Server::start(scope);
        // What is needed once for any picture is not the picture's: code of the program above all.
        server.call("tiny");
        let rest = server.memory("VmRSS:");
        server.forget_peak();
        let length = server.call(tool);
        assert!(length > PICTURE / 3 * 4, "{length}");
        let peak = server.memory("VmHWM:");
        all.push(peak.saturating_sub(rest) as f64 * 1024.0 / PICTURE as f64);
    }
    println!(
        "a picture of 5 MiB ({tool}): the server grows by {:.2} times its size at the peak",
        middle(all)
    );
}
