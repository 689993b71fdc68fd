//! Developers' tools inside the full sandbox that not every machine has, and packages from the registries. None of these
//! tests runs unless it is asked for; CI installs the programs and asks.

use ahma_tests::Workspace;
use serde_json::json;

use super::Served;
use super::developer::Developer;

const FURTHER: [(&str, &str); 7] = [
    (
        "make",
        "printf 'all:\\n\\t@echo made\\n' > Makefile && make",
    ),
    (
        "ps",
        "ps -e -o pid,comm | grep -q ps && ps aux | grep -v grep | grep -c ps",
    ),
    ("rg", "echo needle > h && rg -q needle ."),
    (
        "node",
        "node -e 'const w=require(\"worker_threads\"); console.log(os=require(\"os\").cpus().length>0)'",
    ),
    (
        "cargo add",
        "cargo init -q --name app --vcs none && cargo add -q fnv && echo 'use fnv as _; fn main() {}' > src/main.rs && \
         cargo build -q && cargo test -q",
    ),
    (
        "pip install",
        "/usr/bin/python3 -m venv v && v/bin/pip install -q six && v/bin/python -c 'import six'",
    ),
    (
        "npm install",
        "npm init -y >/dev/null && npm install --no-audit is-number && node -e 'require(\"is-number\")'",
    ),
];

fn further_programs_work(mut developer: Developer) {
    let cache = "cd ~/.npm/_cacache/index-v5 && cat kept && echo changed > kept && cat kept";
    let cache = developer.run_in_project("cache", cache);
    assert!(cache.starts_with("kept\nchanged\n"), "{cache}");
    for (name, script) in FURTHER {
        developer.run(name, script);
    }
}

/// Proves: S43.
#[test]
#[ignore = "needs make, ps, rg, node, npm, Python's venv, and the registries; CI has them"]
fn they_work_for_whoever_runs_the_server() {
    further_programs_work(Developer::of_the_tester());
}

/// Proves: S43, S44.
#[test]
#[ignore = "needs root, make, ps, rg, node, npm, Python's venv, and the registries; CI has them"]
fn they_work_for_an_ordinary_user() {
    further_programs_work(Developer::ordinary());
}

/// Proves: S43.
#[test]
#[ignore = "needs npm and its registry; CI has them"]
fn what_the_user_has_downloaded_is_there_without_a_network() {
    let path = std::env::var("PATH").unwrap();
    let base = Workspace::new();
    // Npm's cache is filled as a user fills it: unconfined, from the registry.
    let cache = base.path().join("npm-cache");
    let cache = cache.to_str().unwrap().to_owned();
    base.write("outside/package.json", "{}");
    let filled = std::process::Command::new("npm")
        .args(["install", "--no-audit", "--cache", &cache, "is-number"])
        .current_dir(base.path().join("outside"))
        .output()
        .unwrap();
    assert!(filled.status.success(), "{filled:?}");
    let offline = ["--network", "off"];
    let environment = [("npm_config_cache", cache.as_str())];
    let mut developer = Developer::new(base, &[], &offline, &path, &environment);
    let installed = developer.run(
        "npm",
        "npm init -y >/dev/null && npm install --offline --no-audit is-number && ls node_modules",
    );
    assert!(installed.contains("is-number\n"), "{installed}");
    let built = developer.run(
        "cargo",
        "cargo init -q --name app --vcs none && cargo add -q --offline itoa && \
         cargo build -q --offline && ls -d $CARGO_HOME/registry/src/*/itoa-* && ls -A $CARGO_HOME",
    );
    assert!(built.contains("itoa-"), "{built}");
}

/// A package that is missing is something that npm found, and no failure.
///
/// Proves: T57.
#[test]
#[ignore = "needs npm; CI has it"]
fn what_npm_lists_is_a_structured_result() {
    let project = Workspace::new();
    let package = |dependencies| {
        json!({ "name": "tea", "version": "1.2.3", "dependencies": dependencies }).to_string()
    };
    project.write("package.json", package(json!({})));
    let mut served = Served::of(project, &[]);
    let result = served.client.call("npm_ls", &json!({}));
    assert!(!result.is_error, "{result:?}");
    assert_eq!(
        result.structured,
        json!({ "version": "1.2.3", "name": "tea" })
    );
    served
        .project
        .write("package.json", package(json!({ "kettle": "^1.0.0" })));
    let result = served.client.call("npm_ls", &json!({}));
    assert!(!result.is_error, "{result:?}");
    assert_eq!(result.record["exit_code"], 1);
    let missing = &result.structured["dependencies"]["kettle"];
    assert_eq!(missing["missing"], true, "{result:?}");
    assert_eq!(missing["required"], "^1.0.0");
}

/// Proves: P84.
#[test]
#[ignore = "needs node and npm; CI has them"]
fn the_node_example_does_what_its_readme_says() {
    super::examples::the_node_project_does_what_its_readme_says();
}
