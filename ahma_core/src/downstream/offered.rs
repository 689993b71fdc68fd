//! Definitions of other servers under their names here: prefixed, filtered, renamed, and never less careful than they were.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::upstream::Upstream;
use crate::config::downstream::{Annotations, ServerSpec};
use crate::registry::{ForeignCall, ForeignDefinition, ForeignError, ForeignResult, ForeignTool};

/// Clients refuse longer names.
const MAX_NAME: usize = 48;
/// Tools of one server that are listed, unless the operator says which.
const MAX_LISTED: usize = 40;
/// A longer definition is not offered: every client would have to read it.
pub(super) const MAX_DEFINITION: usize = 256 * 1024;

/// A tool of another server.
struct UpstreamTool {
    upstream: Arc<Upstream>,
    name: String,
    takes_mode: bool,
}

impl fmt::Debug for UpstreamTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} of {}", self.name, self.upstream.name())
    }
}

impl ForeignTool for UpstreamTool {
    fn server(&self) -> &str {
        self.upstream.name()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn timeout(&self) -> Duration {
        self.upstream.spec().timeout
    }

    fn takes_mode(&self) -> bool {
        self.takes_mode
    }

    fn call(&self, call: ForeignCall) -> BoxFuture<'static, Result<ForeignResult, ForeignError>> {
        let upstream = self.upstream.serving(call.session.as_ref());
        let name = self.name.clone();
        Box::pin(async move { upstream.call(&name, call).await })
    }
}

/// What is offered of a server, and what of it cannot be.
#[derive(Default)]
pub(super) struct Offered {
    pub(super) tools: Vec<ForeignDefinition>,
    /// Why tools are not offered.
    pub(super) faults: Vec<String>,
}

/// Turns the definitions of a server into what is offered of it.
pub(super) fn of(upstream: &Arc<Upstream>, definitions: &[Value]) -> Offered {
    let spec = upstream.spec();
    let mut offered = Offered::default();
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    let (mut listed, mut schemas) = (0, Schemas::default());
    for definition in definitions {
        let Some(theirs) = definition["name"].as_str() else {
            let fault = "a tool of it has no name".to_owned();
            offered.faults.push(fault);
            continue;
        };
        if !is_allowed(spec, theirs) {
            continue;
        }
        let name = name(spec, theirs);
        let whole = adapted(spec, definition, &name);
        let text = whole.to_string();
        let is_too_long = text.len() > MAX_DEFINITION;
        let tool: Result<Tool, _> = serde_json::from_value(whole);
        let tool = match tool {
            Ok(tool) if !is_too_long => schemas.fitting(tool),
            Ok(_) => {
                let limit = MAX_DEFINITION >> 10;
                let fault = format!("`{theirs}`: its definition is longer than {limit} KiB");
                offered.faults.push(fault);
                continue;
            }
            Err(error) => {
                offered
                    .faults
                    .push(format!("`{theirs}`: its definition is wrong: {error}"));
                continue;
            }
        };
        if let Some(first) = by_name.get(&name).copied() {
            // Nobody could say which one is meant.
            offered.faults.push(format!(
                "`{theirs}`: the name `{name}` is claimed twice; none of them is offered"
            ));
            by_name.insert(name, usize::MAX);
            if let Some(tool) = offered.tools.get_mut(first) {
                tool.is_listed = false;
            }
            continue;
        }
        let is_core = match &spec.tools.core {
            Some(core) => core.iter().any(|it| it == theirs),
            None => listed < MAX_LISTED,
        };
        listed += usize::from(is_core);
        by_name.insert(name, offered.tools.len());
        offered.tools.push(ForeignDefinition {
            whole: is_more(&tool, &text).then(|| text.into()),
            tool: Arc::new(tool),
            runner: Arc::new(UpstreamTool {
                upstream: Arc::clone(upstream),
                name: theirs.to_owned(),
                takes_mode: takes_mode(definition),
            }),
            is_listed: is_core,
        });
    }
    let twice = |tool: &ForeignDefinition| by_name.get(&*tool.tool.name) == Some(&usize::MAX);
    offered.tools.retain(|tool| !twice(tool));
    offered
}

/// Whether a definition says more than the SDK knows, or in another order.
fn is_more(tool: &Tool, whole: &str) -> bool {
    serde_json::to_string(tool).ok().as_deref() != Some(whole)
}

/// The schemas of one server, each once, however many tools have it: many take nothing, or one text.
#[derive(Default)]
struct Schemas(HashMap<String, Arc<JsonObject>>);

