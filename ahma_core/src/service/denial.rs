//! Whether a failure was probably the sandbox, and what to say then.
//!
//! A guess from the output: the kernel tells the command, not us. It only adds a line for the reader.

use std::path::Path;

use ahma_sandbox::SandboxPolicy;

/// What is looked at of a line before the complaint, in bytes.
const MAX_BEFORE: usize = 1024;

const REFUSALS: [&str; 6] = [
    "Permission denied",
    "Operation not permitted",
    "Read-only file system",
    "No such file or directory",
    "Invalid cross-device link",
    "Device or resource busy",
];

/// The line to add, when a path outside everything that was granted was refused, or a protected one.
pub(super) fn explain(output: &str, policy: &SandboxPolicy) -> Option<String> {
    let recent = output.lines().rev().take(50);
    let mut refused = recent.filter_map(|line| {
        let end = REFUSALS
            .iter()
            .filter_map(|refusal| line.find(refusal))
            .min()?;
        // The path stands near the complaint; how long a line is, a command decides.
        let start = line.floor_char_boundary(end.saturating_sub(MAX_BEFORE));
        line.get(start..end)
    });
    refused.find_map(|before| explain_line(before, policy))
}

/// What a line says before the complaint names the path it is about last.
fn explain_line(before: &str, policy: &SandboxPolicy) -> Option<String> {
    // Who complains comes first, and is not what was refused.
    let about = before.split_once(": ").map(|(_, about)| about);
    let before = about.filter(|it| !it.trim().is_empty()).unwrap_or(before);
    let separators = |letter: char| letter.is_whitespace() || "'\"`‘’“”():,".contains(letter);
    let words = || before.split(separators).rev().filter(|word| word.len() > 1);
    let protected = words().find(|word| is_protected(word, policy));
    if let Some(path) = protected {
        return Some(format!(
            "{path} is protected: commands can read it and not write or move it. The operator can allow it with \
             --unprotect. Trying again will not help."
        ));
    }
    let path = words().find(|word| word.starts_with('/'))?;
    let mut granted = policy
        .write
        .iter()
        .chain([&policy.scope, &policy.private_dir]);
    let is_outside = !granted.any(|root| Path::new(path).starts_with(root));
    is_outside.then(|| {
        format!(
            "The sandbox probably refused {path}: it is outside of what commands may use. They can read and write \
             below {} and in their temporary directory. Trying again will not help.",
            policy.scope.display()
        )
    })
}

/// Whether a path, of the scope if it is relative, is protected or leads to what is.
fn is_protected(word: &str, policy: &SandboxPolicy) -> bool {
    let path = policy.scope.join(word);
    let mut protected = policy.protect.iter().chain(&policy.protect_in_place);
    path != policy.scope
        && path.starts_with(&policy.scope)
        && protected.any(|it| path.starts_with(it) || it.starts_with(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(output: &str) -> Option<String> {
        let mut policy = SandboxPolicy::new("/home/me/project", "/run/ahma-1");
        policy.protect.push("/home/me/project/.git/hooks".into());
        let nested = "/home/me/project/lib/.git/hooks";
        policy.protect_in_place.push(nested.into());
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

    /// Proves: P15.
    #[test]
    fn the_path_next_to_the_complaint_is_the_one() {
        let line = "/bin/bash: line 1: /srv/x: Read-only file system";
        assert!(explained(line).unwrap().contains("refused /srv/x:"));
        let inside = "/usr/bin/tool: /home/me/project/x: No such file or directory";
        assert_eq!(explained(inside), None);
        let relative = "/bin/bash: line 1: x: Permission denied";
        assert_eq!(explained(relative), None);
        assert!(
            explained("/srv/x: Permission denied")
                .unwrap()
                .contains("refused /srv/x:")
        );
    }

    /// Proves: P15.
    #[test]
    fn a_protected_path_is_explained_as_such() {
        for line in [
            "bash: line 1: .git/hooks/pre-commit: Read-only file system",
            "rm: cannot remove '/home/me/project/.git/hooks/x': Read-only file system",
            "bash: line 1: lib/.git/hooks/pre-commit: Read-only file system",
            "mv: cannot move '.git' to '.git2': Device or resource busy",
        ] {
            let text = explained(line).unwrap();
            assert!(
                text.contains("is protected") && text.contains("--unprotect"),
                "{text}"
            );
        }
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
