//! Prompts and resources of all servers together: under which names they are offered, and whose each is. Must not fetch any.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use regex::{Regex, RegexBuilder};
use rmcp::model::{Prompt, Resource, ResourceTemplate};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::offered::{MAX_DEFINITION, prefixed};
use super::record::Record;
use super::upstream::Upstream;
use crate::registry::ContentLists;

/// Kinds of resources of one server; each takes its time with every resource that nobody lists.
const MAX_TEMPLATES: usize = 200;
/// A longer one is no template that anybody has written.
const MAX_TEMPLATE: usize = 2048;

/// What they offer beside tools.
#[derive(Default)]
pub(super) struct Content {
    /// Taken by whoever tells others of it.
    pub(super) offered: ContentLists,
    /// By their names here: whose they are, and their names there.
    prompts: HashMap<String, (Arc<Upstream>, String)>,
    resources: HashMap<String, Arc<Upstream>>,
    templates: Vec<(Template, Arc<Upstream>)>,
}

/// A kind of resources. Most are never asked for, and a pattern takes much room.
struct Template {
    text: String,
    pattern: OnceLock<Option<Regex>>,
}

impl Template {
    fn new(text: &str) -> Result<Self, String> {
        pattern(text)?;
        Ok(Template {
            text: text.to_owned(),
            pattern: OnceLock::new(),
        })
    }

    fn is_match(&self, uri: &str) -> bool {
        let pattern = self.pattern.get_or_init(|| pattern(&self.text).ok());
        pattern.as_ref().is_some_and(|it| it.is_match(uri))
    }
}

impl Content {
    /// Adds what a server offers; returns why some of it is not offered.
    pub(super) fn add(&mut self, upstream: &Arc<Upstream>, record: &Record) -> Vec<String> {
        let mut faults = Vec::new();
        self.add_prompts(upstream, &record.prompts, &mut faults);
        for resource in &record.resources {
            match checked::<Resource>(resource, "uri") {
                Ok(uri) if self.resources.contains_key(uri) => {
                    faults.push(format!(
                        "`{uri}`: a resource of this URI is offered already"
                    ));
                }
                Ok(uri) => {
                    self.resources.insert(uri.to_owned(), Arc::clone(upstream));
                    self.offered.resources.push(resource.clone());
                }
                Err(fault) => faults.push(fault),
            }
        }
        for (number, template) in record.resource_templates.iter().enumerate() {
            if number >= MAX_TEMPLATES {
                let fault = format!("only {MAX_TEMPLATES} of its resource templates are offered");
                faults.push(fault);
                break;
            }
            match checked::<ResourceTemplate>(template, "uriTemplate").and_then(Template::new) {
                Ok(kind) => {
                    self.templates.push((kind, Arc::clone(upstream)));
                    self.offered.resource_templates.push(template.clone());
                }
                Err(fault) => faults.push(fault),
            }
        }
        faults
    }

    fn add_prompts(
        &mut self,
        upstream: &Arc<Upstream>,
        prompts: &[Value],
        faults: &mut Vec<String>,
    ) {
        let spec = upstream.spec();
        let (mut names, mut twice) = (HashSet::new(), HashSet::new());
        for prompt in prompts {
            let name = prompt["name"].as_str().map(|it| prefixed(spec, it));
            twice.extend(name.filter(|it| !names.insert(it.clone())));
        }
        for prompt in prompts {
            let theirs = match checked::<Prompt>(prompt, "name") {
                Ok(theirs) => theirs,
                Err(fault) => {
                    faults.push(fault);
                    continue;
                }
            };
            let name = prefixed(spec, theirs);
            // Nobody could say which one is meant.
            if twice.contains(&name) || self.prompts.contains_key(&name) {
                faults.push(format!(
                    "`{theirs}`: the name `{name}` of a prompt is claimed twice"
                ));
                continue;
            }
            let mut definition = prompt.clone();
            definition["name"] = json!(name);
            self.offered.prompts.push(definition);
            let owner = (Arc::clone(upstream), theirs.to_owned());
            self.prompts.insert(name, owner);
        }
    }

    /// Whose prompt this is, and its name there.
    pub(super) fn prompt(&self, name: &str) -> Option<&(Arc<Upstream>, String)> {
        self.prompts.get(name)
    }

    /// Whose resource this is: one that is listed, or of a kind that is.
    pub(super) fn resource(&self, uri: &str) -> Option<&Arc<Upstream>> {
        let of_kind = || {
            let found = self.templates.iter().find(|(kind, _)| kind.is_match(uri));
            found.map(|(_, upstream)| upstream)
        };
        self.resources.get(uri).or_else(of_kind)
    }
}

/// The field that a definition is known by, when the definition is one.
fn checked<'d, T: DeserializeOwned>(definition: &'d Value, field: &str) -> Result<&'d str, String> {
    let Some(known_by) = definition[field].as_str() else {
        return Err(format!("one of its definitions has no `{field}`"));
    };
    let shown = &known_by[..known_by.floor_char_boundary(200)];
    if definition.to_string().len() > MAX_DEFINITION {
        let limit = MAX_DEFINITION >> 10;
        return Err(format!(
            "`{shown}`: its definition is longer than {limit} KiB"
        ));
    }
    match serde_json::from_value::<T>(definition.clone()) {
        Ok(_) => Ok(known_by),
        Err(error) => Err(format!("`{shown}`: its definition is wrong: {error}")),
    }
}

/// What the URIs of a template look like. An expression stands for one segment, unless it says that it may be more.
fn pattern(template: &str) -> Result<Regex, String> {
    let wrong = || format!("`{template:.200}`: it is not a URI template");
    if template.len() > MAX_TEMPLATE {
        return Err(wrong());
    }
    let (mut pattern, mut rest) = ("^".to_owned(), template);
    while let Some((literal, after)) = rest.split_once('{') {
        let (expression, after) = after.split_once('}').ok_or_else(wrong)?;
        let spans_segments = expression.starts_with(['+', '#', '/', '?', '&', ';', '.']);
        pattern.push_str(&regex::escape(literal));
        pattern.push_str(match spans_segments || expression.ends_with('*') {
            true => ".*",
            false => "[^/?#]*",
        });
        rest = after;
    }
    pattern.push_str(&regex::escape(rest));
    pattern.push('$');
    let built = RegexBuilder::new(&pattern)
        .dot_matches_new_line(true)
        .build();
    built.map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: C27.
    #[test]
    fn a_template_stands_for_one_segment_unless_it_says_more() {
        let matches = |template: &str, uri: &str| pattern(template).unwrap().is_match(uri);
        assert!(matches("test://{id}", "test://a.b"));
        assert!(!matches("test://{id}", "test://a/b"));
        assert!(!matches("test://{id}", "other://a"));
        assert!(matches("file://{+path}/x", "file:///a/b/x"));
        assert!(!matches("file://{+path}/x", "file:///a/b/y"));
        assert!(matches("db://{table}/rows{?limit}", "db://t/rows?limit=1"));
        assert!(matches("git://{path*}", "git://a/b"));
        assert!(!matches("a.c://x", "abc://x"), "a point is a point");
        assert!(pattern("test://{id").is_err());
    }
}
