//! The lines that show how a command is used: `prog [-v] [--level N] <FILE> [ARG]...`. Reads words, brackets and dots; must not
//! know tables.

use super::flag_spec::{self, SpelledFlag};
use super::help::HelpPositional;

/// What one such line shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// Words without a flag, in order.
    pub(super) positionals: Vec<HelpPositional>,
    /// Flags, with their values.
    pub(super) flags: Vec<UsageFlag>,
    /// Whether a subcommand stands there.
    pub(super) has_subcommand: bool,
    /// Values in braces that stand where a subcommand could.
    pub(super) braces: Vec<String>,
}

/// A flag in a usage line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct UsageFlag {
    /// It, and its value.
    pub(super) flag: SpelledFlag,
    /// Another name of it, when the two are alone in their brackets.
    pub(super) other: Option<String>,
    /// Whether it stands in brackets.
    pub(super) is_optional: bool,
    /// Whether it may be repeated.
    pub(super) is_repeated: bool,
}

/// Reads a line; the words of the command itself come first.
pub(super) fn form(line: &str, command: &[String]) -> Form {
    let mut rest = line.trim();
    // What the program calls itself.
    rest = flag_spec::word(rest).1.trim_start();
    for word in command {
        if let Some(after) = rest.strip_prefix(word.as_str())
            && (after.is_empty() || after.starts_with(' '))
        {
            rest = after.trim_start();
        }
    }
    brackets(rest)
}

/// Reads what stands behind the command.
pub(super) fn brackets(rest: &str) -> Form {
    let mut form = Form::default();
    let joined = join_dots(&tokens(rest));
    read(&joined, false, &mut form);
    join_repeated(&mut form.positionals);
    form
}

/// Words, each with its brackets closed.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (word, after) = flag_spec::word(rest);
        if word.is_empty() {
            rest = rest.get(1..).unwrap_or_default().trim_start();
            continue;
        }
        tokens.push(word.to_owned());
        rest = after.trim_start_matches([',', ' ']);
    }
    tokens
}

/// Puts dots that stand alone to the word before them.
fn join_dots(tokens: &[String]) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for token in tokens {
        let is_dots =
            token.trim_matches(['.', '[', ']', '…']).is_empty() && token.contains(['.', '…']);
        match joined.last_mut() {
            Some(last) if is_dots => last.push_str("..."),
            _ => joined.push(token.clone()),
        }
    }
    joined
}

fn read(tokens: &[String], is_optional: bool, form: &mut Form) {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        let (token, is_repeated) = without_dots(token);
        if token.starts_with('-') {
            let value = tokens.get(at).map(|it| without_dots(it));
            let value = value.filter(|(it, _)| is_value(it));
            if flag(
                token,
                value.map(|(it, _)| it),
                (is_optional, is_repeated),
                form,
            ) {
                at += 1;
                // `[--corner X Y]`
                while let Some(more) = tokens.get(at).filter(|it| is_optional && is_value(it))
                    && let Some(flag) = form.flags.last_mut()
                {
                    flag.flag.values.push(more.clone());
                    at += 1;
                }
            }
        } else if let Some(inner) = enclosed(token, '[', ']') {
            optional(inner, is_repeated, form);
        } else if let Some(inner) = enclosed(token, '{', '}').or(enclosed(token, '(', ')')) {
            braces(inner, is_optional, is_repeated, form);
        } else if token != "|" && token != "--" {
            positional(token, is_optional, is_repeated, form);
        }
    }
}

