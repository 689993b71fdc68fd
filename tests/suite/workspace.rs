//! The workspace itself: crates, programs, lints, and what CI runs.

use std::fs;

use ahma_tests::{Workspace, repository};
use serde_json::Value;

fn read(name: &str) -> String {
    let path = repository().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn cargo(args: &[&str]) -> String {
    let manifest = repository().join("Cargo.toml");
    let mut all = args.to_vec();
    all.extend(["--manifest-path", manifest.to_str().unwrap(), "--offline"]);
    let finished = Workspace::new().run(env!("CARGO"), &all);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    finished.stdout
}

fn metadata() -> Value {
    serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version=1"])).unwrap()
}

fn package<'m>(metadata: &'m Value, name: &str) -> &'m Value {
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .find(|package| package["name"] == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

fn targets(package: &Value, kind: &str) -> Vec<String> {
    let targets = package["targets"].as_array().unwrap().iter();
    let of_kind =
        targets.filter(|target| target["kind"].as_array().unwrap().iter().any(|k| k == kind));
    of_kind
        .map(|target| target["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Proves: B1.
#[test]
fn the_crates_and_programs_are_where_they_belong() {
    let metadata = metadata();
    let core = package(&metadata, "ahma_core");
    assert_eq!(targets(core, "lib"), ["ahma_core"]);
    assert_eq!(targets(core, "bin"), ["ahma_mcp"]);
    assert_eq!(
        targets(package(&metadata, "ahma_sandbox"), "lib"),
        ["ahma_sandbox"]
    );
    assert_eq!(
        targets(package(&metadata, "ahma_http_mcp_client"), "lib"),
        ["ahma_http_mcp_client"]
    );
    for program in ["ahma_list_tools", "ahma_validate", "generate_tool_schema"] {
        assert_eq!(targets(package(&metadata, program), "bin"), [program]);
    }
}

/// Proves: S10.
#[test]
fn the_sandbox_uses_the_landlock_library() {
    let tree = cargo(&[
        "tree",
        "--package",
        "ahma_sandbox",
        "--edges",
        "normal",
        "--prefix",
        "none",
    ]);
    assert!(
        tree.lines().any(|line| line.starts_with("landlock v")),
        "{tree}"
    );
}

/// Only the sandbox may hold unsafe code, and there only where nothing safe exists.
#[test]
fn unsafe_code_is_in_the_sandbox_only() {
    let mut with_unsafe = Vec::new();
    let mut directories = vec![repository()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                directories.push(path);
            } else if name.ends_with(".rs")
                && fs::read_to_string(&path).unwrap().contains("unsafe {")
            {
                with_unsafe.push(
                    path.strip_prefix(repository())
                        .unwrap()
                        .display()
                        .to_string(),
                );
            }
        }
    }
    with_unsafe.retain(|path| path != "tests/suite/workspace.rs");
    with_unsafe.sort();
    assert_eq!(
        with_unsafe,
        [
            "ahma_sandbox/src/client/connection.rs",
            "ahma_sandbox/src/hardening.rs",
            "ahma_sandbox/src/host/pid_ns_pool/inside.rs",
            "ahma_sandbox/src/host/pid_ns_pool/raw.rs",
            "ahma_sandbox/src/host/sys.rs"
        ]
    );
}

/// Proves: B3.
#[test]
fn cargo_run_means_the_server() {
    let metadata = metadata();
    let default = metadata["workspace_default_members"].as_array().unwrap();
    assert_eq!(default, &[package(&metadata, "ahma_core")["id"].clone()]);
}

/// Proves: B12.
#[test]
fn the_engine_without_http_needs_no_libraries_of_http() {
    let tree = |features: &str| {
        let package = ["tree", "--package", "ahma_core", "--no-default-features"];
        let rest = [
            "--features",
            features,
            "--edges",
            "normal",
            "--prefix",
            "none",
        ];
        cargo(&[&package[..], &rest[..]].concat())
    };
    let has = |tree: &str, library: &str| {
        let start = format!("{library} v");
        tree.lines().any(|line| line.starts_with(&start))
    };
    let (without, with) = (tree("server"), tree("server,http"));
    assert!(has(&without, "rmcp"), "{without}");
    for library in ["axum", "hyper"] {
        assert!(!has(&without, library), "{library}: {without}");
        assert!(has(&with, library), "{library}: {with}");
    }
}

/// Proves: B12.
#[test]
fn the_validator_and_the_generator_need_no_server_libraries() {
    for program in ["ahma_validate", "generate_tool_schema"] {
        let tree = cargo(&[
            "tree",
            "--package",
            program,
            "--edges",
            "normal",
            "--prefix",
            "none",
        ]);
        assert!(tree.contains("ahma_core v"), "{tree}");
        for library in ["rmcp", "tokio", "axum", "hyper"] {
            let uses = tree
                .lines()
                .any(|line| line.starts_with(&format!("{library} v")));
            assert!(!uses, "{program} depends on {library}");
        }
    }
}

/// The files below a directory of the repository that contain one of these words.
fn files_with(directory: &str, words: &[&str]) -> Vec<String> {
    let top = repository();
    let mut waiting = vec![top.join(directory)];
    let mut found = Vec::new();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).unwrap();
            waiting.extend(entries.map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        if words.iter().any(|word| text.contains(word)) {
            let name = path.strip_prefix(&top).unwrap();
            found.push(name.to_str().unwrap().to_owned());
        }
    }
    found.sort();
    found
}

#[test]
fn one_part_tells_clients_about_operations() {
    let sending = files_with("ahma_core/src", &["send_notification(", "notify_progress("]);
    let expected = [
        "ahma_core/src/service/caller.rs",
        "ahma_core/src/service/progress.rs",
        "ahma_core/src/service/subscriber.rs",
        "ahma_core/src/service/telling.rs",
    ];
    assert_eq!(sending, expected);
}

#[test]
fn only_the_edge_knows_protocol_errors() {
    for file in files_with("ahma_core/src", &["ErrorData"]) {
        let is_edge = ["ahma_core/src/service/", "ahma_core/src/stdio/"]
            .iter()
            .any(|edge| file.starts_with(edge));
        assert!(is_edge, "{file} makes protocol errors");
    }
    let metadata = metadata();
    for package in metadata["packages"].as_array().unwrap() {
        for dependency in package["dependencies"].as_array().unwrap() {
            assert_ne!(dependency["name"], "anyhow", "{}", package["name"]);
        }
    }
}

/// Proves: P6.
#[test]
fn the_inspector_script_shows_the_log() {
    let script = read("ahma-inspector.sh");
    let starts: Vec<&str> = script
        .lines()
        .filter(|line| line.contains("exec npx"))
        .collect();
    assert_eq!(starts.len(), 2);
    assert!(
        starts.iter().all(|line| line.contains("--log-to-stderr")),
        "{starts:?}"
    );
    let checked = Workspace::new().run(
        "sh",
        &[
            "-n",
            repository().join("ahma-inspector.sh").to_str().unwrap(),
        ],
    );
    assert_eq!(checked.code, 0, "{}", checked.stderr);
}
