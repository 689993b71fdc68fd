//! From a help text to what it says: parts, the style they are of, and what the style adds.

use super::clean;
use super::flag_spec::FlagSpec;
use super::headings::SectionKind;
use super::help::{Help, HelpOption, HelpSubcommand};
use super::layout::{Layout, NameRow, layout};
use super::style::{refine, style_of};
use super::usage::{self, Form, UsageFlag};

/// Reads the help of a command whose words, without the program, are these. None when it is no help.
pub(crate) fn read(text: &str, command: &[String]) -> Option<Help> {
    let lines = clean::lines(text);
    let layout = layout(&lines);
    let forms = forms(&layout, command);
    let mut help = Help {
        style: style_of(&lines, &layout),
        about: about(&layout),
        subcommands: subcommands(&layout, &forms),
        ..Help::default()
    };
    options(&layout, &forms, &mut help);
    positionals(&layout, &forms, &mut help);
    refine(&mut help);
    merge_negations(&mut help.options);
    help.options.iter_mut().for_each(find_negation);
    let has_table = help.options.len() + help.subcommands.len() >= 2;
    (has_table || !layout.usage.is_empty()).then_some(help)
}

/// What a help text says of a subcommand that has no text of its own: what stands in its row.
pub(crate) fn of_row(above: &Help, subcommand: &str) -> Help {
    let mut rows = above.subcommands.iter().filter(|it| it.name == subcommand);
    let usage = rows.next().map(|it| it.usage.as_str()).unwrap_or_default();
    Help {
        style: above.style,
        positionals: usage::brackets(usage).positionals,
        forms: 1,
        is_of_row: true,
        ..Help::default()
    }
}

/// Whether a text is a page of the manual.
pub(crate) fn is_manual_page(text: &str) -> bool {
    let lines = clean::lines(text);
    let mut lines = lines.iter().map(|it| it.trim()).filter(|it| !it.is_empty());
    let first = lines.next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    let is_title = |it: &str| it.ends_with(')') && it.contains('(');
    match words.as_slice() {
        [one, .., last] => is_title(one) && one == last,
        _ => false,
    }
}

/// The command lines that are shown, but for those that ask for help.
fn forms(layout: &Layout, command: &[String]) -> Vec<Form> {
    let mut forms: Vec<Form> = layout
        .usage
        .iter()
        .map(|line| usage::form(line, command))
        .filter(|form| {
            let mut asked = form.flags.iter().filter(|it| !it.is_optional);
            let asks_for_help = asked.any(|it| {
                let name = it.flag.name();
                matches!(name, "help" | "version" | "h")
            });
            !asks_for_help
        })
        .collect();
    if !layout.brackets.is_empty() {
        let mut further = usage::brackets(&layout.brackets.join(" "));
        further.positionals.clear();
        further.has_subcommand = false;
        forms.push(further);
    }
    forms
}

fn about(layout: &Layout) -> Option<String> {
    let of = |kind: SectionKind, is_behind: bool| {
        let sections = layout.sections.iter();
        let sections = sections.filter(move |it| {
            it.kind == kind
                && it.is_behind_usage == is_behind
                && (it.heading.is_empty() || kind == SectionKind::About)
        });
        sections.flat_map(|it| &it.paragraphs)
    };
    let described = of(SectionKind::About, true).chain(of(SectionKind::About, false));
    let before = of(SectionKind::Options, false);
    let behind = of(SectionKind::Options, true);
    let mut all = described.chain(before).chain(behind);
    all.find_map(|it| prose(it))
}

/// A paragraph as a description of the program, where it is one.
fn prose(paragraph: &str) -> Option<String> {
    let lines: Vec<&str> = paragraph.lines().filter(|it| !is_label(it)).collect();
    let text = lines.join(" ");
    let words = text.split_whitespace().count();
    let lower = text.to_ascii_lowercase();
    let is_complaint = [
        "unknown option",
        "unrecognized option",
        "invalid option",
        "illegal option",
        "not an option",
        "error:",
        "warning:",
        " warn ",
    ]
    .iter()
    .any(|it| lower.contains(it));
    let is_remark = [
        "see ",
        "try ",
        "use \"",
        "run '",
        "run `",
        "for more",
        "mandatory arguments",
        "copyright",
        "note:",
        "default path",
        "this is not",
    ]
    .iter()
    .any(|it| lower.starts_with(it));
    let begins = text.starts_with(|it: char| it.is_alphabetic() || matches!(it, '\'' | '`'));
    (words >= 2 && begins && !is_complaint && !is_remark).then_some(text)
}

