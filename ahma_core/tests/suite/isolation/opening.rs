//! While the scope of one session is opened, others are served.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ahma_tests::Workspace;
use ahma_tests::http::root_of;
use ahma_tests::http_process::HttpProcess;
use serde_json::json;

use super::AHMA_MCP;

/// A search path on which looking for toolchains takes long: its directories are links with many components each.
fn slow_search_path(place: &Workspace) -> String {
    place.make_directory("d");
    let link = place.path().join("l");
    std::os::unix::fs::symlink("d/../".repeat(700), &link).unwrap();
    let usual = std::env::var("PATH").unwrap_or_default();
    let slow = vec![link.to_str().unwrap(); 150].join(":");
    format!("{usual}:{slow}")
}

/// Proves: I12.
#[test]
fn others_are_answered_while_a_scope_is_opened() {
    let (projects, own) = (Workspace::new(), Workspace::new());
    let root = projects.path().to_str().unwrap().to_owned();
    let arguments = [
        "--session-isolation",
        "--scope-root",
        &root,
        "--rate-limit",
        "0",
    ];
    let links = Workspace::new();
    let path = slow_search_path(&links);
    let environment = [("PATH", path.as_str())];
    let process = HttpProcess::start_with(AHMA_MCP, &arguments, own.path(), &environment);
    projects.make_directory("a");
    let project = projects.path().join("a").canonicalize().unwrap();
    let bystander = process.connect();
    let opener = process.stateless().with_roots(&[root_of(&project)]);
    let has_opened = Arc::new(AtomicBool::new(false));
    let opened = Arc::clone(&has_opened);
    let opening = thread::spawn(move || {
        let result = opener.sync("echo opened");
        opened.store(true, Ordering::Release);
        result
    });
    let mut answered = 0;
    while !has_opened.load(Ordering::Acquire) {
        bystander.request("ping", &json!({}));
        answered += 1;
    }
    let result = opening.join().unwrap();
    assert!(result.text.starts_with("opened\n"), "{result:?}");
    assert!(
        answered >= MANY,
        "{answered} answers while the scope was opened"
    );
}

/// More than could be answered if opening kept the server from everything else.
const MANY: usize = 60;
