//! Help of Git, and of programs that print `usage: git …` and a table: `[<options>]`, `--[no-]x`, `<name>`.

use super::help::Help;
use super::layout::Layout;

pub(super) fn is_it(layout: &Layout) -> bool {
    let is_named = layout.usage.iter().any(|it| it.starts_with("git "));
    let has_options = layout.usage.iter().any(|it| it.contains("<options>"));
    let rows = layout.sections.iter().flat_map(|it| &it.options);
    let mut flags = rows.flat_map(|it| &it.spec.flags);
    is_named || has_options || flags.any(|it| it.is_negatable)
}

pub(super) fn refine(help: &mut Help) {
    for option in &mut help.options {
        // `[no-]` of a flag with a value only takes it back.
        let has_value = option.spec.with_value().is_some();
        for flag in &mut option.spec.flags {
            flag.is_negatable &= !has_value;
        }
    }
    for positional in &mut help.positionals {
        // More than a path: it has a language of its own.
        positional.is_repeated |= positional.name == "pathspec";
    }
}
