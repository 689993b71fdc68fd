//! Flags that no draft offers: those that only tell about the program, and those whose value is run. Must leave out rather too much.

use super::flag_spec::SpelledFlag;
use super::help::HelpOption;

/// Whether the flag only prints help or the version.
pub(super) fn is_help(option: &HelpOption) -> bool {
    const LONG: [&str; 13] = [
        "help",
        "version",
        "usage",
        "h",
        "?",
        "copyright",
        "license",
        "help-all",
        "help-env",
        "fullhelp",
        "long-help",
        "print-completions",
        "info",
    ];
    let has_long = option.spec.flags.iter().any(SpelledFlag::is_long);
    let names = || option.spec.flags.iter().map(SpelledFlag::name);
    let is_word = |it: &str| LONG.contains(&it) && it.len() > 1 || it.starts_with("help-");
    if names().any(|it| is_word(it) && it != "info" && it != "license" && it != "copyright") {
        return true;
    }
    let text = option.whole_text().to_ascii_lowercase();
    let text = text.trim_start();
    let tells = ["print", "show", "display", "output", "give", "get"]
        .iter()
        .any(|it| text.starts_with(it));
    let about = ["version", "help", "usage", "license", "copyright"]
        .iter()
        .any(|it| text.contains(it));
    let ends = text.contains("exit") || text.contains("quit") || !has_long;
    let is_letter = names().any(|it| {
        matches!(
            it,
            "h" | "V" | "v" | "H" | "L" | "license" | "copyright" | "info"
        )
    });
    option.spec.with_value().is_none() && is_letter && tells && about && ends
}

/// Why the flag is dangerous to offer; none when it is not known to be.
pub(super) fn danger(option: &HelpOption) -> Option<&'static str> {
    let value = option.spec.with_value()?;
    let words = |text: &str| -> Vec<String> {
        let all = text
            .split(|it: char| !it.is_ascii_alphanumeric())
            .filter(|it| !it.is_empty());
        all.map(str::to_ascii_lowercase).collect()
    };
    const PROGRAMS: [&str; 10] = [
        "command",
        "commands",
        "cmd",
        "program",
        "prog",
        "executable",
        "shell",
        "script",
        "cmdline",
        "commandline",
    ];
    const NAMES: [&str; 22] = [
        "exec",
        "execute",
        "execdir",
        "command",
        "cmd",
        "program",
        "prog",
        "pager",
        "editor",
        "shell",
        "hook",
        "hooks",
        "eval",
        "rsh",
        "runner",
        "preprocessor",
        "plugin",
        "plugins",
        "pre",
        "askpass",
        "wrapper",
        "interpreter",
    ];
    let named = value.values.iter().flat_map(|it| words(it));
    if named.into_iter().any(|it| PROGRAMS.contains(&it.as_str())) {
        return Some("its value is a program to run");
    }
    let is_flag_for_programs = option.spec.flags.iter().any(|flag| {
        let name = flag.name();
        matches!(name, "upload-pack" | "receive-pack")
            || words(name).iter().any(|it| NAMES.contains(&it.as_str()))
    });
    if is_flag_for_programs {
        return Some("its value may be run");
    }
    let is_setting = value.values.iter().any(|it| {
        let upper = it.to_ascii_uppercase();
        upper.contains("KEY=VAL") || upper.contains("NAME=VAL") || upper.contains("NAME>=<VAL")
    });
    let is_config = option
        .spec
        .flags
        .iter()
        .any(|it| matches!(it.name(), "config" | "c" | "set" | "option"));
    if is_setting && is_config {
        return Some("it changes any setting, also those that name programs");
    }
    let text = option.whole_text().to_ascii_lowercase();
    let first = text.split(". ").next().unwrap_or_default();
    let spoken = words(first);
    let runs = [
        "run", "runs", "execute", "executes", "exec", "invoke", "invokes", "pipe", "pipes",
        "spawn", "evaluate", "filter", "eval",
    ];
    let what = [
        "command",
        "program",
        "script",
        "shell",
        "executable",
        "interpreter",
        "makefile",
        "code",
    ];
    let says = |list: &[&str]| spoken.iter().any(|it| list.contains(&it.as_str()));
    (says(&runs) && says(&what)).then_some("its value may be run")
}
