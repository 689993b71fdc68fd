//! A value set deeper wins, one not set is inherited.

use ahma_core::config::{Annotations, AvailabilityCheck, OutputKind, Restrictions};
use serde_json::json;

use crate::{load_texts, tool, tools_of};

/// Proves: T14.
#[test]
fn synchronous_is_inherited_and_overridden_at_every_level() {
    let tools = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t", "synchronous": true,
        "subcommand": [
            { "name": "inherits", "description": "I." },
            { "name": "overrides", "description": "O.", "synchronous": false },
            { "name": "group", "description": "G.", "synchronous": false, "subcommand": [
                { "name": "inherits", "description": "I." },
                { "name": "overrides", "description": "O.", "synchronous": true }
            ]}
        ]
    }));
    let modes: Vec<(&str, bool)> = tools
        .iter()
        .map(|tool| (tool.name.as_str(), tool.synchronous))
        .collect();
    assert_eq!(
        modes,
        [
            ("t_inherits", true),
            ("t_overrides", false),
            ("t_group_inherits", false),
            ("t_group_overrides", true),
        ]
    );
}

#[test]
fn without_any_setting_a_leaf_is_asynchronous_enabled_and_not_narrowed() {
    let tools = tools_of(&json!({ "name": "t", "description": "T.", "command": "t" }));
    assert_eq!(tools.len(), 1);
    assert!(!tools[0].synchronous);
    assert_eq!(tools[0].timeout_seconds, None);
    assert_eq!(tools[0].restrictions, Restrictions::default());
    assert_eq!(tools[0].annotations, Annotations::default());
}

/// Proves: T9.
#[test]
fn a_disabled_tool_offers_only_what_a_deeper_level_enables_again() {
    let tool = json!({
        "name": "t", "description": "T.", "command": "t", "enabled": false,
        "subcommand": [
            { "name": "off", "description": "Off." },
            { "name": "on", "description": "On.", "enabled": true }
        ]
    });
    let catalog = load_texts(&[("t.json", tool.to_string())]);
    let tool = &catalog.files[0];
    assert_eq!(tool.disabled, ["t_off"]);
    let listed: Vec<_> = tool.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(listed, ["t_on"]);
}

/// Proves: T14.
#[test]
fn timeouts_and_narrowing_are_inherited_field_by_field() {
    let tools = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t",
        "timeout_seconds": 600, "network": false, "writes": false,
        "limits": { "memory_mb": 512, "processes": 10 },
        "subcommand": [
            { "name": "inherits", "description": "I." },
            { "name": "overrides", "description": "O.", "timeout_seconds": 5, "network": true,
              "limits": { "processes": 3, "output_mb": 1 } }
        ]
    }));
    let inherits = tool(&tools, "t_inherits");
    assert_eq!(inherits.timeout_seconds, Some(600));
    assert_eq!(
        inherits.restrictions,
        Restrictions {
            no_network: true,
            no_writes: true,
            memory_mb: Some(512),
            processes: Some(10),
            output_mb: None,
        }
    );
    let overrides = tool(&tools, "t_overrides");
    assert_eq!(overrides.timeout_seconds, Some(5));
    assert_eq!(
        overrides.restrictions,
        Restrictions {
            no_network: false,
            no_writes: true,
            memory_mb: Some(512),
            processes: Some(3),
            output_mb: Some(1),
        }
    );
}

/// Proves: T14.
#[test]
fn variables_are_merged_and_the_deeper_value_wins() {
    let tools = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t", "env": { "A": "1", "B": "1" },
        "subcommand": [{ "name": "s", "description": "S.", "env": { "B": "2", "C": "2" } }]
    }));
    let env: Vec<_> = tools[0]
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(env, ["A=1", "B=2", "C=2"]);
}

