//! `ahma_mcp new` for programs that print help in the style of one family each, and for those that print none.

use std::fs;
use std::net::TcpListener;

use ahma_core::config::ToolSpec;
use ahma_tests::help_flags::flags_in_help;
use ahma_tests::{Finished, Workspace, repository};

use super::load_texts;

const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");

/// A program that prints the text that belongs to its first word.
const PROGRAM: &str = "#!/bin/sh\nname=help\ncase \"$1\" in -*) ;; *) name=\"help-$1\" ;; esac\ncat \"${0%/*}/$name.txt\"\n";

/// A project with this program in it, called `demo`.
fn with_program(script: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("demo", script);
    workspace.make_executable("demo");
    workspace
}

fn of_style(style: &str) -> (Workspace, String) {
    let workspace = with_program(PROGRAM);
    let mut help = String::new();
    let texts = repository().join("tests/fixtures/help").join(style);
    for entry in fs::read_dir(texts).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        workspace.write(path.file_name().unwrap().to_str().unwrap(), &text);
        help.push_str(&text);
    }
    (workspace, help)
}

fn drafted(workspace: &Workspace, words: &[&str]) -> Finished {
    workspace.run(AHMA_MCP, &[&["new"], words].concat())
}

/// Every flag that a tool can pass.
pub(super) fn flags(text: &str) -> Vec<(ToolSpec, String)> {
    super::drafted_programs::flags(&tools(text))
}

/// The tools of a draft, which has neither faults nor warnings.
pub(super) fn tools(text: &str) -> Vec<ToolSpec> {
    let catalog = load_texts(&[("draft.json", text.to_owned())]);
    assert!(catalog.rejected.is_empty(), "{:#?}", catalog.rejected);
    assert!(catalog.warned.is_empty(), "{:#?}", catalog.warned);
    let files = catalog.files.into_iter();
    let tools = files.flat_map(|file| file.tools);
    tools.map(std::sync::Arc::unwrap_or_clone).collect()
}

/// Proves: P60, P61, P63.
#[test]
fn each_style_of_help_becomes_a_tool_file() {
    for style in [
        "argparse", "bsd", "clap", "click", "cobra", "git", "gnu", "go",
    ] {
        let (workspace, help) = of_style(style);
        let finished = drafted(&workspace, &["./demo"]);
        assert_eq!(finished.code, 0, "{style}: {}", finished.stderr);
        let known = flags_in_help(&help);
        for (tool, flag) in flags(&finished.stdout) {
            assert!(known.contains(&flag), "{style}: {} {flag}", tool.name);
        }
        let shown = format!("{}---\n{}", finished.stdout, finished.stderr);
        insta::assert_snapshot!(style, shown);
    }
}

/// Proves: P60.
#[test]
fn a_subcommand_is_a_file_of_its_own_and_deeper_ones_are_asked_for() {
    let (workspace, _) = of_style("cobra");
    let list = drafted(&workspace, &["./demo", "list"]);
    let names = |text: &str| -> Vec<String> { tools(text).into_iter().map(|it| it.name).collect() };
    assert_eq!(names(&list.stdout), ["demo_list"]);
    // What has subcommands of its own is no tool.
    let all = drafted(&workspace, &["./demo"]);
    assert_eq!(names(&all.stdout), ["demo_delete", "demo_list"]);
    assert!(
        all.stderr
            .contains("left out: demo: raft: it has subcommands of its own"),
        "{}",
        all.stderr
    );
    let deeper = drafted(&workspace, &["./demo", "--depth", "2"]);
    assert_eq!(
        names(&deeper.stdout),
        [
            "demo_delete",
            "demo_list",
            "demo_raft_tie",
            "demo_raft_untie"
        ]
    );
    let alone = drafted(&workspace, &["./demo", "--depth", "0"]);
    assert_eq!(names(&alone.stdout), ["demo"]);
}

