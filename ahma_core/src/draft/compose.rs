//! From what help texts say to a tool file: which of it is offered, under which names and types, and what is unsure. Leaves out what
//! is dangerous or cannot be said by a tool file; must not read texts.

use super::caution;
use super::effects;
use super::flag_spec::SpelledFlag;
use super::help::{Help, HelpOption, HelpPositional};
use super::naming;
use super::sentence;
use super::tool::{ArgumentDraft, ArgumentKind, ToolDraft};
use super::values;

/// Arguments that a tool may have.
const MAX_ARGUMENTS: usize = 100;
/// With more tools than this, a file is not listed whole.
const MAX_LISTED: usize = 5;
/// Letters of a default that is worth naming.
const MAX_DEFAULT: usize = 40;

/// What was read of a command and of those below it.
#[derive(Debug, Default)]
pub(crate) struct Branch {
    /// Its last word.
    pub(crate) word: String,
    /// What the text above it says of it.
    pub(crate) about: Option<String>,
    /// What its own text says.
    pub(crate) help: Help,
    /// Commands below it.
    pub(crate) branches: Vec<Branch>,
    /// Commands below it that were left out, and why.
    pub(crate) left_out: Vec<String>,
}

/// Drafts a file for a program, or for one of its subcommands.
pub(crate) fn compose(name: String, program: &str, command: &[String], root: &Branch) -> ToolDraft {
    let mut tool = level(root, &shown(program, command));
    tool.name = name;
    tool.command = Some(program.to_owned());
    tool.fixed_args = command.to_vec();
    tool.is_found_only = tool.leaves() > MAX_LISTED;
    tool
}

fn shown(program: &str, command: &[String]) -> String {
    let words = std::iter::once(program).chain(command.iter().map(String::as_str));
    words.collect::<Vec<_>>().join(" ")
}

fn level(branch: &Branch, command: &str) -> ToolDraft {
    let mut tool = ToolDraft {
        name: branch.word.clone(),
        left_out: branch.left_out.clone(),
        ..ToolDraft::default()
    };
    let sentence = |it: &Option<String>| sentence::first(std::slice::from_ref(it.as_ref()?));
    let known = sentence(&branch.about).or_else(|| sentence(&branch.help.about));
    tool.description = known.unwrap_or_else(|| {
        tool.doubts
            .push("the help does not say what it does".to_owned());
        format!("Runs `{command}`.")
    });
    if !branch.branches.is_empty() && !branch.help.before_subcommand.is_empty() {
        let words = branch.help.before_subcommand.join(", ");
        tool.doubts.push(format!(
            "the help has this stand before the subcommand, where no argument can stand: {words}"
        ));
    }
    for below in &branch.branches {
        let Some(name) = naming::subcommand_name(&below.word) else {
            let why = format!("{}: a subcommand cannot have this name", below.word);
            tool.left_out.push(why);
            continue;
        };
        let mut drafted = level(below, &format!("{command} {name}"));
        drafted.name = name;
        tool.subcommands.push(drafted);
    }
    if tool.subcommands.is_empty() {
        let word = branch.word.rsplit('/').next().unwrap_or_default();
        tool.effect = effects::by_name(word);
        arguments(&branch.help, &mut tool);
    }
    tool
}

fn arguments(help: &Help, tool: &mut ToolDraft) {
    let mut taken: Vec<String> = Vec::new();
    for option in &help.options {
        if caution::is_help(option) {
            continue;
        }
        match drafted(option, help, &taken) {
            Ok(argument) => {
                taken.push(argument.name.clone());
                tool.options.push(argument);
            }
            Err(why) => tool.left_out.push(why),
        }
    }
    positionals(help, &taken, tool);
    let most = MAX_ARGUMENTS.saturating_sub(tool.positionals.len());
    if tool.options.len() > most {
        let more = tool.options.len() - most;
        tool.options.truncate(most);
        tool.left_out.push(format!(
            "{more} further options: a tool takes {MAX_ARGUMENTS} arguments"
        ));
    }
}

