//! A draft against our own loader. What it would reject is taken out of the draft, with a note; must not let a faulty file through.

use std::path::PathBuf;

use super::tool::ToolDraft;
use super::write;
use crate::config::files::SourceFile;
use crate::config::{Fault, ServerFacts, load};

/// How often something is taken out.
const MAX_ROUNDS: usize = 200;

/// A tool file that the loader accepts.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The text of the file.
    pub(crate) text: String,
    /// How many tools it offers.
    pub(crate) tools: usize,
    /// How many arguments they have together.
    pub(crate) arguments: usize,
    /// How many places should be looked at.
    pub(crate) doubts: usize,
    /// What was left out, and why.
    pub(crate) left_out: Vec<String>,
}

/// Writes a draft and has it checked. What is wrong with it when nothing can be taken out any more.
pub(crate) fn checked(
    mut tool: ToolDraft,
    asked: &str,
    facts: &ServerFacts,
) -> Result<Draft, String> {
    let mut dropped = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let text = write::text(&tool, asked);
        let Some(fault) = first_fault(&text, facts) else {
            let mut left_out = tool.left_out("");
            left_out.extend(dropped);
            return Ok(Draft {
                text,
                tools: tool.leaves(),
                arguments: tool.arguments(),
                doubts: tool.doubts(),
                left_out,
            });
        };
        match take_out(&mut tool, &fault.pointer) {
            Some(what) => dropped.push(format!("{what}: {}", fault.message)),
            None => return Err(fault.message),
        }
    }
    Err("too much of it is not accepted".to_owned())
}

fn first_fault(text: &str, facts: &ServerFacts) -> Option<Fault> {
    let source = SourceFile {
        path: PathBuf::from("draft.json"),
        content: Ok(text.as_bytes().to_vec()),
    };
    let catalog = load(vec![source], facts);
    let rejected = catalog.rejected.into_iter().flat_map(|it| it.faults);
    let warned = catalog.warned.into_iter().flat_map(|it| it.warnings);
    rejected.chain(warned).next()
}

/// Removes the smallest part that a pointer leads to; its name.
fn take_out(tool: &mut ToolDraft, pointer: &str) -> Option<String> {
    let mut steps = pointer.split('/').skip(1);
    let (list, index) = (steps.next()?, steps.next()?.parse::<usize>().ok()?);
    let rest: Vec<&str> = steps.collect();
    match list {
        "subcommand" => {
            let below = tool.subcommands.get_mut(index)?;
            let deeper = take_out(below, &format!("/{}", rest.join("/")));
            deeper.or_else(|| Some(tool.subcommands.remove(index).name))
        }
        "options" if index < tool.options.len() => Some(tool.options.remove(index).name),
        // Those behind it stand where they stand because of it.
        "positional_args" if index < tool.positionals.len() => {
            let name = tool.positionals[index].name.clone();
            tool.positionals.truncate(index);
            Some(name)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tool::{ArgumentDraft, ArgumentKind};
    use super::super::values::Kind;
    use super::*;

    fn argument(name: &str) -> ArgumentDraft {
        ArgumentDraft {
            name: name.to_owned(),
            ..ArgumentDraft::default()
        }
    }

    #[test]
    fn what_the_loader_would_reject_is_taken_out_with_a_note() {
        let below = ToolDraft {
            name: "run".to_owned(),
            description: "Runs.".to_owned(),
            options: vec![argument("good"), argument("b d"), argument("good")],
            positionals: vec![ArgumentDraft {
                kind: ArgumentKind::One(Kind::Path),
                ..argument("file")
            }],
            ..ToolDraft::default()
        };
        let nameless = ToolDraft {
            name: "a_b".to_owned(),
            ..below.clone()
        };
        let tool = ToolDraft {
            name: "demo".to_owned(),
            description: "Demo.".to_owned(),
            command: Some("demo".to_owned()),
            subcommands: vec![nameless, below],
            ..ToolDraft::default()
        };
        let draft = checked(tool, "new demo", &ServerFacts::default()).unwrap();
        assert_eq!((draft.tools, draft.arguments), (1, 2));
        let names: Vec<&str> = draft
            .left_out
            .iter()
            .filter_map(|it| it.split(':').next())
            .collect();
        assert!(
            names.contains(&"a_b") && names.contains(&"b d") && names.contains(&"good"),
            "{names:?}"
        );
    }

    #[test]
    fn a_tool_that_cannot_be_mended_is_no_draft() {
        let tool = ToolDraft {
            name: "-".to_owned(),
            description: "Demo.".to_owned(),
            command: Some("demo".to_owned()),
            ..ToolDraft::default()
        };
        assert!(checked(tool, "new demo", &ServerFacts::default()).is_err());
    }
}
