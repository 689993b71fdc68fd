//! What is allowed in a tool file and most likely not meant: what only a shell would understand, and programs that are not there.
//! Warns; must not reject.

use std::path::Path;

use super::checks::Checks;
use super::fault::JsonLocation;
use super::field::Field;
use super::raw::{List, TextMap};
use super::server_facts::ServerFacts;

/// Letters that begin and end what a shell would find files by.
const GLOBS: [char; 3] = ['*', '?', '['];
/// What a shell would put between commands.
const OPERATORS: [&str; 5] = ["|", "&&", "||", ";", ">"];
/// What to do about what only a shell understands.
pub(super) const NO_SHELL: &str = "no shell is involved; what needs one goes to `\"command\": \"sh\"` with `\"fixed_args\": [\"-c\", …]`";

/// Looks at words that are passed on as they stand.
pub(super) fn words(list: &List<String>, place: &JsonLocation<'_>, checks: Checks<'_>) {
    // A script is for a shell.
    let mut is_script = false;
    for (index, given) in list.elements().iter().enumerate() {
        if let Field::Value(word) = given {
            if !is_script {
                self::word(word, &place.index(index), checks);
            }
            is_script = is_script || is_script_flag(word);
        }
    }
}

/// Looks at values of variables.
pub(super) fn values(map: &TextMap, place: &JsonLocation<'_>, checks: Checks<'_>) {
    for (name, given) in map.value().into_iter().flatten() {
        if let Field::Value(value) = given {
            placeholder(value, &place.key(name), checks);
        }
    }
}

/// Looks at the name of a program.
pub(super) fn program(
    given: &Field<String>,
    place: &JsonLocation<'_>,
    (facts, local_bin): (&ServerFacts, &[String]),
    checks: Checks<'_>,
) {
    let Some(program) = given.value() else { return };
    if let Some(operator) = operator(program) {
        let message =
            format!("`{operator}` in `command` is passed on as a part of the program's name");
        checks.faults.warn(place, message, NO_SHELL);
        return;
    }
    let is_elsewhere = |it: &str| !local_bin.is_empty() && !it.contains('/');
    if let Some(has_program) = facts.has_program
        && !is_elsewhere(program)
        && !program.contains(|it: char| it.is_whitespace() || it == '\0')
        && !has_program(program)
    {
        let message = format!("there is no program `{program}` on this machine");
        let hint = match Path::new(program).components().count() {
            1 => {
                "install it, correct the name, or add an `availability_check`, so that the tool is offered only where it is"
            }
            _ => "correct the path, or write the name of a program on PATH",
        };
        checks.faults.warn(place, message, hint);
    }
}

/// What a shell would put between commands, in a program's name.
pub(super) fn operator(program: &str) -> Option<&str> {
    let between_words = program
        .split_whitespace()
        .find(|word| OPERATORS.contains(word));
    // A name with a pipe in it is possible, and nobody's.
    between_words.or_else(|| program.contains('|').then_some("|"))
}

/// Whether the word behind this one is a script, or an expression of some language.
fn is_script_flag(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with(['c', 'e'])
}

fn word(word: &str, place: &JsonLocation<'_>, checks: Checks<'_>) {
    if placeholder(word, place, checks) {
        return;
    }
    if word == "~" || word.starts_with("~/") {
        let message = format!(
            "`{word}` is passed on as it stands: only a shell puts the home directory there"
        );
        let hint = "commands have a home directory of their own; name a path of the project";
        checks.faults.warn(place, message, hint);
    } else if OPERATORS.contains(&word) {
        let message = format!("`{word}` is passed on as it stands, as an argument");
        checks.faults.warn(place, message, NO_SHELL);
    } else if word.contains(GLOBS) && word.contains(['.', '/']) && !word.starts_with('-') {
        // Programs that take patterns mean them; a warning does no harm.
        let message = format!("`{word}` is passed on as it stands: only a shell finds files by it");
        checks.faults.warn(place, message, NO_SHELL);
    }
}

/// Whether a text has a place for a value, which nobody fills in.
fn placeholder(text: &str, place: &JsonLocation<'_>, checks: Checks<'_>) -> bool {
    let found = [("${", "}"), ("{{", "}}"), ("$(", ")")]
        .into_iter()
        .find_map(|(open, close)| {
            let start = text.find(open)?;
            let end = text.get(start..)?.find(close)?;
            text.get(start..start + end + close.len())
        });
    if let Some(found) = found {
        let message = format!("`{found}` is passed on as it stands: nothing is filled in here");
        let hint = "values of a call are passed on by `options` and `positional_args`";
        checks.faults.warn(place, message, hint);
    }
    found.is_some()
}
