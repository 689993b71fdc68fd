//! Developers' tools inside the full sandbox, for root and for an ordinary user: those that every machine has on which
//! this project can be built.

use super::developer::Developer;

const GIT_ANEW: &str = "git init -q -b main && echo a > f && git add f && git commit -q -m one && \
     git log --format='%an <%ae>'";
/// In a repository that was there when the host began, so that its hooks are protected.
const GIT_AGAIN: &str = "git checkout -q -b topic && echo b >> f && git diff --stat && git commit -q -a -m two && \
     git branch --track tracking main && git remote add origin . && git fetch -q origin && \
     git worktree add -q tree main && \
     git stash list && git rebase -q main && git gc -q && git status --short --branch && \
     ! touch .git/hooks/planted";

const EVERYDAY: [(&str, &str); 12] = [
    (
        "cc",
        "echo 'int main(){return 0;}' > m.c && cc m.c -o m && ./m",
    ),
    ("grep", "echo needle > h && grep -rq needle ."),
    (
        "tar",
        "mkdir d && echo x > d/f && tar czf a.tgz d && mkdir e && tar xzf a.tgz -C e && cat e/d/f",
    ),
    (
        "find",
        "touch a b && find . -type f -print0 | xargs -0 -P2 ls",
    ),
    (
        "sort",
        "seq 200000 | sort -R -S 1M | sort -n -S 1M | tail -1 | grep -x 200000",
    ),
    (
        "bash",
        "diff <(printf 'a\\n') <(cat <<'X'\na\nX\n) && echo same | tee >(cat >t) && wait; true",
    ),
    (
        "pty",
        "script -qec 'test -t 0 && tty' /dev/null </dev/null | grep /dev/pts",
    ),
    (
        "shm",
        "/usr/bin/python3 -c 'from multiprocessing import shared_memory as s; m=s.SharedMemory(create=True,size=9); m.close(); m.unlink()'",
    ),
    (
        "multiprocessing",
        "/usr/bin/python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'",
    ),
    (
        "sqlite",
        "/usr/bin/python3 -c 'import sqlite3; c=sqlite3.connect(\"d.db\"); c.execute(\"create table t(a)\"); c.commit()'",
    ),
    (
        "rustc",
        "echo 'fn main(){println!(\"built\")}' > r.rs && rustc r.rs && ./r",
    ),
    (
        "cargo, offline",
        "cargo init -q --name app --vcs none && cargo build -q --offline && cargo test -q --offline",
    ),
];

fn everything_works(mut developer: Developer) {
    let author = developer.run_in_project("git", GIT_ANEW);
    assert!(author.starts_with("Ada <ada@example.org>\n"), "{author}");
    developer.run_in_project("git", GIT_AGAIN);
    for (name, script) in EVERYDAY {
        developer.run(name, script);
    }
}

/// Proves: S43.
#[test]
fn tools_work_for_whoever_runs_the_server() {
    everything_works(Developer::of_the_tester());
}

/// Proves: S43, S44.
#[test]
#[ignore = "needs root, to become another user; CI runs it"]
fn tools_work_for_an_ordinary_user() {
    everything_works(Developer::ordinary());
}
