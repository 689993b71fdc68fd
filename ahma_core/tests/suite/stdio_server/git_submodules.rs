//! A scope that is a submodule: Git works in it, and what Git obeys outside stays as it is.

use std::process::Command;

use ahma_tests::mcp::McpProcess;
use ahma_tests::{Workspace, example, until};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{AHMA_MCP, Served};

/// A project of the user's with a submodule, and what that was cloned from. Not below `/tmp`, where commands may make anything.
struct Project {
    place: TempDir,
    /// Where the submodule is.
    scope: String,
}

impl Project {
    /// The project, and its submodule.
    fn new() -> (Self, Workspace) {
        let place = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut project = Project {
            place,
            scope: String::new(),
        };
        project.outside(
            "git init -q --bare -b main lib.git && git clone -q lib.git lib && cd lib && \
             git config user.name me && git config user.email me@here && git checkout -q -b main && \
             git commit -q --allow-empty -m one && git tag old && git push -q origin main old && \
             git init -q -b main ../main && cd ../main && git config user.name me && git config user.email me@here",
        );
        let scope = Workspace::in_directory(&project.place.path().join("main"));
        let path = scope.path().canonicalize().unwrap();
        project.scope = path.to_str().unwrap().to_owned();
        let name = path.file_name().unwrap().display();
        project.outside(&format!(
            "cd main && rmdir {name} && git -c protocol.file.allow=always submodule --quiet add --name sub ../lib.git {name} && \
             git commit -qm sub && cd {name} && git config user.name me && git config user.email me@here && \
             git branch -q merged && git pack-refs --all"
        ));
        (project, scope)
    }

    /// The same with a server for the submodule.
    fn served() -> (Self, Served) {
        let (project, scope) = Project::new();
        let granted = ["--sandbox-read", &project.path("lib.git")];
        let served = Served::start_in(scope, &granted, &[]);
        (project, served)
    }

