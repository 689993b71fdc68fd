//! Settings of the user that commands miss without a word: aliases of git and of the shell, and who git commits as.

use std::path::Path;

use super::case::{Case, Named};
use super::complaints::Complaint;
use super::denied::Denial;
use super::phrases::Class;
use super::places::shown;
use super::refused::home_private;
use super::script::Simple;

/// Longer names are more likely mistyped than an alias.
const LONGEST_ALIAS: usize = 3;

pub(super) fn judge(case: &Case<'_>, complaint: &Complaint) -> Option<Denial> {
    if !complaint.says(Class::NoCommand) {
        return None;
    }
    let home = case.view.user_home?;
    let identity = [
        "tell me who you are",
        "identity unknown",
        "empty ident name",
    ];
    if identity.iter().any(|it| complaint.line.contains(it)) {
        return Some(git_settings(home));
    }
    let file = if complaint.line.contains("is not a git command") {
        let alias = super::candidates::quoted(&complaint.line)
            .into_iter()
            .next()?;
        (alias.len() <= LONGEST_ALIAS).then_some(".gitconfig")?
    } else {
        let is_interactive = |command: &Simple| {
            let mut options = command
                .arguments()
                .iter()
                .filter(|word| word.starts_with('-') && !word.starts_with("--"));
            matches!(command.name(), "bash" | "zsh") && options.any(|word| word.contains('i'))
        };
        let shell = case
            .script
            .commands
            .iter()
            .find(|command| is_interactive(command))?;
        if shell.name() == "zsh" {
            ".zshrc"
        } else {
            ".bashrc"
        }
    };
    let named = Named {
        name: format!("~/{file}"),
        path: home.join(file),
    };
    let denial = home_private(&named);
    Some(Denial {
        text: format!(
            "The name is probably an alias from the user's ~/{file}, which commands do not see: they have a home \
             directory of their own. Write the command out; trying again will not help. The owner can let commands \
             read the file with `--sandbox-read {}`.",
            shown(&named.path)
        ),
        ..denial
    })
}

/// A question about the user's own settings of git, which has no answer here.
pub(super) fn unsaid(case: &Case<'_>) -> Option<Denial> {
    let is_asked = |command: &Simple| {
        let words = command.arguments();
        let is_global = words.iter().any(|word| word == "--global");
        let named = words
            .iter()
            .filter(|word| word.contains('.') && !word.starts_with('-'));
        command.name() == "git" && command.action() == "config" && is_global && named.count() == 1
    };
    let is_empty = case.failure.output.trim().is_empty() && case.failure.exit_code == Some(1);
    let asks = is_empty && case.script.commands.iter().any(is_asked);
    asks.then(|| case.view.user_home.map(git_settings))
        .flatten()
}

fn git_settings(home: &Path) -> Denial {
    let named = Named {
        name: "~/.gitconfig".to_owned(),
        path: home.join(".gitconfig"),
    };
    let text = format!(
        "Commands do not see the user's ~/.gitconfig, because they have a home directory of their own, so git does \
         not know what is set there: trying again will not help. Set it for the project (`git config user.name …`), \
         or the owner can let commands read the file with `--sandbox-read {}`.",
        shown(&named.path)
    );
    Denial {
        text,
        ..home_private(&named)
    }
}
