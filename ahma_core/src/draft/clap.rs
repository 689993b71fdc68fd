//! Help of Rust programs: `[possible values: …]`, `[default: …]`, `<VALUE>...`.

use super::help::Help;
use super::layout::Layout;

pub(super) fn is_it(text: &str, layout: &Layout) -> bool {
    let rows = layout.sections.iter().flat_map(|it| &it.options);
    let mut flags = rows.flat_map(|it| &it.spec.flags);
    let has_angles =
        flags.any(|it| !it.is_joined && it.values.iter().any(|it| it.starts_with('<')));
    let is_shown = layout.usage.iter().any(|it| it.contains("[OPTIONS]"));
    is_shown && (has_angles || text.contains("Print help") || text.contains("Prints help"))
}

pub(super) fn refine(help: &mut Help) {
    for option in &mut help.options {
        let text = option.whole_text().replace('\n', " ");
        option.choices = noted(&text, "possible values")
            .map(|list| list.split(',').map(|it| it.trim().to_owned()).collect())
            .unwrap_or_else(|| listed(&option.text));
        option.default = noted(&text, "default").map(|it| it.trim_matches('"').to_owned());
        let repeats = |it: &String| it.trim_end().ends_with("...");
        let value = option.spec.with_value();
        option.is_repeated |= value.is_some_and(|it| it.values.last().is_some_and(repeats));
    }
    for positional in &mut help.positionals {
        let text = positional.text.join(" ");
        if let Some(list) = noted(&text, "possible values") {
            positional.choices = list.split(',').map(|it| it.trim().to_owned()).collect();
        }
    }
}

/// What `[name: …]` says.
fn noted<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let start = text.find(&format!("[{name}: "))? + name.len() + 3;
    let end = text[start..].find(']')?;
    Some(&text[start..start + end])
}

/// The list behind `Possible values:`.
fn listed(text: &[String]) -> Vec<String> {
    let mut lines = text
        .iter()
        .skip_while(|it| it.as_str() != "Possible values:");
    lines.next();
    let entries = lines.map_while(|it| match it.as_str() {
        "" => Some(None),
        line => line.strip_prefix("- ").map(Some).or(Some(None)),
    });
    let names = entries.flatten().filter_map(|it| it.split(':').next());
    names
        .map(|it| it.trim().to_owned())
        .filter(|it| !it.contains(' '))
        .collect()
}
