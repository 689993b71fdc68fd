//! The flags that stand in a help text, so that no tool file offers one that does not.
//!
//! Reads words that look like flags; must not use what the product reads help texts with.

use std::collections::HashSet;

use regex::Regex;

/// All words of a help text that look like flags. `--[no-]x` stands for two of them, and `[-abc]` also for three.
pub fn flags_in_help(help: &str) -> HashSet<String> {
    let flag = r"(?:^|[\s,\[(|'`/={])(--?(?:\[no-\])?[A-Za-z0-9][A-Za-z0-9_.-]*)";
    let flag = Regex::new(flag).expect("a regular expression");
    let mut found = HashSet::new();
    let mut from = 0;
    while let Some(captures) = flag.captures_at(help, from) {
        let word = captures.get(1).expect("the group is not optional");
        from = word.end();
        match word.as_str().strip_prefix("--[no-]") {
            Some(name) => found.extend([format!("--{name}"), format!("--no-{name}")]),
            None => {
                let word = word.as_str().trim_end_matches('.');
                found.insert(word.to_owned());
                // `--x...` may be repeated.
                found.extend(word.split_once("..").map(|(name, _)| name.to_owned()));
            }
        }
    }
    let group = Regex::new(r"\[-([A-Za-z0-9]{2,})\]").expect("a regular expression");
    for letters in group.captures_iter(help) {
        found.extend(letters[1].chars().map(|letter| format!("-{letter}")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_texts_are_read_as_they_are_written() {
        let found = flags_in_help(
            "usage: x [-Rv]\n  -q, --[no-]quiet   be quiet\n  -C DIR [--all] | -x\n -j[N], --jobs[=N]\n --more...",
        );
        for flag in [
            "-q",
            "--quiet",
            "--no-quiet",
            "-C",
            "--all",
            "-x",
            "-j",
            "--jobs",
            "-R",
            "-v",
            "--more",
        ] {
            assert!(found.contains(flag), "{flag}: {found:?}");
        }
        assert!(!found.contains("--al"));
    }
}