/// An option, or why there is none.
fn drafted(option: &HelpOption, help: &Help, taken: &[String]) -> Result<ArgumentDraft, String> {
    let main = option.spec.main().ok_or("a row without a flag")?;
    let flag = &main.text;
    if let Some(why) = caution::danger(option) {
        return Err(format!("{flag}: {why}"));
    }
    if is_one_word_with_its_value(main) {
        return Err(format!(
            "{flag}: where the flag ends and its value begins is not clear"
        ));
    }
    let name = naming::argument_name(main.name(), taken);
    let mut argument = ArgumentDraft {
        flag: (format!("--{name}") != *flag).then(|| flag.clone()),
        is_required: option.is_required,
        description: described(option),
        doubt: option.doubt.clone(),
        name,
        ..ArgumentDraft::default()
    };
    let Some(valued) = option.spec.with_value() else {
        argument.negated_flag.clone_from(&option.negated);
        argument.is_required = false;
        return Ok(argument);
    };
    let several = valued.values.len() > 1 && !valued.values[1].starts_with("...");
    if several {
        return Err(format!("{flag}: takes several values"));
    }
    let joins = main.is_joined || (main.is_long() && help.style.joins_values());
    if main.is_optional || (valued.is_optional && main.values.is_empty()) {
        if !(joins && main.is_long()) {
            argument.doubt = Some("a value may stand behind it, which is left out here".to_owned());
            return Ok(argument);
        }
        argument.doubt = Some("its value may be left out, which a call cannot do".to_owned());
    }
    let value = valued
        .values
        .first()
        .map(String::as_str)
        .unwrap_or_default();
    let guess = values::of_option(option, value);
    let is_several = option.is_repeated || says_several(&option.whole_text());
    argument.kind = match is_several {
        true => ArgumentKind::Many(guess.kind),
        false => ArgumentKind::One(guess.kind),
    };
    argument.choices = guess.choices;
    argument.doubt = argument.doubt.or(guess.doubt);
    argument.value_style = match (main.is_long(), joins) {
        (true, false) => Some("separate"),
        (false, true) => Some("equals"),
        _ => None,
    };
    Ok(argument)
}

/// `-Idirectory`: a flag and the name of its value in one word.
fn is_one_word_with_its_value(flag: &SpelledFlag) -> bool {
    let name = flag.name();
    let mut letters = name.chars();
    let begins = letters.next().is_some_and(|it| it.is_ascii_uppercase());
    !flag.is_long() && begins && name.len() > 3 && letters.all(|it| it.is_ascii_lowercase())
}

fn says_several(text: &str) -> bool {
    let text = text.replace('\n', " ").to_ascii_lowercase();
    const SAYING: [&str; 10] = [
        "multiple times",
        "may be repeated",
        "can be repeated",
        "repeatable",
        "more than once",
        "several times",
        "may be specified multiple",
        "can be specified multiple",
        "can be used multiple",
        "may be given multiple",
    ];
    SAYING.iter().any(|it| text.contains(it))
}

fn described(option: &HelpOption) -> Option<String> {
    let sentence = sentence::first(&option.text);
    // A usage line has no other words for it.
    let sentence = sentence.or_else(|| {
        let value = option.spec.with_value()?.values.first()?;
        let is_word = value.len() > 1
            && value
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '-'));
        is_word.then(|| format!("{value}."))
    });
    let default = option.default.as_deref();
    let default =
        default.filter(|it| !it.is_empty() && it.len() <= MAX_DEFAULT && !it.contains('`'));
    match (sentence, default) {
        (Some(sentence), Some(default)) if !sentence.contains(default) => {
            Some(format!("{sentence} Default: {default}."))
        }
        (None, Some(default)) => Some(format!("Default: {default}.")),
        (sentence, _) => sentence,
    }
}

fn positionals(help: &Help, taken: &[String], tool: &mut ToolDraft) {
    let mut taken = taken.to_vec();
    let mut had_optional = false;
    for positional in &help.positionals {
        let mut argument = positional_draft(positional, &taken);
        if had_optional && argument.is_required {
            argument.is_required = false;
            argument.doubt = Some("it may be required".to_owned());
        }
        had_optional |= !argument.is_required;
        taken.push(argument.name.clone());
        tool.positionals.push(argument);
    }
    if help.is_of_row {
        tool.doubts
            .push("it has no help of its own: its options are not known".to_owned());
    }
    if help.forms > 1 && !tool.positionals.is_empty() {
        tool.doubts.push(format!(
            "the help shows {} command lines; the positional arguments are those of the first",
            help.forms
        ));
    }
}

fn positional_draft(positional: &HelpPositional, taken: &[String]) -> ArgumentDraft {
    let lower = positional.name.to_ascii_lowercase();
    let guess = values::of_positional(positional);
    let runs = ["command", "cmd", "program", "prog", "utility"].contains(&lower.as_str());
    let doubt = runs.then(|| "this runs another program, in the same sandbox".to_owned());
    ArgumentDraft {
        name: naming::argument_name(&lower, taken),
        kind: match positional.is_repeated {
            true => ArgumentKind::Many(guess.kind),
            false => ArgumentKind::One(guess.kind),
        },
        choices: guess.choices,
        description: sentence::first(&positional.text),
        is_required: positional.is_required,
        doubt: doubt.or(guess.doubt),
        ..ArgumentDraft::default()
    }
}