impl Schemas {
    /// A tool whose schemas take no more room than they need.
    fn fitting(&mut self, mut tool: Tool) -> Tool {
        tool.input_schema = self.once(&tool.input_schema);
        tool.output_schema = tool.output_schema.map(|it| self.once(&it));
        tool
    }

    fn once(&mut self, schema: &JsonObject) -> Arc<JsonObject> {
        // By its text: the order of its fields is kept, and tells it from others.
        let text = serde_json::to_string(schema).unwrap_or_default();
        // What was read has room to grow, and copies have not.
        let kept = self.0.entry(text);
        Arc::clone(kept.or_insert_with(|| Arc::new(schema.clone())))
    }
}

fn is_allowed(spec: &ServerSpec, theirs: &str) -> bool {
    let is_in = |names: &[String]| names.iter().any(|it| it == theirs);
    let is_allowed = spec.tools.allow.as_deref().is_none_or(is_in);
    is_allowed && !is_in(&spec.tools.deny)
}

/// Whether calls of a tool may say how they are answered: it takes further arguments, has none of that name, and promises no
/// shape of its results.
fn takes_mode(definition: &Value) -> bool {
    let schema = &definition["inputSchema"];
    let is_closed = ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|it| schema[it] == false);
    schema["type"] == "object"
        && schema["properties"]["execution_mode"].is_null()
        && !is_closed
        && definition["outputSchema"].is_null()
}

/// The name of a tool here. Depends on nothing but its server's entry and its own name.
fn name(spec: &ServerSpec, theirs: &str) -> String {
    let renamed = spec.tools.rename.get(theirs);
    prefixed(spec, renamed.map_or(theirs, String::as_str))
}

/// A name of a server with its prefix, of letters and a length that clients take.
pub(super) fn prefixed(spec: &ServerSpec, own: &str) -> String {
    let whole = match spec.prefix.as_str() {
        "" => own.to_owned(),
        prefix => format!("{prefix}_{own}"),
    };
    let is_usual = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let plain = whole.replace(|letter| !is_usual(letter), "_");
    if plain == whole && plain.len() <= MAX_NAME {
        return plain;
    }
    // Two names that are cut, or changed, to the same are still told apart.
    let hash = Sha256::digest(whole.as_bytes());
    let suffix: String = hash.iter().take(3).map(|it| format!("{it:02x}")).collect();
    let end = plain.len().min(MAX_NAME - 1 - suffix.len());
    format!("{}_{suffix}", &plain[..end])
}

/// The definition with its name here, and what the operator says of it.
fn adapted(spec: &ServerSpec, definition: &Value, name: &str) -> Value {
    let theirs = definition["name"].as_str().unwrap_or_default();
    let mut definition = definition.clone();
    definition["name"] = json!(name);
    if let Some(description) = spec.tools.describe.get(theirs) {
        definition["description"] = json!(description);
    }
    if let Some(rules) = spec.tools.annotations.get(theirs) {
        more_careful(&mut definition, rules);
    }
    definition
}

/// Annotations may only become more careful: what reads only may be said to write, never the other way round.
fn more_careful(definition: &mut Value, rules: &Annotations) {
    let careful = [
        ("readOnlyHint", rules.read_only, false),
        ("destructiveHint", rules.destructive, true),
        ("idempotentHint", rules.idempotent, false),
        ("openWorldHint", rules.open_world, true),
    ];
    if !definition["annotations"].is_object() {
        definition["annotations"] = json!({});
    }
    for (field, said, careful) in careful {
        if said == Some(careful) {
            definition["annotations"][field] = json!(careful);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: C28.
    #[test]
    fn a_call_says_how_it_is_answered_where_that_cannot_be_meant_for_the_tool() {
        let open = json!({ "inputSchema": { "type": "object", "properties": { "x": {} } } });
        assert!(takes_mode(&open));
        assert!(takes_mode(&json!({ "inputSchema": { "type": "object" } })));
        let with = |field: &str, value: Value| {
            let mut definition = open.clone();
            *definition.pointer_mut(field).unwrap() = value;
            definition
        };
        let own = json!({ "execution_mode": { "type": "string" } });
        assert!(!takes_mode(&with("/inputSchema/properties", own)));
        let closed = json!({ "type": "object", "additionalProperties": false });
        assert!(!takes_mode(&with("/inputSchema", closed)));
        assert!(!takes_mode(&with("/inputSchema", json!({}))));
        let mut shaped = open.clone();
        shaped["outputSchema"] = json!({ "type": "object" });
        assert!(!takes_mode(&shaped));
    }
}
