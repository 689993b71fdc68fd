//! The documents say what the code does.

use std::fs;

use ahma_core::config::content::{
    load_prompts, load_resources, prompt_file_schema, resource_file_schema,
};
use ahma_core::config::files::SourceFile;
use ahma_core::config::{load, tool_file_schema};
use ahma_tests::repository;
use serde_json::Value;

fn read(name: &str) -> String {
    let path = repository().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The reference table of one object of the schema, as it must stand in `docs/mtdf.md`.
fn reference_table(object: &Value) -> String {
    let required = object["required"].as_array().cloned().unwrap_or_default();
    let mut table = String::from("| Field | Type | Default | Meaning |\n|---|---|---|---|\n");
    for (field, property) in object["properties"].as_object().unwrap() {
        let default = match &property["default"] {
            _ if required.iter().any(|name| name == field) => "required".to_owned(),
            Value::Null => String::new(),
            default => format!("`{default}`"),
        };
        let kind = type_of(property);
        let meaning = property["description"].as_str().unwrap();
        table.push_str(&format!("| `{field}` | {kind} | {default} | {meaning} |\n"));
    }
    table
}

fn type_of(property: &Value) -> String {
    if let Some(target) = property["$ref"].as_str() {
        let name = target.rsplit('/').next().unwrap();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(choices) = property["anyOf"].as_array() {
        let choices: Vec<String> = choices.iter().map(type_of).collect();
        return choices.join(" or ");
    }
    if let Some(values) = property["enum"].as_array() {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        return values.join(", ");
    }
    if property["const"].is_string() {
        return format!("`{}`", property["const"]);
    }
    match &property["type"] {
        Value::Array(kinds) => {
            let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str().unwrap()).collect();
            kinds.join(", ")
        }
        kind if kind == "array" => format!("array of {}", type_of(&property["items"])),
        kind if kind == "integer" => match (&property["minimum"], &property["maximum"]) {
            (Value::Number(least), Value::Number(most)) => format!("integer, {least} to {most}"),
            _ => "integer".to_owned(),
        },
        kind if kind == "object" && property["additionalProperties"].is_object() => {
            format!("object of {}s", type_of(&property["additionalProperties"]))
        }
        kind => kind
            .as_str()
            .unwrap_or_else(|| panic!("{property}"))
            .to_owned(),
    }
}

#[test]
fn the_field_references_are_those_of_the_schemas() {
    let content = "docs/prompts-and-resources.md";
    for (path, name, schema) in [
        ("docs/mtdf.md", "Tool", tool_file_schema()),
        (content, "Prompt", prompt_file_schema()),
        (content, "Resource", resource_file_schema()),
    ] {
        let document = read(path);
        let parts = schema["$defs"].as_object().unwrap().iter();
        let parts = parts.map(|(name, object)| (name.as_str(), object));
        for (name, object) in [(name, &schema)].into_iter().chain(parts) {
            let heading = format!("\n### {name}\n");
            let (_, section) = document
                .split_once(&heading)
                .unwrap_or_else(|| panic!("no section {name} in {path}"));
            let section = section.split("\n### ").next().unwrap();
            let table = reference_table(object);
            assert!(
                section.contains(&table),
                "the table of {name} in {path} is out of date; it must be:\n\n{table}"
            );
        }
    }
}

/// The blocks of a document that are fenced as `language`.
fn fenced(document: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    document
        .split(&opening)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn every_tool_file_shown_in_a_document_is_accepted() {
    for document in ["README.md", "docs/mtdf.md"] {
        let mut shown = 0;
        for block in fenced(&read(document), "json") {
            // Entries of an `mcp.json` name servers.
            if !block.contains("\"command\"") || block.to_lowercase().contains("servers\": {") {
                continue;
            }
            shown += 1;
            let source = SourceFile {
                path: document.into(),
                content: Ok(block.into_bytes()),
            };
            let catalog = load(vec![source], &ahma_core::server_facts());
            assert!(
                catalog.rejected.is_empty(),
                "{document}: {:#?}",
                catalog.rejected
            );
        }
        assert!(shown > 0, "{document} shows no tool file");
    }
}

/// Proves: P39.
#[test]
fn every_prompt_and_resource_shown_in_a_document_is_accepted() {
    let blocks = fenced(&read("docs/prompts-and-resources.md"), "json");
    let (prompts, resources): (Vec<_>, Vec<_>) = blocks
        .into_iter()
        .map(|block| SourceFile {
            path: "shown.json".into(),
            content: Ok(block.into_bytes()),
        })
        .partition(|it| String::from_utf8_lossy(it.content.as_ref().unwrap()).contains("messages"));
    assert_eq!((prompts.len(), resources.len()), (1, 2));
    let loaded = load_prompts(prompts);
    assert_eq!((loaded.accepted.len(), loaded.warned.len()), (1, 0));
    let loaded = load_resources(resources);
    assert_eq!((loaded.accepted.len(), loaded.warned.len()), (2, 0));
}

#[test]
fn every_mcp_config_shown_for_servers_behind_this_one_is_accepted() {
    for (document, servers) in [("README.md", vec![3]), ("docs/downstream.md", vec![3, 1])] {
        let blocks = fenced(&read(document), "json");
        let blocks = blocks
            .into_iter()
            .filter(|block| block.contains("\"servers\"") && !block.contains("\"Ahama\""));
        let mut shown = Vec::new();
        for block in blocks {
            let source = SourceFile {
                path: document.into(),
                content: Ok(block.into_bytes()),
            };
            let config = ahma_core::config::downstream::load(source, None);
            assert!(config.faults.is_empty(), "{document}: {:#?}", config.faults);
            shown.push(config.servers.len());
        }
        assert_eq!(shown, servers, "{document}");
    }
}

/// Fields that are passed over need no word.
#[test]
fn every_field_of_an_mcp_config_is_explained() {
    let document = read("docs/downstream.md");
    let schema: Value = serde_json::from_str(&read("docs/mcp-config.schema.json")).unwrap();
    for object in ["Server", "ToolRules"] {
        let fields = schema["$defs"][object]["properties"].as_object().unwrap();
        for (field, about) in fields {
            let is_passed_over = about["description"]
                .as_str()
                .unwrap()
                .contains("passed over");
            let is_explained = document.contains(&format!("`{field}`"));
            assert!(is_explained || is_passed_over, "{field}");
        }
    }
}

#[test]
fn the_first_tool_file_of_the_readme_has_at_most_ten_lines() {
    let readme = read("README.md");
    let blocks = fenced(&readme, "json");
    let first = blocks
        .iter()
        .find(|block| block.contains("\"description\""))
        .unwrap();
    assert!(first.lines().count() <= 10, "{first}");
}

/// The files that the documents name are there, so that a reader who follows a link or a table arrives.
#[test]
fn paths_that_the_architecture_names_exist() {
    let text = read("docs/architecture.md");
    let mut seen = 0;
    for name in text.split('`').skip(1).step_by(2) {
        let name = name.split("::").next().unwrap();
        if !name.ends_with(".rs") || name.contains("NAME") {
            continue;
        }
        seen += 1;
        let top = repository();
        let starts = [
            "",
            "ahma_core/src/",
            "ahma_http_bridge/src/",
            "ahma_sandbox/",
        ];
        let exists = starts
            .iter()
            .any(|start| top.join(start).join(name).exists());
        assert!(exists, "docs/architecture.md names {name}");
    }
    assert!(seen > 15, "only {seen} files are named");
}

/// Relative links lead to files of the repository; where in a file, a reader sees.
#[test]
fn links_of_documents_lead_to_files() {
    let top = repository();
    let of_docs = fs::read_dir(top.join("docs")).unwrap();
    let of_docs = of_docs.map(|it| it.unwrap().path());
    let documents = of_docs.chain([top.join("README.md")]);
    let mut seen = 0;
    for document in documents.filter(|it| it.extension().is_some_and(|it| it == "md")) {
        let text = fs::read_to_string(&document).unwrap();
        for after in text.split("](").skip(1) {
            let link = after.split(')').next().unwrap();
            let file = link.split('#').next().unwrap();
            if file.is_empty() || file.contains(':') {
                continue;
            }
            seen += 1;
            let is_there = document.with_file_name(file).exists();
            assert!(is_there, "{} leads to {file}", document.display());
        }
    }
    assert!(seen > 40, "only {seen} links");
}

/// Proves: W2, W3, W4.
#[test]
fn the_service_and_the_project_are_told_apart() {
    for (document, sentences) in [
        (
            "AGENTS.md",
            [
                "`Ahama` is the running service",
                "`ahma_mcp` is the project",
            ],
        ),
        (
            "README.md",
            [
                "`Ahama` is the running service",
                "`ahma_mcp` the program and the project",
            ],
        ),
    ] {
        let text = read(document).replace('\n', " ");
        let restart =
            "build the `ahma_mcp` binary, which restarts the `Ahama` entry defined in `mcp.json`";
        for sentence in sentences.into_iter().chain([restart]) {
            assert!(text.contains(sentence), "{document} lacks: {sentence}");
        }
    }
}

/// Proves: W1.
#[test]
fn the_entry_for_an_ide_is_called_ahama() {
    let readme = read("README.md");
    let blocks = fenced(&readme, "json");
    let entry = blocks
        .iter()
        .find(|block| block.contains("\"servers\""))
        .unwrap();
    let entry: Value = serde_json::from_str(entry).unwrap();
    assert_eq!(entry["servers"]["Ahama"]["command"], "ahma_mcp");
    let other = blocks
        .iter()
        .find(|block| block.contains("\"mcpServers\""))
        .unwrap();
    let other: Value = serde_json::from_str(other).unwrap();
    assert_eq!(other["mcpServers"]["Ahama"]["command"], "ahma_mcp");
}

/// Proves: P71, P74.
#[test]
fn the_settings_that_are_shown_are_right_and_every_profile_is_there() {
    for document in ["README.md", "docs/settings.md"] {
        let shown = fenced(&read(document), "toml");
        let shown = shown.into_iter().filter(|it| it.contains("[server]"));
        for block in shown {
            let source = SourceFile {
                path: document.into(),
                content: Ok(block.into_bytes()),
            };
            let file = ahma_core::config::settings::read(source, false);
            assert_eq!(file.faults, [], "{document}");
            assert_eq!(file.scopes.len(), 1, "{document}");
        }
    }
    let profiles = read("ahma_core/src/cli/profiles.toml");
    let names = profiles
        .lines()
        .filter_map(|it| it.strip_prefix("[profile."));
    let text = read("docs/settings.md");
    for (name, description) in names.zip(
        profiles
            .lines()
            .filter_map(|it| it.strip_prefix("description = ")),
    ) {
        let row = format!(
            "| `{}` | {} |",
            name.trim_end_matches(']'),
            description.trim_matches('"')
        );
        assert!(text.contains(&row), "{row}");
    }
}

/// A path of one machine, or a place only its maintainers can reach, helps no reader.
#[test]
fn documents_name_no_machine() {
    for document in [
        "README.md",
        "AGENTS.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "REQUIREMENTS.md",
        "SECURITY.md",
        "docs/architecture.md",
        "docs/benchmarks.md",
        "docs/downstream.md",
        "docs/http.md",
        "docs/mtdf.md",
        "docs/sandbox.md",
        "docs/settings.md",
        "docs/setup.md",
    ] {
        let text = read(document);
        for word in ["/home/", "/root/", "/work/", "/Users/", "C:\\"] {
            assert!(!text.contains(word), "{document} holds {word}");
        }
    }
}
