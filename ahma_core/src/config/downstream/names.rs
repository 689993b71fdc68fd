//! Names of servers and their tools: which are allowed.

use super::super::fault::{Faults, JsonLocation};

/// Characters of a name or prefix. Names of tools have 48 with it.
pub(super) const MAX_NAME: usize = 32;

/// Whether a name of a server or tool may hold the character.
pub(super) fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// Reports what is wrong with the name of a server.
pub(super) fn check_name(name: &str, place: &JsonLocation<'_>, faults: &Faults) {
    let length = name.chars().count();
    let message = if name.is_empty() {
        "the name of a server is empty".to_owned()
    } else if length > MAX_NAME {
        format!("the name has {length} characters; at most {MAX_NAME} are allowed")
    } else if let Some(odd) = name.chars().find(|letter| !is_name_letter(*letter)) {
        format!("the name `{name}` holds the character {odd:?}")
    } else {
        return;
    };
    let hint = "use letters, digits, `_` and `-`, at most 32 of them";
    faults.add_to_key(place, message, hint.to_owned());
}