/// What stands in square brackets.
fn optional(inner: &str, is_repeated: bool, form: &mut Form) {
    let inner = inner.trim();
    if inner.starts_with(['+', '.']) || inner == "--" {
        return;
    }
    let alternatives = alternatives(inner);
    if alternatives.len() > 1 && alternatives.iter().any(|it| it.starts_with('-')) {
        let before = form.flags.len();
        for alternative in &alternatives {
            // Alternatives of a value, not of the flag.
            let is_flag = alternative.starts_with('-');
            if is_flag || form.flags.len() == before {
                read(&join_dots(&tokens(alternative)), true, form);
            }
        }
        pair(&mut form.flags, before, is_repeated);
        return;
    }
    if alternatives.len() > 1 {
        // The first stands for all.
        positional(alternatives[0].trim(), true, is_repeated, form);
        return;
    }
    let before = form.positionals.len();
    let flags = form.flags.len();
    read(&join_dots(&tokens(inner)), true, form);
    if is_repeated {
        for positional in form.positionals.iter_mut().skip(before) {
            positional.is_repeated = true;
        }
        for flag in form.flags.iter_mut().skip(flags) {
            flag.is_repeated = true;
        }
    }
}

/// `[-E|--save-exact]`: two names of one flag.
fn pair(flags: &mut Vec<UsageFlag>, from: usize, is_repeated: bool) {
    for flag in flags.iter_mut().skip(from) {
        flag.is_repeated |= is_repeated;
    }
    if let [short, long] = &flags[from..]
        && !short.flag.is_long()
        && long.flag.is_long()
        && !long.flag.text.starts_with("--no-")
    {
        let mut both = long.clone();
        both.other = Some(short.flag.text.clone());
        flags.truncate(from);
        flags.push(both);
    }
}

/// `{a,b}` or `(a|b)` in place of a word.
fn braces(inner: &str, is_optional: bool, is_repeated: bool, form: &mut Form) {
    if inner.contains('-') && inner.trim_start().starts_with('-') {
        for alternative in alternatives(inner) {
            read(&join_dots(&tokens(alternative.trim())), true, form);
        }
        return;
    }
    let choices: Vec<String> = inner
        .split([',', '|'])
        .map(|it| it.trim().to_owned())
        .filter(|it| !it.is_empty())
        .collect();
    if is_repeated {
        form.has_subcommand = true;
        form.braces = choices;
        return;
    }
    form.positionals.push(HelpPositional {
        name: "choice".to_owned(),
        is_required: !is_optional,
        choices,
        ..HelpPositional::default()
    });
}

/// A flag; whether the next word was its value.
fn flag(
    token: &str,
    value: Option<&str>,
    (is_optional, is_repeated): (bool, bool),
    form: &mut Form,
) -> bool {
    let Some((spec, rest)) = flag_spec::parse(token) else {
        return false;
    };
    let Some(mut flag) = spec.flags.into_iter().next() else {
        return false;
    };
    if !rest.is_empty() {
        // `-Dname`: what is the flag and what its value cannot be told.
        return false;
    }
    let takes_value = value.is_some() && flag.values.is_empty();
    if let (true, Some(value)) = (takes_value, value) {
        flag.values = vec![value.to_owned()];
    }
    form.flags.push(UsageFlag {
        flag,
        other: None,
        is_optional,
        is_repeated,
    });
    takes_value
}

fn is_value(token: &str) -> bool {
    !token.starts_with(['-', '|', '['])
        || (token.starts_with('[') && !token.starts_with("[-") && token.contains(':'))
}

fn positional(token: &str, is_optional: bool, is_repeated: bool, form: &mut Form) {
    let name = token.trim_start_matches('<').trim_end_matches('>').trim();
    let lower = name.to_ascii_lowercase();
    let bare = lower.trim_matches(['<', '>', '.', '[', ']']);
    const OPTIONS: [&str; 8] = [
        "option",
        "options",
        "flag",
        "flags",
        "switch",
        "switches",
        "global options",
        "opts",
    ];
    if OPTIONS.contains(&bare)
        || bare.ends_with("-options")
        || bare.ends_with(" options")
        || bare.ends_with(" option")
    {
        return;
    }
    if matches!(bare, "command" | "subcommand" | "cmd") && form.positionals.is_empty() {
        form.has_subcommand = true;
    }
    let alternatives = alternatives(name);
    let are_values = alternatives.len() > 1
        && !token.starts_with('[')
        && alternatives.iter().all(|it| {
            it.chars()
                .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-')
        });
    let choices = match are_values && token.starts_with('<') {
        true => alternatives.iter().map(|it| (*it).to_owned()).collect(),
        false => Vec::new(),
    };
    if !name.starts_with(|it: char| it.is_ascii_alphabetic()) {
        return;
    }
    form.positionals.push(HelpPositional {
        name: match choices.is_empty() {
            true => alternatives[0].trim_end_matches(['>', ' ']).to_owned(),
            false => "choice".to_owned(),
        },
        is_required: !is_optional,
        is_repeated,
        choices,
        text: Vec::new(),
    });
}

