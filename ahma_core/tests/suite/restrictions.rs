//! What a tool file gives up is taken from its commands, in the real sandbox.

use ahma_tests::patiently;
use std::fs;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use ahma_core::config::Restrictions;
use ahma_core::internal::CommandPlan;
use ahma_core::{OperationHandle, OperationState};
use ahma_sandbox::Input;
use serde_json::{Value, json};

use crate::bench::{Bench, text};
use crate::tools_of;

/// What a tool file says, as the loader understands it.
fn restrictions(fields: &Value) -> Restrictions {
    let mut tool = json!({ "name": "t", "description": "T.", "command": "sh" });
    let given = fields.as_object().unwrap().clone();
    tool.as_object_mut().unwrap().extend(given);
    tools_of(&tool).remove(0).restrictions
}

async fn run(bench: &Bench, restrictions: Restrictions, script: &str) -> Arc<OperationHandle> {
    let plan = CommandPlan {
        tool: "t".to_owned(),
        kind: ahma_core::internal::CommandKind::Program,
        arguments: ["bash", "-c", script].map(Into::into).to_vec(),
        environment: Arc::new(vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("TMPDIR".into(), bench.hosts.policy().temporary().into()),
        ]),
        working_directory: bench.scope.clone(),
        input: Input::Nothing,
        input_writer: None,
        deadline: Some(Duration::from_secs(30)),
        is_service: false,
        success_exit_codes: Vec::new(),
        output: Default::default(),
        events: None,
        restrictions,
    };
    let operation = bench.executor.start(plan, &"test".into()).unwrap();
    patiently(operation.ended()).await;
    operation
}

async fn succeeds(bench: &Bench, restrictions: Restrictions, script: &str) -> bool {
    let operation = run(bench, restrictions, script).await;
    operation.state() == OperationState::Completed
}

/// Proves: S41.
#[tokio::test]
async fn a_tool_without_network_has_none_and_others_keep_theirs() {
    let bench = Bench::new(4);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connect = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{}",
        listener.local_addr().unwrap().port()
    );
    let without = restrictions(&json!({ "network": false }));
    assert!(succeeds(&bench, Restrictions::default(), &connect).await);
    assert!(!succeeds(&bench, without, &connect).await);
    assert!(succeeds(&bench, without, "echo fine").await);
    assert!(succeeds(&bench, Restrictions::default(), &connect).await);
}

/// Proves: S41, S72.
#[tokio::test]
async fn tools_without_network_talk_to_each_other_over_a_loopback_of_their_own() {
    let bench = Bench::new(4);
    let serve = "import socket, os; s = socket.create_server((\"127.0.0.1\", 0)); \
                 open(\"new\", \"w\").write(str(s.getsockname()[1])); os.rename(\"new\", \"port\"); \
                 [s.accept()[0].sendall(b\"hello\") for _ in range(2)]";
    let serve = format!("/usr/bin/python3 -c '{serve}'");
    let ask = "until test -e port; do :; done; exec 3<>/dev/tcp/127.0.0.1/$(cat port) && cat <&3";
    let offline = restrictions(&json!({ "network": false }));
    let neither = restrictions(&json!({ "network": false, "writes": false }));
    let talk = async {
        let refused = "until test -e port; do :; done; exec 3<>/dev/tcp/127.0.0.1/$(cat port)";
        assert!(!succeeds(&bench, Restrictions::default(), refused).await);
        for restrictions in [offline, neither] {
            let operation = run(&bench, restrictions, ask).await;
            assert_eq!(text(&operation), "hello");
        }
    };
    let (served, ()) = tokio::join!(succeeds(&bench, offline, &serve), talk);
    assert!(served);
}