/// A line that names the program, its version or its author.
fn is_label(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_version = |it: &str| {
        let it = it.trim_start_matches('v').trim_end_matches(',');
        it.starts_with(|it: char| it.is_ascii_digit()) && it.contains('.')
    };
    let has_version = words.len() <= 6 && words.iter().skip(1).any(|it| is_version(it));
    has_version || (line.contains('<') && line.contains('@')) || words.len() == 1
}

fn subcommands(layout: &Layout, forms: &[Form]) -> Vec<HelpSubcommand> {
    let mut found: Vec<HelpSubcommand> = Vec::new();
    let mut add = |name: &str, usage: &str, about: String| {
        let is_new = !found.iter().any(|it| it.name == name);
        let is_name = name.starts_with(|it: char| it.is_ascii_alphabetic())
            && name
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_'));
        if is_new && is_name && name != "help" {
            found.push(HelpSubcommand {
                name: name.to_owned(),
                usage: usage.trim().to_owned(),
                about,
            });
        }
    };
    let commands = layout.sections.iter();
    for section in commands.filter(|it| it.kind == SectionKind::Commands) {
        for row in &section.names {
            let end = row.left.find([' ', ',']).unwrap_or(row.left.len());
            let (name, usage) = row.left.split_at(end);
            add(
                name.trim_end_matches(['*', ':']),
                if usage.starts_with(',') { "" } else { usage },
                first_paragraph(&row.text),
            );
        }
        for line in &section.lists {
            let names = line.split([',', ' ']).filter(|it| !it.is_empty());
            names.for_each(|it| add(it, "", String::new()));
        }
    }
    // `{run,stop}` of a usage line, with rows of its own somewhere.
    for form in forms {
        for brace in &form.braces {
            let rows = || layout.sections.iter().flat_map(|it| &it.names);
            let own = rows().find(|it| it.left.split([' ', ',']).next() == Some(brace));
            let own = own.map(|it| first_paragraph(&it.text));
            // Or below the row of all of them.
            let mut below = rows().flat_map(|it| &it.text);
            let about = own.or_else(|| {
                let row = below.find_map(|it| it.strip_prefix(&format!("{brace}  ")));
                row.map(|it| it.trim().to_owned())
            });
            add(brace, "", about.unwrap_or_default());
        }
    }
    found
}

fn options(layout: &Layout, forms: &[Form], help: &mut Help) {
    let rows = layout.sections.iter().flat_map(|it| &it.options);
    for row in rows {
        let Some(main) = row.spec.main() else {
            continue;
        };
        if !help.options.iter().any(|it| it.spec.has(&main.text)) {
            help.options.push(HelpOption {
                spec: row.spec.clone(),
                text: row.text.clone(),
                ..HelpOption::default()
            });
        }
    }
    let shown = || forms.iter().flat_map(|it| &it.flags);
    for option in &mut help.options {
        let Some(in_usage) = shown().find(|it| {
            option.spec.has(&it.flag.text)
                || it.other.as_ref().is_some_and(|it| option.spec.has(it))
        }) else {
            continue;
        };
        option.is_repeated |= in_usage.is_repeated && !in_usage.flag.values.is_empty();
        // What the row leaves out, the usage line may say.
        if option.spec.with_value().is_none() && !in_usage.flag.values.is_empty() {
            for flag in &mut option.spec.flags {
                flag.values.clone_from(&in_usage.flag.values);
                flag.is_joined = in_usage.flag.is_joined;
                flag.is_optional = in_usage.flag.is_optional;
            }
        }
    }
    let has_table = help.options.iter().any(|it| !super::caution::is_help(it));
    if !has_table {
        for flag in shown() {
            if !help.options.iter().any(|it| it.spec.has(&flag.flag.text)) {
                help.options.push(of_usage(flag));
            }
        }
    }
}

