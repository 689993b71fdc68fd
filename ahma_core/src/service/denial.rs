//! Whether a failure was probably the sandbox, and what to say then.
//!
//! A guess from the output: the kernel tells the command, not us. It only adds a line for the reader.

use std::path::Path;

use ahma_sandbox::SandboxPolicy;

const REFUSALS: [&str; 5] = [
    "Permission denied",
    "Operation not permitted",
    "Read-only file system",
    "No such file or directory",
    "Invalid cross-device link",
];

/// The line to add, when a path outside everything that was granted was refused.
pub(super) fn explain(output: &str, policy: &SandboxPolicy) -> Option<String> {
    let path = output.lines().rev().take(50).find_map(|line| {
        REFUSALS
            .iter()
            .any(|refusal| line.contains(refusal))
            .then(|| refused_path(line, policy))?
    })?;
    Some(format!(
        "The sandbox probably refused {path}: it is outside of what commands may use. They can read and write below \
         {} and in their temporary directory. Trying again will not help.",
        policy.scope.display()
    ))
}

/// The first absolute path of a line that lies outside of what commands may write.
fn refused_path(line: &str, policy: &SandboxPolicy) -> Option<String> {
    let words =
        line.split(|letter: char| letter.is_whitespace() || "'\"`‘’“”():,".contains(letter));
    words
        .filter(|word| word.len() > 1 && word.starts_with('/'))
        .find(|word| {
            let path = Path::new(word);
            let mut granted = policy.write.iter().chain([&policy.scope, &policy.session]);
            !granted.any(|root| path.starts_with(root))
        })
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(output: &str) -> Option<String> {
        let policy = SandboxPolicy::new("/home/me/project", "/run/ahma-1");
        explain(output, &policy)
    }

    #[test]
    fn a_refused_path_outside_is_named() {
        for line in [
            "cat: /etc/shadow: Permission denied",
            "touch: cannot touch '/usr/x': Read-only file system",
            "sh: 1: cannot create /home/me/other: No such file or directory",
        ] {
            let text = explained(line).unwrap();
            assert!(
                text.contains("/home/me/project") && text.contains("will not help"),
                "{text}"
            );
        }
        assert!(
            explained("cat: /etc/shadow: Permission denied")
                .unwrap()
                .contains("refused /etc/shadow:")
        );
    }

    #[test]
    fn failures_inside_the_scope_are_not_blamed_on_the_sandbox() {
        for line in [
            "cat: /home/me/project/x: No such file or directory",
            "cat: x: No such file or directory",
            "error: expected /usr/bin to be first",
            "",
        ] {
            assert_eq!(explained(line), None, "{line}");
        }
    }
}
