//! The tools of all sources, merged. Immutable.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::model::Tool;
use serde::Serialize;
use serde_json::Value;

use super::declared::DeclaredTools;
use super::entry::ToolEntry;

/// What is offered at one moment.
#[derive(Debug)]
pub(crate) struct ToolSnapshot {
    by_name: HashMap<String, Arc<ToolEntry>>,
    listed: Arc<[Arc<Tool>]>,
    /// Tools that can be called and are not listed, in the order of the files.
    hidden: Vec<Arc<ToolEntry>>,
    /// The tools that are listed, where some of them have fields that the SDK does not know.
    with_more: Option<Vec<Arc<ToolEntry>>>,
    shadowed: Vec<Shadowed>,
    declared: Arc<DeclaredTools>,
    foreign: Arc<[Arc<ToolEntry>]>,
}

/// Built-in tools that are only of use where tools are not listed.
const FOR_HIDDEN: [&str; 2] = ["find_tools", "call_tool"];

/// Where tools come from.
struct ToolSource<'s> {
    name: &'static str,
    entries: &'s [Arc<ToolEntry>],
}

/// A tool that is not offered, because one of the same name comes from a source before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Shadowed {
    /// The name.
    pub name: String,
    /// The source whose tool is offered.
    pub by: &'static str,
    /// The source whose tool is not.
    pub source: &'static str,
}

impl ToolSnapshot {
    /// Merges the sources in this order: of two tools of one name the first is offered, and the other is reported.
    pub(super) fn merge(
        built_in: &[Arc<ToolEntry>],
        declared: Arc<DeclaredTools>,
        foreign: Arc<[Arc<ToolEntry>]>,
    ) -> ToolSnapshot {
        let sources = [
            ToolSource {
                name: "built-in tool",
                entries: built_in,
            },
            ToolSource {
                name: "tool of a tool file",
                entries: declared.entries(),
            },
            ToolSource {
                name: "tool of another server",
                entries: &foreign,
            },
        ];
        let mut origins: HashMap<&str, &'static str> = HashMap::new();
        let mut by_name = HashMap::new();
        let mut shadowed = Vec::new();
        let mut offered = Vec::new();
        for ToolSource {
            name: source,
            entries,
        } in sources
        {
            for entry in entries {
                let name: &str = &entry.definition.name;
                if let Some(by) = origins.get(name) {
                    shadowed.push(Shadowed {
                        name: name.to_owned(),
                        by,
                        source,
                    });
                    continue;
                }
                origins.insert(name, source);
                by_name.insert(name.to_owned(), Arc::clone(entry));
                offered.push(entry);
            }
        }
        let hidden = offered.iter().filter(|it| it.is_available && !it.is_listed);
        let hidden: Vec<Arc<ToolEntry>> = hidden.map(|it| Arc::clone(it)).collect();
        // What finds and calls the others is of no use where there are none.
        let is_of_use = |entry: &ToolEntry| {
            !hidden.is_empty() || !FOR_HIDDEN.contains(&&*entry.definition.name)
        };
        let listed = offered.iter().filter(|it| it.is_listed && is_of_use(it));
        let listed: Vec<&Arc<ToolEntry>> = listed.copied().collect();
        let has_more = listed.iter().any(|it| it.whole.is_some());
        let with_more = has_more.then(|| listed.iter().map(|it| Arc::clone(it)).collect());
        let listed: Vec<Arc<Tool>> = listed.iter().map(|it| Arc::clone(&it.definition)).collect();
        ToolSnapshot {
            by_name,
            hidden,
            listed: listed.into(),
            with_more,
            shadowed,
            declared,
            foreign,
        }
    }

    /// The tools that are listed, built-in ones first, then in the order of the files.
    pub(crate) fn listed(&self) -> &Arc<[Arc<Tool>]> {
        &self.listed
    }

    /// The same with fields that the SDK does not know, where there are such.
    pub(crate) fn whole(&self) -> Option<Vec<Value>> {
        let whole = |it: &Arc<ToolEntry>| match &it.whole {
            Some(whole) => serde_json::from_str(whole).unwrap_or_default(),
            None => serde_json::to_value(&*it.definition).unwrap_or_default(),
        };
        let entries = self.with_more.as_ref()?;
        Some(entries.iter().map(whole).collect())
    }

    /// The tools of other servers.
    pub(crate) fn foreign(&self) -> &Arc<[Arc<ToolEntry>]> {
        &self.foreign
    }

    /// The tools that can be called and are not listed.
    pub(crate) fn hidden(&self) -> &[Arc<ToolEntry>] {
        &self.hidden
    }

    /// The tool of that name, unless it is known not to be available.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        self.by_name.get(name)
    }

    /// The names of all tools that can be called.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Tools that others of the same name keep from being offered.
    pub(crate) fn shadowed(&self) -> &[Shadowed] {
        &self.shadowed
    }

    /// What the tool files say.
    pub(crate) fn declared(&self) -> &Arc<DeclaredTools> {
        &self.declared
    }

    /// How many tools of tool files are listed.
    pub(crate) fn declared_count(&self) -> usize {
        let entries = self.declared.entries().iter();
        entries.filter(|entry| entry.is_listed).count()
    }
}