/// Proves: P62.
#[test]
fn a_program_is_asked_without_network_and_without_the_right_to_write() {
    let script = |port: u16| {
        format!(
            "#!/bin/bash\n(echo x > written) 2>/dev/null && echo '  --wrote   it could write'\n\
             (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo '  --reached   it has a network'\n\
             printf 'Usage: demo [options]\\n\\n  --colour %s  none\\n  --pager %s  none\\n' \"$NO_COLOR\" \"$PAGER\"\n"
        )
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let workspace = with_program(&script(listener.local_addr().unwrap().port()));
    let finished = drafted(&workspace, &["./demo"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let text = finished.stdout;
    assert!(
        text.contains("\"colour\"") && !text.contains("wrote") && !text.contains("reached"),
        "{text}"
    );
    assert!(!workspace.path().join("written").exists());
    // Outside of the sandbox it can do both.
    let program = workspace.path().join("demo");
    let outside = workspace.run(program.to_str().unwrap(), &["--help"]).stdout;
    assert!(
        outside.contains("--wrote") && outside.contains("--reached"),
        "{outside}"
    );
}

/// Proves: P62, P64.
#[test]
fn a_program_that_does_not_end_is_given_up_and_said_to_be_asked() {
    let workspace = with_program("#!/bin/sh\nsleep 1000\n");
    let finished = drafted(&workspace, &["./demo"]);
    assert_eq!(finished.code, 2);
    let (said, error) = finished.stderr.split_once("error: ").unwrap();
    assert!(
        said.starts_with("asking `./demo` for its help …\n"),
        "{said}"
    );
    assert_eq!(
        error,
        "`./demo`: it was asked for its help and did not end within 10 seconds\n\
         hint: write the tool file by hand: docs/mtdf.md begins with an example\n"
    );
}

/// Proves: P62.
#[test]
fn only_the_beginning_of_a_very_long_help_is_read() {
    let workspace = with_program(
        "#!/bin/sh\nprintf 'Usage: demo [options]\\n\\n  --first   one\\n'\nhead -c 3000000 /dev/zero | tr '\\0' x\n\
         printf '\\n\\n  --last   one\\n'\n",
    );
    let finished = drafted(&workspace, &["./demo"]);
    let names: Vec<String> = flags(&finished.stdout)
        .into_iter()
        .map(|(_, flag)| flag)
        .collect();
    assert_eq!(names, ["--first"]);
}

/// Proves: P64.
#[test]
fn what_prints_no_help_is_an_error_that_says_what_to_do() {
    let by_hand = "hint: write the tool file by hand: docs/mtdf.md begins with an example\n";
    let says = |script: &str| {
        let finished = drafted(&with_program(script), &["./demo"]);
        assert_eq!((finished.code, finished.stdout.as_str()), (2, ""));
        finished.stderr
    };
    assert_eq!(
        says("#!/bin/sh\necho nothing of the kind\n"),
        format!("error: `./demo`: it prints no help, but: nothing of the kind\n{by_hand}")
    );
    assert_eq!(
        says("#!/bin/sh\n"),
        format!("error: `./demo`: it prints no help\n{by_hand}")
    );
    assert_eq!(
        says(
            "#!/bin/sh\nprintf 'DEMO(1)   Manual   DEMO(1)\\n\\nNAME\\n    demo - nothing\\n\\nOPTIONS\\n    -a  all\\n    -b  b\\n'\n"
        ),
        format!("error: `./demo`: it shows a page of its manual instead of help\n{by_hand}")
    );
    let missing = drafted(&Workspace::new(), &["no-such-program-anywhere"]);
    assert_eq!(missing.code, 2);
    assert_eq!(
        missing.stderr,
        "error: there is no program `no-such-program-anywhere` that commands could run\nhint: check the name; a path is one \
         from the project. Programs in directories that commands cannot read need --sandbox-read\n"
    );
}

/// Proves: P64.
#[test]
fn a_draft_is_written_where_it_is_asked_for_and_over_nothing() {
    let (workspace, _) = of_style("gnu");
    let added = drafted(&workspace, &["./demo", "--add"]);
    assert_eq!(
        (added.code, added.stdout.as_str()),
        (0, ""),
        "{}",
        added.stderr
    );
    assert!(added.stderr.contains("ahma_validate"), "{}", added.stderr);
    let file = workspace.path().join(".ahma/tools/demo.json");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(tools(&text)[0].name, "demo");
    fs::write(&file, "mine").unwrap();
    let again = drafted(&workspace, &["./demo", "--add"]);
    assert_eq!(again.code, 2);
    assert!(
        again.stderr.contains("is there already"),
        "{}",
        again.stderr
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(drafted(&workspace, &["./demo", "--add", "--force"]).code, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let elsewhere = drafted(&workspace, &["./demo", "--output", "drafts/one.json"]);
    assert_eq!(elsewhere.code, 0, "{}", elsewhere.stderr);
    assert_eq!(
        fs::read_to_string(workspace.path().join("drafts/one.json")).unwrap(),
        text
    );
}