    /// What a script says that the user runs, which must work.
    fn outside(&self, script: &str) -> String {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", script]).current_dir(self.place.path());
        let done = shell.output().unwrap();
        assert!(done.status.success(), "{script}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// The same in the submodule.
    fn in_scope(&self, script: &str) -> String {
        self.outside(&format!("cd {} && {script}", self.scope))
    }

    fn path(&self, name: &str) -> String {
        let path = self.place.path().canonicalize().unwrap().join(name);
        path.to_str().unwrap().to_owned()
    }
}

/// Everyday work, in the order in which it builds on each other.
const WORK: [&str; 9] = [
    "git status && git log --oneline",
    "echo two > two && git add two && git commit -qm two",
    "git checkout -q -b side && echo s > s && git add s && git commit -qm side && git checkout -q main",
    "git merge -q --no-edit side && git branch -d side",
    "echo changed >> two && git stash -q && git stash drop -q",
    "git fetch -q origin && git checkout -q -b topic main~1 && echo t > t && git add t && git commit -qm topic && \
     git rebase -q main && git checkout -q main && git cherry-pick topic && git branch -D topic",
    "git branch -d merged && git tag -d old",
    "git repack -q && git gc -q && git fsck",
    "git worktree list && git reflog",
];

/// Proves: S73.
#[test]
fn git_works_in_a_submodule() {
    let (project, mut served) = Project::served();
    for script in WORK {
        let done = served.sync(script);
        assert!(!done.is_error, "{script}: {}", done.text);
    }
    let info = served.client.call("get_server_info", &json!({})).structured;
    let own = project.path("main/.git/modules/sub");
    let sandbox = &info["sandbox"];
    assert_eq!(sandbox["grants"]["write"], json!([own]));
    assert_eq!(sandbox["warnings"], json!([]), "work is nothing to tell");
    let protected = sandbox["protected"].as_array().unwrap();
    for name in ["config", "hooks"] {
        assert!(
            protected.contains(&json!(format!("{own}/{name}"))),
            "{protected:?}"
        );
    }
    // The user sees it, and has lost nothing.
    let log = project.in_scope("git log --format=%s");
    assert_eq!(log, "topic\nside\ntwo\none\n");
    project.in_scope("git fsck && git status");
    let status = project.outside("cd main && git status --porcelain && git fsck");
    assert!(status.starts_with(" M "), "{status}");
}

/// Proves: S73.
#[test]
fn what_git_obeys_outside_cannot_be_changed_from_a_submodule() {
    let (project, mut served) = Project::served();
    let (own, around) = (
        project.path("main/.git/modules/sub"),
        project.path("main/.git"),
    );
    let acts = [
        format!("echo x > {own}/hooks/post-checkout"),
        format!("mkdir {own}/hooks/deep"),
        format!("mv {own}/hooks {own}/moved"),
        format!("mv {own} {own}-moved"),
        "git config core.fsmonitor x".to_owned(),
        format!("echo x >> {own}/config"),
        format!("echo x > new && mv new {own}/config"),
        format!("rm {own}/config"),
        format!("ln -s /elsewhere {own}/link"),
        format!("mkfifo {own}/pipe"),
        format!("echo x > {around}/hooks/post-checkout"),
        format!("git config --file {around}/config core.fsmonitor x"),
        format!("echo x > {around}/commondir"),
        format!("mkdir {around}/modules/new"),
        format!("touch {around}/objects/x"),
        "echo 'gitdir: /elsewhere' > .git".to_owned(),
    ];
    for act in &acts {
        let done = served.sync(act);
        assert!(done.is_error, "{act} worked: {}", done.text);
    }
    let seen = served.sync(&format!("cat {around}/config"));
    assert!(seen.is_error, "{}", seen.text);
    let before = project.in_scope("git status --porcelain");
    assert_eq!(before, "?? new\n");
    // The user can do all that.
    project.outside(&format!("cat {around}/config"));
    for act in acts
        .iter()
        .filter(|it| !it.contains("mv ") && !it.contains("rm "))
    {
        project.in_scope(act);
    }
}

/// Proves: P15, S73.
#[test]
fn a_setting_that_a_command_may_not_make_is_explained() {
    let (project, mut served) = Project::served();
    let call = json!({ "name": "sandboxed_shell", "arguments": {
        "command": "git config user.color blue", "execution_mode": "sync"
    } });
    let answer = served.client.request("tools/call", &call);
    let denial = &answer["result"]["_meta"]["ahma/denial"];
    assert_eq!(denial["kind"], "protected-path", "{answer}");
    assert_eq!(denial["owner_can"], "run that command outside", "{answer}");
    project.in_scope("git config user.color blue");
}

/// Proves: S73.
#[test]
fn settings_of_a_submodule_that_are_replaced_outside_stay_out_of_reach() {
    let (project, mut served) = Project::served();
    let config = project.path("main/.git/modules/sub/config");
    let write = format!("echo '[core] fsmonitor = x' >> {config}");
    for color in ["blue", "red"] {
        assert!(served.sync(&write).is_error);
        // Git writes a new file and renames it, which takes the place of whatever is mounted there.
        project.in_scope(&format!("git config user.color {color}"));
        let again = served.sync(&write);
        assert!(again.is_error, "{}", again.text);
    }
    let settings = project.outside(&format!("cat {config}"));
    assert!(!settings.contains("fsmonitor"), "{settings}");
}

/// Names that are not there cannot be kept from being made, so the owner hears of them.
///
/// Proves: S54, S73.
#[test]
fn what_is_planted_in_the_repository_of_a_submodule_is_told_and_cannot_be_changed_again() {
    let (project, mut served) = Project::served();
    let own = project.path("main/.git/modules/sub");
    let planted = served.sync(&format!("echo {own} > {own}/commondir"));
    assert!(!planted.is_error, "{}", planted.text);
    let mut warnings = Value::Null;
    until(|| {
        let info = served.client.call("get_server_info", &json!({})).structured;
        warnings = info["sandbox"]["warnings"].clone();
        warnings.to_string().contains("commondir")
    });
    let again = served.sync(&format!("echo x > {own}/commondir"));
    assert!(again.is_error, "{}", again.text);
}

/// Proves: S73.
#[test]
fn a_git_file_that_names_the_repository_of_another_submodule_opens_nothing() {
    let (victim, _scope) = Project::new();
    let own = victim.path("main/.git/modules/sub");
    for plant in [
        format!("echo 'gitdir: {own}' > .git"),
        format!(
            "mkdir -p fake/modules/x/hooks fake/modules/x/objects fake/modules/x/refs && \
             cp {own}/HEAD fake && cp {own}/HEAD fake/modules/x && \
             git config --file fake/modules/x/config core.worktree $PWD && \
             echo {own} > fake/modules/x/objects/alternates && echo \"gitdir: $PWD/fake/modules/x\" > .git"
        ),
    ] {
        let project = Workspace::new();
        assert_eq!(project.run("sh", &["-c", &plant]).code, 0);
        let mut served = Served::of(project, &[]);
        let info = served.client.call("get_server_info", &json!({})).structured;
        assert_eq!(info["sandbox"]["grants"]["write"], json!([]), "{plant}");
        let read = served.sync(&format!("cat {own}/config"));
        assert!(read.is_error, "{}", read.text);
    }
    victim.outside(&format!("cat {own}/config"));
}

/// Proves: S73.
#[test]
fn where_settings_and_hooks_cannot_be_kept_the_repository_can_only_be_read() {
    let (project, scope) = Project::new();
    let own = project.path("main/.git/modules/sub");
    let helper = example("weakened_server");
    let arguments = ["no-user-namespaces", AHMA_MCP];
    let mut client = McpProcess::connect(helper.to_str().unwrap(), &arguments, scope.path(), &[]);
    let mut run = |script: &str| {
        let call = json!({ "command": script, "execution_mode": "sync" });
        client.call("sandboxed_shell", &call)
    };
    let read = run("git log --oneline");
    assert!(!read.is_error, "{}", read.text);
    for act in [
        "git commit --allow-empty -m x",
        "git config user.color blue",
    ] {
        let done = run(act);
        assert!(done.is_error, "{act} worked: {}", done.text);
    }
    let hook = run(&format!("echo x > {own}/hooks/post-checkout"));
    assert!(hook.is_error, "{}", hook.text);
    let info = client.call("get_server_info", &json!({})).structured;
    assert_eq!(info["sandbox"]["grants"]["write"], json!([]));
}
