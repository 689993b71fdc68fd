//! A tool file that is being drafted. Plain data, in the shape of the file, so that a place in the one is a place in the other.

use super::effects::Effect;
use super::values::Kind;

/// A tool, or a subcommand of one.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolDraft {
    pub(super) name: String,
    pub(super) description: String,
    /// Only of the tool itself.
    pub(super) command: Option<String>,
    pub(super) fixed_args: Vec<String>,
    /// Whether the tools are only found by searching.
    pub(super) is_found_only: bool,
    pub(super) effect: Option<Effect>,
    pub(super) options: Vec<ArgumentDraft>,
    pub(super) positionals: Vec<ArgumentDraft>,
    pub(super) subcommands: Vec<ToolDraft>,
    /// What whoever reads the file should look at.
    pub(super) doubts: Vec<String>,
    /// What was left out, and why.
    pub(super) left_out: Vec<String>,
}

/// An option or a positional argument.
#[derive(Debug, Clone, Default)]
pub(super) struct ArgumentDraft {
    pub(super) name: String,
    pub(super) kind: ArgumentKind,
    pub(super) choices: Vec<String>,
    pub(super) description: Option<String>,
    pub(super) is_required: bool,
    /// The flag, where it is not `--name`.
    pub(super) flag: Option<String>,
    pub(super) negated_flag: Option<String>,
    /// How the value is passed, where that is not usual for the flag.
    pub(super) value_style: Option<&'static str>,
    pub(super) doubt: Option<String>,
}

/// What an argument takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ArgumentKind {
    /// Nothing: the flag is there or not.
    #[default]
    Flag,
    /// One value.
    One(Kind),
    /// Several.
    Many(Kind),
}

impl ToolDraft {
    /// How many tools the file offers.
    pub(super) fn leaves(&self) -> usize {
        match self.subcommands.is_empty() {
            true => 1,
            false => self.subcommands.iter().map(ToolDraft::leaves).sum(),
        }
    }

    /// How many arguments they have together.
    pub(super) fn arguments(&self) -> usize {
        let below: usize = self.subcommands.iter().map(ToolDraft::arguments).sum();
        self.options.len() + self.positionals.len() + below
    }

    /// How many places should be looked at.
    pub(super) fn doubts(&self) -> usize {
        let arguments = self.options.iter().chain(&self.positionals);
        let own = arguments.filter(|it| it.doubt.is_some()).count() + self.doubts.len();
        own + self
            .subcommands
            .iter()
            .map(ToolDraft::doubts)
            .sum::<usize>()
    }

    /// What was left out, and of which command.
    pub(super) fn left_out(&self, above: &str) -> Vec<String> {
        let name = match above.is_empty() {
            true => self.name.clone(),
            false => format!("{above} {}", self.name),
        };
        let own = self.left_out.iter().map(|it| format!("{name}: {it}"));
        let below = self.subcommands.iter().flat_map(|it| it.left_out(&name));
        own.chain(below).collect()
    }
}
