//! A drafted tool as the text of a tool file, in the form that the shipped ones have. What is unsure stands in comments before it.

use std::fmt::Write as _;

use serde_json::Value;

use super::effects::Effect;
use super::tool::{ArgumentDraft, ArgumentKind, ToolDraft};
use super::values::Kind;

/// A line with one argument is no longer than this.
const WIDTH: usize = 120;

/// The text of a tool file.
pub(super) fn text(tool: &ToolDraft, asked: &str) -> String {
    let mut text = format!(
        "// Drafted by `ahma_mcp {}` from the program's own help. What says `unsure` is a guess: look at it.\n",
        one_line(asked)
    );
    object(tool, 0, &mut text);
    text.push('\n');
    text
}

fn object(tool: &ToolDraft, depth: usize, text: &mut String) {
    let outer = "  ".repeat(depth);
    let inner = "  ".repeat(depth + 1);
    let mut fields: Vec<String> = Vec::new();
    let mut field = |name: &str, value: String| fields.push(format!("{inner}\"{name}\": {value}"));
    field("name", json(&tool.name));
    let doubts = tool.doubts.iter().map(|it| unsure(it, &inner));
    let doubts: String = doubts.collect();
    field("description", json(&tool.description));
    if let Some(command) = &tool.command {
        field("command", json(command));
        if !tool.fixed_args.is_empty() {
            field("fixed_args", list(&tool.fixed_args));
        }
        if is_plain(command) {
            field("availability_check", json(&format!("which {command}")));
        }
    }
    if tool.is_found_only {
        field("core", "false".to_owned());
    }
    if let Some(effect) = tool.effect {
        let promise = match effect {
            Effect::ReadOnly => "read_only",
            Effect::Destructive => "destructive",
        };
        let why = unsure("by its name", &inner);
        fields.push(format!(
            "{why}{inner}\"annotations\": {{ \"{promise}\": true }}"
        ));
    }
    for (name, arguments) in [
        ("options", &tool.options),
        ("positional_args", &tool.positionals),
    ] {
        if !arguments.is_empty() {
            let lines: Vec<String> = arguments.iter().map(|it| argument(it, depth + 2)).collect();
            fields.push(format!(
                "{inner}\"{name}\": [\n{}\n{inner}]",
                lines.join(",\n")
            ));
        }
    }
    if !tool.subcommands.is_empty() {
        let below = tool.subcommands.iter().map(|it| {
            let mut text = "  ".repeat(depth + 2);
            object(it, depth + 2, &mut text);
            text
        });
        let below: Vec<String> = below.collect();
        fields.push(format!(
            "{inner}\"subcommand\": [\n{}\n{inner}]",
            below.join(",\n")
        ));
    }
    let _ = write!(text, "{{\n{doubts}{}\n{outer}}}", fields.join(",\n"));
}

fn argument(argument: &ArgumentDraft, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let mut fields = vec![("name", json(&argument.name))];
    let items = match argument.kind {
        ArgumentKind::Flag => {
            fields.push(("type", json("boolean")));
            Vec::new()
        }
        ArgumentKind::One(kind) => typed(kind, &argument.choices),
        ArgumentKind::Many(kind) => {
            fields.push(("type", json("array")));
            let items = typed(kind, &argument.choices);
            let items = items
                .iter()
                .map(|(name, value)| format!("\"{name}\": {value}"));
            let items = format!("{{ {} }}", items.collect::<Vec<_>>().join(", "));
            vec![("items", items)]
        }
    };
    fields.extend(items);
    if let Some(description) = &argument.description {
        fields.push(("description", json(description)));
    }
    if argument.is_required {
        fields.push(("required", "true".to_owned()));
    }
    if let Some(flag) = &argument.flag {
        fields.push(("flag", json(flag)));
    }
    if let Some(flag) = &argument.negated_flag {
        fields.push(("negated_flag", json(flag)));
    }
    if let Some(style) = argument.value_style {
        fields.push(("value_style", json(style)));
    }
    let fields: Vec<String> = fields
        .into_iter()
        .map(|(name, value)| format!("\"{name}\": {value}"))
        .collect();
    let doubt = argument
        .doubt
        .as_deref()
        .map(|it| unsure(it, &indent))
        .unwrap_or_default();
    let line = format!("{indent}{{ {} }}", fields.join(", "));
    if line.chars().count() <= WIDTH {
        return format!("{doubt}{line}");
    }
    let inner = format!(",\n{indent}  ");
    format!(
        "{doubt}{indent}{{\n{indent}  {}\n{indent}}}",
        fields.join(&inner)
    )
}

/// The fields that say what one value is.
fn typed(kind: Kind, choices: &[String]) -> Vec<(&'static str, String)> {
    let name = match kind {
        Kind::Text | Kind::Path => "string",
        Kind::Integer => "integer",
        Kind::Number => "number",
    };
    let mut fields = vec![("type", json(name))];
    if kind == Kind::Path {
        fields.push(("format", json("path")));
    }
    if !choices.is_empty() {
        fields.push(("enum", list(choices)));
    }
    fields
}

fn unsure(why: &str, indent: &str) -> String {
    format!("{indent}// unsure: {}\n", one_line(why))
}

/// A text in a comment, which ends with its line.
fn one_line(text: &str) -> String {
    let letters = text
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it });
    letters.collect()
}

fn list(all: &[String]) -> String {
    let all: Vec<String> = all.iter().map(|it| json(it)).collect();
    format!("[{}]", all.join(", "))
}

fn json(text: &str) -> String {
    Value::from(text).to_string()
}

/// Whether a program is a name that is looked for on PATH.
fn is_plain(command: &str) -> bool {
    command
        .chars()
        .all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.' | '+'))
}