/// Proves: T14.
#[test]
fn availability_and_conditions_are_inherited_whole() {
    let tools = tools_of(&json!({
        "name": "cargo", "description": "C.", "command": "cargo",
        "availability_check": "which cargo", "install_instructions": "Install Rust.",
        "only_if": ["Cargo.toml"],
        "subcommand": [
            { "name": "build", "description": "B." },
            { "name": "nextest", "description": "N.",
              "availability_check": { "command": "cargo", "args": ["nextest", "--version"],
                                      "success_exit_codes": [0, 101] },
              "install_instructions": "cargo install cargo-nextest", "only_if": ["a", "b"] }
        ]
    }));
    let build = tool(&tools, "cargo_build");
    assert_eq!(
        build.availability,
        Some(AvailabilityCheck::OnPath("cargo".into()))
    );
    assert_eq!(build.install_instructions.as_deref(), Some("Install Rust."));
    assert_eq!(build.only_if, ["Cargo.toml"]);
    let nextest = tool(&tools, "cargo_nextest");
    assert_eq!(
        nextest.availability,
        Some(AvailabilityCheck::Command {
            program: "cargo".into(),
            args: vec!["nextest".into(), "--version".into()],
            success_exit_codes: vec![0, 101],
            or_exists: Vec::new(),
        })
    );
    assert_eq!(
        nextest.install_instructions.as_deref(),
        Some("cargo install cargo-nextest")
    );
    assert_eq!(nextest.only_if, ["a", "b"]);
}

/// Proves: T25.
#[test]
fn an_availability_line_is_split_as_a_shell_would() {
    let check = |line: &str| {
        let tool = json!({
            "name": "t", "description": "T.", "command": "t", "availability_check": line
        });
        tools_of(&tool)[0].availability.clone().unwrap()
    };
    assert_eq!(
        check("command -v 'my tool'"),
        AvailabilityCheck::OnPath("my tool".into())
    );
    assert_eq!(
        check("python3 -c \"import venv\""),
        AvailabilityCheck::Command {
            program: "python3".into(),
            args: vec!["-c".into(), "import venv".into()],
            success_exit_codes: vec![0],
            or_exists: Vec::new(),
        }
    );
}

/// Proves: T14.
#[test]
fn annotations_are_inherited_one_by_one() {
    let tools = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t",
        "annotations": { "read_only": true, "open_world": false },
        "subcommand": [{ "name": "s", "description": "S.",
                         "annotations": { "read_only": false, "destructive": true } }]
    }));
    assert_eq!(
        tools[0].annotations,
        Annotations {
            read_only: Some(false),
            destructive: Some(true),
            idempotent: None,
            open_world: Some(false),
        }
    );
}

/// Proves: T14, T57, T58.
#[test]
fn a_subcommand_of_another_output_inherits_no_promise_about_the_result() {
    let tools = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t", "output": "json",
        "output_schema": { "type": "object" },
        "subcommand": [
            { "name": "same", "description": "S." },
            { "name": "events", "description": "E.", "output": "events" },
            { "name": "text", "description": "T.", "output": "text" },
            { "name": "flow", "description": "F.", "sequence": [{ "subcommand": "text" }] },
            { "name": "pictures", "description": "P.", "output": "image", "mime_type": "image/png",
              "subcommand": [
                { "name": "shot", "description": "S." },
                { "name": "beep", "description": "B.", "output": "audio" }
            ]}
        ]
    }));
    let promised: Vec<_> = tools
        .iter()
        .map(|tool| {
            let result = &tool.result;
            let mime_type = result.mime_type.as_deref();
            (
                tool.name.as_str(),
                result.kind,
                result.schema.is_some(),
                mime_type,
            )
        })
        .collect();
    assert_eq!(
        promised,
        [
            ("t_same", OutputKind::Json, true, None),
            ("t_events", OutputKind::Events, true, None),
            ("t_text", OutputKind::Text, false, None),
            ("t_flow", OutputKind::Text, false, None),
            (
                "t_pictures_shot",
                OutputKind::Image,
                false,
                Some("image/png")
            ),
            ("t_pictures_beep", OutputKind::Audio, false, None),
        ]
    );
}