/// `file [file ...]` is one or more.
fn join_repeated(positionals: &mut Vec<HelpPositional>) {
    let mut at = 0;
    while at + 1 < positionals.len() {
        let (one, next) = (&positionals[at], &positionals[at + 1]);
        let same = one.name.trim_end_matches(|it: char| it.is_ascii_digit())
            == next.name.trim_end_matches(|it: char| it.is_ascii_digit());
        if same && next.is_repeated {
            positionals[at].is_repeated = true;
            positionals.remove(at + 1);
        } else {
            at += 1;
        }
    }
}

fn without_dots(token: &str) -> (&str, bool) {
    let bare = token.trim_end_matches(['.', '…', '*', '+']);
    let repeats =
        token.len() > bare.len() && (token.ends_with("...") || token.ends_with(['…', '*', '+']));
    (bare, repeats)
}

fn enclosed(token: &str, open: char, close: char) -> Option<&str> {
    token.strip_prefix(open)?.strip_suffix(close)
}

/// What `|` divides, outside of brackets.
pub(super) fn alternatives(text: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0_usize, 0);
    let mut all = Vec::new();
    for (at, letter) in text.char_indices() {
        match letter {
            '[' | '<' | '{' | '(' => depth += 1,
            ']' | '>' | '}' | ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => {
                all.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(text[start..].trim());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let form = form(line, &["sub".to_owned()]);
        let flags = form.flags.iter().map(|it| {
            let values = it.flag.values.join("+");
            let other = it.other.as_deref().unwrap_or_default();
            format!("{}{other}({values})", it.flag.text)
        });
        let words = form.positionals.iter().map(|it| {
            let must = if it.is_required { "!" } else { "" };
            let more = if it.is_repeated { "*" } else { "" };
            format!("{}{must}{more}{}", it.name, it.choices.join("/"))
        });
        let sub = form.has_subcommand.then(|| "SUB".to_owned());
        flags.chain(words).chain(sub).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn usage_lines_are_read_as_each_style_writes_them() {
        for (line, expected) in [
            ("wc [OPTION]... [FILE]...", "FILE*"),
            ("cp [OPTION]... [-T] SOURCE DEST", "-T() SOURCE! DEST!"),
            ("prog sub [flags] <arg> [<rest>...]", "arg! rest*"),
            (
                "prog [-h] [--count COUNT] file [file ...]",
                "-h() --count(COUNT) file!*",
            ),
            ("prog [--corner X Y] file", "--corner(X+Y) file!"),
            ("prog [-h] {run,stop} ...", "-h() SUB"),
            ("prog [OPTIONS] <COMMAND>", "COMMAND! SUB"),
            (
                "prog [-E|--save-exact] [-a rounds]",
                "--save-exact-E() -a(rounds)",
            ),
            (
                "prog [--omit <dev|peer> [--omit <dev|peer> ...]]",
                "--omit(<dev|peer>) --omit(<dev|peer>)",
            ),
            (
                "git status [<options>] [--] [<pathspec>...]",
                "status! pathspec*",
            ),
            ("prog -f krl_file [-u] file ...", "-f(krl_file) -u() file!*"),
            ("make [options] [target] ...", "target*"),
            (
                "node [options] [ script.js ] [arguments]",
                "script.js arguments",
            ),
            ("cargo [+toolchain] [OPTIONS] [COMMAND]", "COMMAND SUB"),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }
}