/// Proves: S41.
#[tokio::test]
async fn a_tool_that_does_not_write_cannot() {
    let bench = Bench::new(4);
    fs::write(bench.scope.join("file"), "content").unwrap();
    let without = restrictions(&json!({ "writes": false }));
    assert!(succeeds(&bench, without, "cat file && echo x > $TMPDIR/f").await);
    for script in ["echo x > new", "echo x > file", "rm file", "chmod 600 file"] {
        assert!(!succeeds(&bench, without, script).await, "{script}");
    }
    assert_eq!(fs::read(bench.scope.join("file")).unwrap(), b"content");
    assert!(succeeds(&bench, Restrictions::default(), "echo x > new && rm file").await);
}

/// Proves: S41.
#[tokio::test]
async fn a_tool_gets_no_more_memory_and_processes_than_it_says() {
    let bench = Bench::new(4);
    let take = |mb: u32| format!("/usr/bin/python3 -c 'bytearray({mb} << 20)'");
    let little = restrictions(&json!({ "limits": { "memory_mb": 200 } }));
    assert!(succeeds(&bench, little, &take(50)).await);
    assert!(!succeeds(&bench, little, &take(400)).await);
    assert!(succeeds(&bench, Restrictions::default(), &take(400)).await);

    let fork = "import os; pids = [os.fork() or os._exit(0) for _ in range(5)]";
    let fork = format!("/usr/bin/python3 -c '{fork}'");
    let few = restrictions(&json!({ "limits": { "processes": 4 } }));
    assert!(!succeeds(&bench, few, &fork).await);
    assert!(succeeds(&bench, few, "/bin/true; /bin/true").await);
    assert!(succeeds(&bench, Restrictions::default(), &fork).await);
}

/// Proves: S41.
#[tokio::test]
async fn output_beyond_a_tools_limit_is_counted_and_dropped() {
    let bench = Bench::new(4);
    let little = restrictions(&json!({ "limits": { "output_mb": 1 } }));
    let operation = run(
        &bench,
        little,
        "head -c 5000000 /dev/zero | tr '\\0' x; echo end",
    )
    .await;
    assert_eq!(operation.state(), OperationState::Completed);
    assert_eq!(operation.output().totals().bytes, 5_000_004);
    assert!(text(&operation).ends_with("xend\n"), "the end is kept");
    let middle = ahma_core::internal::PageRequest::From {
        offset: 3_000_000,
        length: 10,
    };
    let page = operation.output().page(middle).await.unwrap();
    assert!(page.lost_before, "{page:?}");
}

/// Proves: S42.
#[tokio::test]
async fn tools_that_give_up_the_same_share_a_host_and_only_some_are_kept() {
    let bench = Bench::new(4);
    let of = |restrictions| {
        let hosts = Arc::clone(&bench.hosts);
        async move { hosts.host(&restrictions).await.unwrap().pid() }
    };
    let offline = restrictions(&json!({ "network": false }));
    let usual = of(Restrictions::default()).await;
    let first = of(offline).await;
    assert_ne!(first, usual);
    // How much output is kept is no business of the host.
    let with_output = restrictions(&json!({ "network": false, "limits": { "output_mb": 3 } }));
    assert_eq!(of(with_output).await, first);
    for number in 1..=8 {
        of(restrictions(&json!({ "limits": { "processes": number } }))).await;
    }
    assert_ne!(of(offline).await, first, "it was not used for longest");
}

/// Proves: S42.
#[tokio::test]
async fn what_cannot_be_taken_away_is_said_in_the_result() {
    let bench = Bench::with(4, |policy| {
        policy.without = vec![ahma_sandbox::Layer::Namespaces];
    });
    assert!(succeeds(&bench, Restrictions::default(), "true").await);
    let few = restrictions(&json!({ "writes": false, "limits": { "processes": 4 } }));
    let operation = run(&bench, few, "true").await;
    let warnings = operation.completion().unwrap().warnings.join("\n");
    assert!(
        warnings.contains("limit of 4 processes is not enforced"),
        "{warnings}"
    );
    assert!(
        warnings.contains("although nothing may be written"),
        "{warnings}"
    );
    let usual = run(&bench, Restrictions::default(), "true").await;
    assert_eq!(usual.completion().unwrap().warnings, Vec::<String>::new());
}
