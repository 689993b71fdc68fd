//! Which scripts are nothing but one program with its arguments.
//!
//! `bash -c` becomes such a program instead of starting it as a child. A warm shell is told to do the
//! same: it saves a process, and a signal that ends the program is seen as a signal.

/// What the shell knows itself, or takes for a part of its language. Whatever is missing here would be
/// looked for on the PATH, and not be found or be a program of the same name.
const OF_THE_SHELL: [&str; 82] = [
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
    "if",
    "then",
    "else",
    "elif",
    "fi",
    "case",
    "esac",
    "for",
    "select",
    "while",
    "until",
    "do",
    "done",
    "in",
    "function",
    "time",
    "{",
    "}",
    "!",
    "[[",
    "coproc",
];

/// Whether a script is one program, written so plainly that there is no doubt: words, and quoted words,
/// without anything else that means something to the shell. Others are run as they are.
pub(super) fn is_one_program(script: &[u8]) -> bool {
    let Some(first) = script.split(|byte| *byte == b' ').next() else {
        return false;
    };
    let is_name = first.iter().all(|byte| is_plain(*byte) && *byte != b'=')
        && !first.is_empty()
        && !first.starts_with(b"-");
    // The shell would make the path of a relative one absolute, and a script sees how it was called.
    let is_relative = first.contains(&b'/') && !first.starts_with(b"/");
    let is_known = OF_THE_SHELL.iter().any(|name| name.as_bytes() == first);
    is_name && !is_relative && !is_known && are_words(script)
}

/// Whether nothing but plain letters stands outside quotes, and nothing is filled in inside them.
fn are_words(script: &[u8]) -> bool {
    let mut quote = None;
    for byte in script {
        match (quote, *byte) {
            (None, b'\'' | b'"') => quote = Some(*byte),
            (Some(open), close) if open == close => quote = None,
            (None, byte) if byte != b' ' && !is_plain(byte) => return false,
            (Some(b'"'), b'$' | b'`' | b'\\') => return false,
            _ => {}
        }
    }
    quote.is_none()
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_./:,@%+=-".contains(&byte)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may start programs")]
mod tests {
    use super::*;

    #[test]
    fn programs_with_plain_arguments_are_one_program() {
        for script in [
            "cargo build",
            "git log --format=%h -n5",
            "/opt/run.sh a,b",
            "/bin/true",
            "ls  -la ",
            "make CC=gcc",
            "git commit -m 'one; two $x'",
            "rg \"a | b\" src",
            "sh -c 'kill $$'",
        ] {
            assert!(is_one_program(script.as_bytes()), "{script}");
        }
    }

    #[test]
    fn anything_else_is_a_script() {
        for script in [
            "",
            " ls",
            "-x",
            "A=1 make",
            "./configure --prefix=/usr",
            "bin/run",
            "a; b",
            "a && b",
            "a | b",
            "a > b",
            "a &",
            "a\nb",
            "a 'b",
            "'a' b",
            "a \"$b\"",
            "a \"`b`\"",
            "a \"b\\\"",
            "a 'b'; c",
            "a 'b' | c",
            "a $b",
            "a *",
            "a ~",
            "a # b",
            "a {1,2}",
            "echo x",
            "if",
            "time make",
            "! make",
            "[ a ]",
            ". file",
        ] {
            assert!(!is_one_program(script.as_bytes()), "{script}");
        }
    }

    #[test]
    fn everything_this_machines_shell_knows_itself_is_listed() {
        let asked = std::process::Command::new("bash")
            .args(["-c", "compgen -bk"])
            .output()
            .unwrap();
        let names = String::from_utf8(asked.stdout).unwrap();
        assert!(names.lines().count() > 50, "{names}");
        // A word that no program can be called by is not a program anyway.
        for name in names.lines().filter(|name| *name != "]]") {
            assert!(OF_THE_SHELL.contains(&name), "{name}");
        }
    }
}
