//! Settings of the user that commands miss without a word: aliases of git and of the shell.

use super::case::{Case, Named};
use super::complaints::Complaint;
use super::denied::Denial;
use super::phrases::Class;
use super::refused::home_private;
use super::script::Simple;

/// Longer names are more likely mistyped than an alias.
const LONGEST_ALIAS: usize = 3;

pub(super) fn judge(case: &Case<'_>, complaint: &Complaint) -> Option<Denial> {
    if !complaint.says(Class::NoCommand) {
        return None;
    }
    let home = case.view.user_home?;
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
            "The name is probably an alias from the user's ~/{file}, which commands do not see: they have a home directory of their own. Write the command out; \
             trying again will not help. The owner can let commands read the file with `--sandbox-read {}`.",
            super::places::shown(&named.path)
        ),
        ..denial
    })
}
