//! Which scripts are nothing but one program with its arguments.
//!
//! `bash -c` becomes such a program instead of starting it as a child. A warm shell is told to do the
//! same: it saves a process, and a signal that ends the program is seen as a signal. Where no shell waits, none is
//! started for it at all.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use crate::command::CommandRequest;

/// How functions are called that a shell takes from its environment.
const FUNCTION: &[u8] = b"BASH_FUNC_";

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

/// The request without the shell, where its script is one program. A program that is not found, or that only a shell can run, is
/// not started then: the shell says why, or runs it.
pub(super) fn without_shell(request: &CommandRequest) -> Option<CommandRequest> {
    let [shell, flag, end, script] = request.arguments.as_slice() else {
        return None;
    };
    let is_script =
        flag == "-c" && end == "--" && Path::new(shell).file_name() == Some(OsStr::new("bash"));
    let has_functions = || {
        let mut names = request.environment.iter().map(|(name, _)| name.as_bytes());
        names.any(|name| name.starts_with(FUNCTION))
    };
    if !is_script || !is_one_program(script.as_bytes()) || has_functions() {
        return None;
    }
    let mut environment = request.environment.clone();
    // What the shell would have told it.
    environment.retain(|(name, _)| name != "PWD" && name != "SHLVL" && name != "OLDPWD");
    environment.push(("PWD".into(), request.directory.clone().into_os_string()));
    // It leaves, and its place is taken.
    environment.push(("SHLVL".into(), "0".into()));
    Some(CommandRequest {
        arguments: words(script.as_bytes()),
        environment,
        ..request.clone()
    })
}

/// The words of a script that is one program.
fn words(script: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    for byte in script {
        match (quote, *byte) {
            (None, b' ') => words.extend(word.take()),
            (None, open @ (b'\'' | b'"')) => {
                quote = Some(open);
                word.get_or_insert_default();
            }
            (Some(open), close) if open == close => quote = None,
            (_, byte) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
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
    fn its_words_are_those_of_the_shell() {
        for script in [
            "printf2 a  b",
            "git commit -m 'one; two $x' --author=\"A B\"",
            "x ''  \"\" a'b c'\"d\"e",
            "x \"it's\" 'say \"no\"'",
        ] {
            assert!(is_one_program(script.as_bytes()), "{script}");
            let shown = format!("f() {{ printf '<%s>' \"$@\"; }}; f {script}");
            let said = std::process::Command::new("bash")
                .args(["-c", &shown])
                .output();
            let ours: Vec<u8> = words(script.as_bytes())
                .iter()
                .flat_map(|word| [b"<", word.as_bytes(), b">"].concat())
                .collect();
            assert_eq!(said.unwrap().stdout, ours, "{script}");
        }
    }

    #[test]
    fn only_a_plain_script_for_bash_goes_without_it() {
        let of = |arguments: &[&str], variables: &[&str]| {
            let request = CommandRequest {
                arguments: arguments.iter().map(OsString::from).collect(),
                environment: variables
                    .iter()
                    .map(|it| ((*it).into(), "x".into()))
                    .collect(),
                directory: "/scope/sub".into(),
                input: crate::input::Input::Nothing,
            };
            without_shell(&request)
        };
        let direct = of(&["/bin/bash", "-c", "--", "git log"], &["PWD", "A"]).unwrap();
        assert_eq!(direct.arguments, ["git", "log"]);
        let variable = |name: &str, value: &str| (name.into(), value.into());
        let expected = [
            variable("A", "x"),
            variable("PWD", "/scope/sub"),
            variable("SHLVL", "0"),
        ];
        assert_eq!(direct.environment, expected);
        assert!(of(&["/bin/sh", "-c", "--", "git log"], &[]).is_none());
        assert!(of(&["/bin/bash", "-c", "--", "git log; ls"], &[]).is_none());
        assert!(of(&["/bin/bash", "-c", "git log"], &[]).is_none());
        assert!(of(&["/bin/bash", "-c", "--", "git log"], &["BASH_FUNC_git%%"]).is_none());
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
