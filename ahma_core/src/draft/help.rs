//! What a help text says of a command. Plain data; nothing here decides what of it is offered.

use super::flag_spec::FlagSpec;

/// How a help text is written: which family of programs it looks like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Style {
    /// Programs of Rust.
    Clap,
    /// The standard library of Python.
    Argparse,
    /// Programs of Python.
    Click,
    /// Programs of Go.
    Cobra,
    /// Git and what is like it.
    Git,
    /// Programs of the GNU project.
    Gnu,
    /// Flags in usage lines alone.
    Bsd,
    /// None of these.
    #[default]
    Plain,
}

/// What a help text says of a command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Help {
    /// How the text is written.
    pub(super) style: Style,
    /// The first paragraph about it.
    pub(super) about: Option<String>,
    /// Its flags, in the order of the text.
    pub(super) options: Vec<HelpOption>,
    /// Words without a flag, in order.
    pub(super) positionals: Vec<HelpPositional>,
    /// How many different command lines it shows.
    pub(super) forms: usize,
    /// Words that have to stand before a subcommand.
    pub(super) before_subcommand: Vec<String>,
    /// Whether only a row in the text of another command is known.
    pub(super) is_of_row: bool,
    /// What it is followed by.
    pub(super) subcommands: Vec<HelpSubcommand>,
}

/// A flag, or several that mean the same.
#[derive(Debug, Clone, Default)]
pub(super) struct HelpOption {
    /// What stands on the left.
    pub(super) spec: FlagSpec,
    /// What stands on the right, paragraph by paragraph.
    pub(super) text: Vec<String>,
    /// The flag that takes it back.
    pub(super) negated: Option<String>,
    /// Whether it has to be given.
    pub(super) is_required: bool,
    /// Whether it may be given several times, each time with a value.
    pub(super) is_repeated: bool,
    /// The values it takes.
    pub(super) choices: Vec<String>,
    /// What it is without being given.
    pub(super) default: Option<String>,
    /// The word for its type, where the style has such words.
    pub(super) type_word: Option<TypeWord>,
    /// Why it may be misunderstood.
    pub(super) doubt: Option<String>,
}

/// A type that a style of help has a word for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeWord {
    Text,
    Integer,
    Number,
    Path,
    Texts,
    Integers,
}

/// A word without a flag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HelpPositional {
    /// Its name in the text.
    pub(super) name: String,
    /// Whether it has to be given.
    pub(super) is_required: bool,
    /// Whether there may be several.
    pub(super) is_repeated: bool,
    /// The values it takes.
    pub(super) choices: Vec<String>,
    /// What the text says of it.
    pub(super) text: Vec<String>,
}

/// A word that makes it another command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HelpSubcommand {
    /// The word.
    pub(super) name: String,
    /// What stands behind it in its row, as in a usage line.
    pub(super) usage: String,
    /// What the text says of it.
    pub(super) about: String,
}

impl Help {
    /// Its subcommands, each with what is said of it.
    pub(crate) fn subcommands(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.subcommands.iter();
        all.map(|it| (it.name.as_str(), it.about.as_str()))
    }

    /// What is said of a subcommand.
    pub(crate) fn about_subcommand(&self, name: &str) -> Option<&str> {
        let found = self.subcommands.iter().find(|it| it.name == name);
        found
            .map(|it| it.about.as_str())
            .filter(|it| !it.is_empty())
    }
}

impl Style {
    /// Whether programs of the family take `--flag=value`, also where their help shows a space.
    pub(super) fn joins_values(self) -> bool {
        !matches!(self, Style::Bsd | Style::Plain)
    }
}

impl HelpOption {
    /// All that stands on the right.
    pub(super) fn whole_text(&self) -> String {
        self.text.join("\n")
    }
}