fn of_usage(flag: &UsageFlag) -> HelpOption {
    let mut flags = vec![flag.flag.clone()];
    if let Some(other) = &flag.other {
        let mut other_flag = flag.flag.clone();
        other_flag.text.clone_from(other);
        flags.push(other_flag);
    }
    HelpOption {
        spec: FlagSpec {
            flags,
            has_slash: false,
        },
        is_repeated: flag.is_repeated && !flag.flag.values.is_empty(),
        ..HelpOption::default()
    }
}

fn positionals(layout: &Layout, forms: &[Form], help: &mut Help) {
    let has_commands = !help.subcommands.is_empty();
    let mut with_subcommand = forms.iter().filter(|it| it.has_subcommand && has_commands);
    if let Some(form) = with_subcommand.next() {
        let words = form.positionals.iter().filter(|it| it.is_required);
        let words = words.map(|it| it.name.clone());
        help.before_subcommand = words
            .take_while(|it| {
                !matches!(
                    it.to_ascii_lowercase().as_str(),
                    "command" | "subcommand" | "cmd"
                )
            })
            .collect();
    }
    let forms: Vec<&Form> = forms
        .iter()
        .filter(|it| !(has_commands && it.has_subcommand))
        .collect();
    let shown: Vec<&&Form> = forms
        .iter()
        .filter(|it| !it.positionals.is_empty())
        .collect();
    let lines = forms.len() - usize::from(!layout.brackets.is_empty());
    help.forms = forms
        .iter()
        .take(lines)
        .filter(|it| !it.positionals.is_empty() || !it.flags.is_empty())
        .count();
    let Some(first) = shown.first() else {
        return;
    };
    help.positionals.clone_from(&first.positionals);
    // What one of the command lines does without need not be given.
    let fewest = forms.iter().map(|form| {
        let required = form.positionals.iter().filter(|it| it.is_required);
        required.count()
    });
    let fewest = match layout.brackets.is_empty() {
        true => fewest.min().unwrap_or(0),
        false => usize::MAX,
    };
    for positional in help.positionals.iter_mut().skip(fewest) {
        positional.is_required = false;
    }
    for positional in &mut help.positionals {
        let rows = layout.sections.iter();
        let mut rows = rows
            .filter(|it| it.kind == SectionKind::Arguments)
            .flat_map(|it| &it.names);
        if let Some(row) = rows.find(|it| is_about(it, &positional.name)) {
            positional.text.clone_from(&row.text);
        }
    }
}

/// Whether a row of arguments is about this one.
fn is_about(row: &NameRow, name: &str) -> bool {
    let plain = |it: &str| {
        let letters = it.chars().filter(char::is_ascii_alphanumeric);
        letters.collect::<String>().to_ascii_lowercase()
    };
    plain(&row.left) == plain(name)
}

/// `--x` and `--no-x` in rows of their own are one flag.
fn merge_negations(options: &mut Vec<HelpOption>) {
    let plain: Vec<(usize, String)> = options
        .iter()
        .enumerate()
        .filter(|(_, it)| it.spec.with_value().is_none())
        .filter_map(|(at, it)| Some((at, it.spec.main()?.text.clone())))
        .collect();
    let mut merged = Vec::new();
    for (at, flag) in &plain {
        let Some(name) = flag.strip_prefix("--no-") else {
            continue;
        };
        let positive = plain
            .iter()
            .find(|(_, it)| it.strip_prefix("--") == Some(name));
        if let Some((positive, _)) = positive {
            let flags = options[*at].spec.flags.clone();
            options[*positive].spec.flags.extend(flags);
            merged.push(*at);
        }
    }
    let mut at = 0;
    options.retain(|_| {
        at += 1;
        !merged.contains(&(at - 1))
    });
}

/// The flag that takes another back: `--[no-]x`, or `--no-x` beside `--x`.
fn find_negation(option: &mut HelpOption) {
    let Some(main) = option.spec.main() else {
        return;
    };
    let opposite = format!("--no-{}", main.name());
    let is_there = main.is_negatable || (main.is_long() && option.spec.has(&opposite));
    if is_there && option.spec.with_value().is_none() {
        option.negated = Some(opposite);
    }
}

/// The first paragraph of a text.
fn first_paragraph(text: &[String]) -> String {
    let lines = text.iter().take_while(|it| !it.is_empty());
    lines.map(String::as_str).collect::<Vec<_>>().join(" ")
}
