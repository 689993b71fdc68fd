//! A warm shell, a new one, and a program without its shell, side by side.

use std::fs;

use super::{run, run_by_shell, until_warm, warm};
use crate::support::{Bench, Done};

/// Scripts whose output or exit says something about the shell they run in.
const TELLING: [&str; 56] = [
    "echo hi",
    "",
    "# nothing",
    "-x",
    "echo \"$0 $# $- $SECONDS $SHLVL $PWD [$OLDPWD]\"; declare -p OLDPWD",
    "set | grep -v -E '^(EPOCH|RANDOM|SRANDOM|SECONDS|_=|PIPESTATUS)'",
    "echo \"$BASH_EXECUTION_STRING\"",
    "ls -l /proc/self/fd | wc -l",
    "no-such-program",
    "no-such-program with arguments",
    "./no-such-program",
    "/etc",
    "cat /proc/self/status-that-is-not",
    "ls -d /usr",
    "env -u _",
    "sh -c exit",
    "cat no-such-file",
    "exec no-such-program",
    "./called relatively",
    "sh -c 'kill -11 $$' called",
    "cd .. && pwd",
    "printf '%s\\n' ä€😀 | od -c",
    "\n\necho $LINENO\nno-such-program",
    "echo '  kept  '  \n\n",
    "if",
    "echo a; )",
    "foo='not closed",
    "set -u; echo $nope; echo never",
    "echo ${x:?gone}; echo never",
    "set -e; false; echo never",
    "readonly a=1; a=2; echo never",
    "trap 'echo bye' EXIT; exit 3",
    "trap 'echo T' ERR; false; true",
    "return 3; echo after",
    "false",
    "(exit 7)",
    "/bin/false",
    "exec /bin/false",
    "kill -9 $$",
    "kill -TERM $$",
    "cat <<END\nhere $HOME\nEND",
    "cat <(echo process) <(echo substitution)",
    "sleep 0 & wait; echo $?",
    "printf '%s' '\u{1}\u{7f}ä' | od -c",
    "read x; echo \"$? $x\"",
    "cd -",
    "cd ..; cd - >/dev/null; pwd",
    "shopt -s extglob\necho @(a|b)",
    "shopt -s expand_aliases\nalias q='echo alias'\nq",
    "f() { echo ${FUNCNAME[@]} ${BASH_LINENO[@]}; }; f",
    "exec 3</dev/null 4</dev/null; echo $?",
    "set -- a b; echo $@ $#",
    "shopt; set -o; umask; ulimit -a; trap; alias",
    "env | sort | grep -v ^_=",
    "mapfile -t a < <(seq 3); echo ${a[@]}; coproc cat; echo $?",
    "echo $(echo $BASH_SUBSHELL)$BASH_SUBSHELL; break; echo $?",
];

/// Proves: S39, S76.
#[tokio::test]
async fn a_warm_shell_does_what_a_new_one_does() {
    let bench = warm(1).await;
    let cold = Bench::new().await;
    for bench in [&bench, &cold] {
        let called = bench.scope.join("called");
        fs::write(&called, "#!/bin/sh\necho \"$0 $*\"\n").unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&called, executable).unwrap();
    }
    // Where the text came from is all that the two ways may name differently.
    let normal = |done: Done, bench: &Bench, text: &str| {
        let base = bench.scope.parent().unwrap().to_str().unwrap();
        let session = bench.policy.private_dir.to_str().unwrap();
        let output = done.output.replace(session, "SESSION");
        let output = output.replace(base, "BASE");
        let output = output.replace("bash: eval: ", "bash: -c: ");
        let mut lines: Vec<String> = output.split_inclusive('\n').map(str::to_owned).collect();
        if text.starts_with("env ") {
            // A set, which each of them writes in its own order.
            lines.sort_unstable();
        }
        (lines.concat(), done.exit)
    };
    for text in TELLING {
        until_warm(&bench, 1).await;
        let from_warm = normal(run(&bench, text).await, &bench, text);
        let from_cold = normal(run(&cold, text).await, &cold, text);
        assert_eq!(from_warm, from_cold, "{text}");
        let from_shell = normal(run_by_shell(&cold, text).await, &cold, text);
        assert_eq!(from_cold, from_shell, "{text}");
    }
}
