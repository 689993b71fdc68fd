//! A scope that is a linked worktree: Git works in it, and the rest of the repository is as safe as before.

use std::process::Command;

use ahma_tests::Workspace;
use ahma_tests::served::over_stdio::Served;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A repository of the user's, with a remote, and worktrees of it. Not below `/tmp`, where commands may make anything.
struct Repository {
    place: TempDir,
}

impl Repository {
    fn new() -> Self {
        let place = tempfile::tempdir_in("/var/tmp").unwrap();
        let repository = Repository { place };
        repository.outside("git init -q -b main main && git init -q --bare -b main origin.git");
        repository.outside(
            "cd main && git config user.name me && git config user.email me@here && \
             echo one > file && git add file && git commit -qm one && \
             git remote add origin \"$PWD/../origin.git\" && git push -q origin main && \
             git -c protocol.file.allow=always submodule --quiet add ../origin.git vendored && \
             git commit -qm vendored && git branch merged && git tag old && \
             git worktree add -q ../other -b other",
        );
        repository
    }

    /// What a script says that the user runs, which must work.
    fn outside(&self, script: &str) -> String {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", script]).current_dir(self.place.path());
        let done = shell.output().unwrap();
        assert!(done.status.success(), "{script}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    fn path(&self, name: &str) -> String {
        let path = self.place.path().canonicalize().unwrap().join(name);
        path.to_str().unwrap().to_owned()
    }

    /// A server whose scope is a new worktree.
    fn served(&self) -> Served {
        let project = Workspace::new();
        let path = project.path().display().to_string();
        self.outside(&format!("cd main && git worktree add -q {path} -b wt"));
        let granted = ["--sandbox-read", &self.path("origin.git")];
        Served::start_in(project, &granted, &[])
    }
}

/// Everyday work, in the order in which it builds on each other.
const WORK: [&str; 13] = [
    "git status && git log --oneline",
    "echo two > two && git add two && git commit -qm two",
    "git branch side && git checkout -q side && echo s > s && git add s && git commit -qm side && git checkout -q wt",
    "git merge -q --no-edit side && git reset -q --hard HEAD~1",
    "echo changed >> two && git stash -q && git checkout -q .",
    "git fetch -q origin && git rev-parse origin/main",
    "git tag v1 && git notes add -m note",
    "git commit -q --amend -m amended && git revert --no-edit HEAD",
    "git repack -q && git fsck && git commit-graph write",
    "git log -g --oneline && git worktree list",
    "git checkout -q -b topic wt~1 && echo t > t && git add t && git commit -qm topic && git rebase -q wt && \
     test \"$(git log -1 --format=%s)\" = topic && git merge-base --is-ancestor wt topic",
    "git checkout -q -b picked wt && git cherry-pick topic && test \"$(git log -1 --format=%s)\" = topic",
    "git -c protocol.file.allow=always submodule --quiet update --init && git -C vendored switch -q -c own && \
     git -C vendored commit -q --allow-empty -m inside && git -C vendored branch -D main",
];

/// Proves: S73.
#[test]
fn git_works_in_a_linked_worktree() {
    let repository = Repository::new();
    let mut served = repository.served();
    for script in WORK {
        let done = served.sync(script);
        assert!(!done.is_error, "{script}: {}", done.text);
    }
    // The user sees it, and has lost nothing.
    let log = repository.outside("cd main && git log --format=%s wt");
    assert_eq!(log, "Revert \"amended\"\namended\nvendored\none\n");
    repository.outside("cd main && git fsck && git status && git -C ../other status");
    repository.outside("cd main && git branch -D side && git gc -q && git worktree prune");
    let listed = repository.outside("cd main && git worktree list");
    assert_eq!(listed.lines().count(), 3, "{listed}");
}

/// Proves: P15, S73.
#[test]
fn what_git_cannot_do_in_a_linked_worktree_is_explained() {
    let repository = Repository::new();
    let mut served = repository.served();
    let git = repository.path("main/.git");
    let acts = [
        ("git branch -d merged", "packed-refs.lock"),
        ("git tag -d old", "packed-refs.lock"),
        ("git update-ref -d refs/heads/merged", "packed-refs.lock"),
        ("git bisect start", "packed-refs.lock"),
        ("git gc", "gc.pid.lock"),
        ("git config user.color blue", "config"),
        ("git worktree add further", "worktrees/further"),
    ];
    for (act, file) in acts {
        let call = json!({
            "name": "sandboxed_shell", "arguments": { "command": act, "execution_mode": "sync" }
        });
        let answer = served.client.request("tools/call", &call);
        let denial = &answer["result"]["_meta"]["ahma/denial"];
        assert_eq!(denial["kind"], "read-only-path", "{act}: {answer}");
        assert_eq!(denial["subject"], format!("{git}/{file}"), "{act}");
        let remedy = "run that git command outside";
        assert_eq!(denial["owner_can"], remedy, "{act}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(denial["text"].as_str().unwrap()), "{act}");
    }
    // What a rebase or a cherry-pick leaves behind ends as is said there.
    let rebase = "git checkout -q -b topic wt~1 && echo t > t && git add t && git commit -qm topic && git rebase -q wt";
    assert!(!served.sync(rebase).is_error);
    let refused = served.sync("git tag -d old");
    let (_, advice) = refused.text.split_once("ends with `").unwrap();
    let advice = advice.split_once("`.").unwrap().0;
    let merge = "git checkout -q wt && git merge -q --no-edit topic";
    let in_progress = served.sync(merge);
    assert!(
        in_progress.text.contains("have not concluded"),
        "{in_progress:?}"
    );
    let merged = served.sync(&format!("{advice} && {merge}"));
    assert!(!merged.is_error, "{}", merged.text);
    // The user can do what commands cannot.
    repository.outside("cd main && git branch -d merged && git tag -d old && git gc -q");
}

/// Proves: S73.
#[test]
fn what_is_granted_of_the_repository_is_told() {
    let repository = Repository::new();
    let mut served = repository.served();
    let info = served.client.call("get_server_info", &json!({})).structured;
    let git = repository.path("main/.git");
    let own = info["sandbox"]["grants"]["write"].as_array().unwrap();
    let own = own.last().unwrap().as_str().unwrap();
    assert!(own.starts_with(&format!("{git}/worktrees/")), "{own}");
    let written: Vec<String> = ["objects", "refs", "logs"]
        .iter()
        .map(|name| format!("{git}/{name}"))
        .chain([own.to_owned()])
        .collect();
    assert_eq!(info["sandbox"]["grants"]["write"], json!(written));
    let read = info["sandbox"]["grants"]["read"].as_array().unwrap();
    assert!(read.contains(&json!(git)), "{read:?}");
    let protected = info["sandbox"]["protected"].as_array().unwrap();
    for name in ["commondir", "gitdir"] {
        assert!(
            protected.contains(&json!(format!("{own}/{name}"))),
            "{protected:?}"
        );
    }
}

/// Proves: S73.
#[test]
fn the_rest_of_the_repository_cannot_be_changed() {
    let repository = Repository::new();
    let mut served = repository.served();
    let git = repository.path("main/.git");
    let own = served.sync("git rev-parse --absolute-git-dir").text;
    let own = own.lines().next().unwrap().to_owned();
    let acts = [
        format!("echo x > {git}/hooks/post-checkout"),
        format!("mkdir {git}/hooks/deep"),
        format!("mv {git}/hooks {git}/moved"),
        format!("git config --file {git}/config core.fsmonitor x"),
        format!("mkdir {git}/modules/new"),
        format!("echo x >> {git}/info/attributes"),
        format!("echo ref: refs/heads/wt > {git}/HEAD"),
        format!("rm {git}/index"),
        format!("echo /elsewhere > {git}/worktrees/other/commondir"),
        format!("rm {git}/worktrees/other/HEAD"),
        format!("mkdir {git}/worktrees/new"),
        format!("ln -s /elsewhere {git}/link"),
        format!("mkfifo {git}/pipe"),
        format!("echo x > new && mv new {git}/config"),
        format!("mv {git}/objects {git}/gone"),
        format!("echo /elsewhere > {own}/commondir"),
        format!("rm {own}/commondir"),
        format!("mv {own}/gitdir {own}/moved"),
    ];
    for act in &acts {
        let done = served.sync(act);
        assert!(done.is_error, "{act} worked: {}", done.text);
    }
    let seen = served.sync(&format!("cat {}", repository.path("main/file")));
    assert!(seen.is_error, "{}", seen.text);
    repository.outside("cd main && git status && git -C ../other status && git log wt");
    // The user can do all that.
    repository.outside("cat main/file");
    for act in &acts {
        repository.outside(act);
    }
}

/// Proves: S73.
#[test]
fn settings_that_are_replaced_outside_stay_out_of_reach() {
    let repository = Repository::new();
    let mut served = repository.served();
    let git = repository.path("main/.git");
    let write = format!("echo '[core] fsmonitor = x' >> {git}/config");
    assert!(served.sync(&write).is_error);
    // Git writes a new file and renames it, which takes the place of whatever is mounted there.
    repository.outside("cd main && git config user.color blue");
    for _ in 0..2 {
        let again = served.sync(&write);
        assert!(again.is_error, "{}", again.text);
    }
    for name in ["commondir", "config.worktree", "packed-refs.lock"] {
        let planted = served.sync(&format!("echo x > {git}/{name}"));
        assert!(planted.is_error, "{name}: {}", planted.text);
    }
}

/// Proves: S73.
#[test]
fn no_link_can_be_left_where_git_outside_would_follow_it() {
    let repository = Repository::new();
    let mut served = repository.served();
    let git = repository.path("main/.git");
    let victim = repository.path("victim");
    repository.outside("echo mine > victim");
    for act in [
        format!("rm {git}/logs/HEAD; ln -s {victim} {git}/logs/HEAD"),
        format!("ln -s {victim} link && mv link {git}/logs/HEAD"),
        format!("ln -s {victim} {git}/refs/heads/link"),
        format!("mkfifo {git}/objects/pipe"),
        "ln -s x $(git rev-parse --absolute-git-dir)/link".to_owned(),
    ] {
        let done = served.sync(&act);
        assert!(done.is_error, "{act} worked: {}", done.text);
    }
    repository.outside("cd main && git commit -q --allow-empty -m outside");
    assert_eq!(repository.outside("cat victim"), "mine\n");
}

/// Proves: S54, S73.
#[test]
fn work_in_a_worktree_is_nothing_to_tell() {
    let repository = Repository::new();
    let mut served = repository.served();
    let done = served.sync("git commit -q --allow-empty -m work && git branch x");
    assert!(!done.is_error, "{}", done.text);
    assert_eq!(warnings(&mut served), json!([]));
}

fn warnings(served: &mut Served) -> Value {
    let info = served.client.call("get_server_info", &json!({})).structured;
    info["sandbox"]["warnings"].clone()
}

/// Proves: S73.
#[test]
fn a_git_file_that_was_planted_opens_no_repository() {
    let victim = Repository::new();
    let git = victim.path("main/.git");
    let other = victim.path("main/.git/worktrees/other");
    for (name, plant) in [
        ("the repository", format!("echo 'gitdir: {git}' > .git")),
        ("a worktree of it", format!("echo 'gitdir: {other}' > .git")),
        (
            "one that points back, made by a command",
            format!(
                "mkdir -p fake/worktrees/x && echo $PWD/.git > fake/worktrees/x/gitdir && \
                 echo {git} > fake/worktrees/x/commondir && cp {other}/HEAD fake/worktrees/x && \
                 echo \"gitdir: $PWD/fake/worktrees/x\" > .git"
            ),
        ),
    ] {
        let project = Workspace::new();
        assert_eq!(project.run("sh", &["-c", &plant]).code, 0);
        let mut served = Served::of(project, &[]);
        let info = served.client.call("get_server_info", &json!({})).structured;
        assert_eq!(info["sandbox"]["grants"]["write"], json!([]), "{name}");
        let read = served.sync(&format!("cat {git}/config"));
        assert!(read.is_error, "{name}: {}", read.text);
        let write = served.sync(&format!("touch {git}/objects/x {other}/x"));
        assert!(write.is_error, "{name}: {}", write.text);
    }
    victim.outside(&format!(
        "cat {git}/config && touch {git}/objects/x {other}/x"
    ));
}

/// A worktree outside of the scope, of which commands think that it is gone.
fn pruned(arguments: &[&str]) -> (String, bool) {
    let (project, elsewhere) = (Workspace::new(), Workspace::new());
    let make = format!(
        "git init -q -b main . && git config user.name me && git config user.email me@here && \
         git commit -q --allow-empty -m one && git worktree add -q {}/out -b out",
        elsewhere.path().display()
    );
    assert_eq!(project.run("sh", &["-c", &make]).code, 0);
    let mut served = Served::of(project, arguments);
    let inside = "git worktree add -q in -b in && git worktree remove in && git commit -q --allow-empty -m two && \
                  git branch -D in && git worktree prune; ls .git/worktrees";
    let told = served.sync(inside).text;
    let out = elsewhere.path().join("out");
    let status = elsewhere.run("git", &["-C", out.to_str().unwrap(), "status"]);
    (told, status.code == 0)
}

/// Proves: S74.
#[test]
fn worktrees_outside_of_a_scope_are_not_taken_for_gone() {
    let (told, works) = pruned(&[]);
    assert!(works && told.contains("\nout\n"), "{told}");
    let (told, works) = pruned(&["--unprotect", ".git/worktrees/out"]);
    assert!(!works, "the control: {told}");
}

/// Proves: S73.
#[test]
fn worktrees_and_submodules_inside_a_scope_work() {
    let project = Workspace::new();
    let mut served = Served::of(project, &[]);
    for script in [
        "git init -q -b main && git config user.name me && git config user.email me@here && \
         git commit -q --allow-empty -m one",
        "git worktree add -q sub -b sub && cd sub && echo x > f && git add f && git commit -qm sub",
        "git worktree remove sub && git branch -D sub && git gc -q",
        "git init -q -b main lib && cd lib && git config user.name me && git config user.email me@here && \
         git commit -q --allow-empty -m lib",
        "git -c protocol.file.allow=always submodule add -q ./lib vendored && git commit -qm module",
        "cd vendored && git config user.name me && git config user.email me@here && echo x > f && git add f && \
         git commit -qm inside && git status",
    ] {
        let done = served.sync(script);
        assert!(!done.is_error, "{script}: {}", done.text);
    }
}
