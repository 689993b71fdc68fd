//! No module knows one that knows it, so that each can be read alone.

use std::collections::BTreeSet;

use ahma_tests::module_graph::{cycles, module_graph};

const PLACES: [(&str, &str); 15] = [
    ("ahma_core/src", ""),
    ("ahma_core/src", "config"),
    ("ahma_core/src", "config/downstream"),
    ("ahma_core/src", "denial"),
    ("ahma_core/src", "executor"),
    ("ahma_core/src", "operation"),
    ("ahma_core/src", "registry"),
    ("ahma_core/src", "scope"),
    ("ahma_core/src", "service"),
    ("ahma_core/src", "service/tools"),
    ("ahma_core/src", "stdio"),
    ("ahma_http_bridge/src", ""),
    ("ahma_http_bridge/src", "sessions"),
    ("ahma_sandbox/src", "client"),
    ("ahma_setup/src", ""),
];

/// Proves: B11.
#[test]
fn no_modules_form_a_circle() {
    for (source, directory) in PLACES {
        let graph = module_graph(source, directory);
        assert!(graph.len() > 3, "{source}/{directory}: {graph:?}");
        let edges: usize = graph.values().map(BTreeSet::len).sum();
        assert!(edges >= 3, "{source}/{directory}: {graph:?}");
        let found = cycles(&graph);
        assert!(
            found.is_empty(),
            "{source}/{directory}: {found:?}\n{graph:#?}"
        );
    }
}

#[test]
fn a_circle_is_found() {
    let edge = |from: &str, to: &[&str]| {
        let to: BTreeSet<String> = to.iter().map(|it| (*it).to_owned()).collect();
        (from.to_owned(), to)
    };
    let graph = [
        edge("a", &["b"]),
        edge("b", &["c"]),
        edge("c", &["a", "d"]),
        edge("d", &[]),
    ];
    let circle: BTreeSet<String> = ["a", "b", "c"].map(str::to_owned).into();
    assert_eq!(cycles(&graph.into()), [circle]);
}

/// What the service may use, and what the edges may not: arrows between rooms go one way.
///
/// Proves: B11.
#[test]
fn data_goes_one_way_between_the_rooms() {
    let graph = module_graph("ahma_core/src", "");
    let forbidden = [
        ("config", "service"),
        ("config", "registry"),
        ("config", "cli"),
        ("registry", "executor"),
        ("registry", "service"),
        ("operation", "executor"),
        ("executor", "service"),
        ("executor", "registry"),
        ("service", "scope"),
        ("service", "cli"),
        ("service", "stdio"),
        ("scope", "cli"),
        ("scope", "stdio"),
        ("stdio", "service"),
    ];
    for (from, to) in forbidden {
        assert!(!graph[from].contains(to), "{from} uses {to}: {graph:#?}");
    }
    for (from, to) in [
        ("cli", "scope"),
        ("scope", "service"),
        ("service", "executor"),
    ] {
        assert!(
            graph[from].contains(to),
            "{from} does not use {to}: {graph:#?}"
        );
    }
}
