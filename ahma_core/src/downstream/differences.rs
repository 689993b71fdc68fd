//! Differences between approved definitions and those of now, for people, and what is approved once they are taken over.
//! Must not decide whether a tool may be called.

use serde_json::Value;

use super::record::{Record, changed_fields};

/// A tool that is not as approved.
#[derive(Debug, PartialEq)]
pub(crate) enum Difference {
    /// It has another definition.
    Changed {
        tool: String,
        fields: Vec<FieldChange>,
    },
    /// It was not there when the others were approved.
    New { tool: String, definition: Value },
    /// It is not there any more.
    Gone { tool: String },
}

/// A field of a definition that is another one than was approved; none where there is no such field.
#[derive(Debug, PartialEq)]
pub(crate) struct FieldChange {
    pub(crate) field: String,
    pub(crate) approved: Option<Value>,
    pub(crate) now: Option<Value>,
}

impl Difference {
    /// The tool, as its server names it.
    pub(crate) fn tool(&self) -> &str {
        match self {
            Difference::Changed { tool, .. }
            | Difference::New { tool, .. }
            | Difference::Gone { tool } => tool,
        }
    }
}

/// What of the definitions of now is not as approved: changed ones, new ones, then those that are gone.
pub(crate) fn differences(approved: &[Value], now: &[Value]) -> Vec<Difference> {
    let record = Record::of_tools(approved.to_vec());
    let compared = record.compare(now);
    let changed = compared.changed.into_keys().filter_map(|tool| {
        let (before, after) = (find(approved, &tool)?, find(now, &tool)?);
        let field = |field: &str| FieldChange {
            field: field.to_owned(),
            approved: before.get(field).cloned(),
            now: after.get(field).cloned(),
        };
        let fields = changed_fields(before, after);
        let fields = fields.into_iter().map(field).collect();
        Some(Difference::Changed { tool, fields })
    });
    let new = compared.new.into_iter().filter_map(|tool| {
        let definition = find(now, &tool)?.clone();
        Some(Difference::New { tool, definition })
    });
    let gone = compared.gone.into_iter();
    let gone = gone.map(|tool| Difference::Gone { tool });
    changed.chain(new).chain(gone).collect()
}

/// What is approved once some tools are as they are now, and the others as before. In the order of the server.
pub(crate) fn taken_over(approved: &[Value], now: &[Value], tools: &[String]) -> Vec<Value> {
    let is_taken = |tool: &Value| tools.iter().any(|it| tool["name"] == it.as_str());
    let name = |tool: &Value| tool["name"].as_str().map(ToOwned::to_owned);
    let of_now = now.iter().filter_map(|tool| match is_taken(tool) {
        true => Some(tool.clone()),
        false => find(approved, &name(tool)?).cloned(),
    });
    let is_gone = |tool: &&Value| name(tool).is_some_and(|it| find(now, &it).is_none());
    let kept = approved.iter().filter(|it| is_gone(it) && !is_taken(it));
    of_now.chain(kept.cloned()).collect()
}

fn find<'d>(tools: &'d [Value], name: &str) -> Option<&'d Value> {
    tools.iter().find(|it| it["name"] == name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Proves: C25.
    #[test]
    fn only_named_tools_are_taken_over_the_others_stay_as_approved() {
        let approved = [
            json!({ "name": "a", "description": "1" }),
            json!({ "name": "b", "description": "1" }),
            json!({ "name": "old" }),
            json!({ "name": "older" }),
        ];
        let now = [
            json!({ "name": "new" }),
            json!({ "name": "b", "description": "2" }),
            json!({ "name": "a", "description": "2" }),
            json!({ "name": "newer" }),
        ];
        let tools = ["a", "new", "old"].map(ToOwned::to_owned);
        assert_eq!(
            taken_over(&approved, &now, &tools),
            [
                json!({ "name": "new" }),
                json!({ "name": "b", "description": "1" }),
                json!({ "name": "a", "description": "2" }),
                json!({ "name": "older" }),
            ]
        );
        let left = differences(&taken_over(&approved, &now, &tools), &now);
        let left: Vec<&str> = left.iter().map(Difference::tool).collect();
        assert_eq!(left, ["b", "newer", "older"]);
    }
}
