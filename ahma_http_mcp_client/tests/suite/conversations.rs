//! Conversations with a server that behaves as it is told to, over stdio and over HTTP.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start the server that they speak with, and fail by panicking"
)]

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ahma_http_mcp_client::{
    Client, ClientOptions, Request, RequestError, STATELESS, ServerEvents, UrlEntry,
};
use ahma_tests::Workspace;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

/// What the server's tool `odd` answers, byte for byte.
const ODD: &str = concat!(
    r#"{"content":[{"type":"text","text":"odd","vendor":{"b":1,"a":2}},{"type":"newkind","x":[]}],"#,
    r#""vendorTop":1.10,"huge":12345678901234567890123,"exp":1E5,"tools":[],"structuredContent":{"z":0.10000000000000000555,"a":null},"#,
    r#""_meta":{"vendor/x":true}}"#
);

fn server() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join("../tests/fixtures/upstream/server.py")
}

/// A server over stdio, which ends with its client.
struct Child {
    client: Client,
    _child: tokio::process::Child,
}

async fn start(options: &[&str], with: ClientOptions) -> Result<Child, RequestError> {
    let mut child = tokio::process::Command::new("python3")
        .arg(server())
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (input, output) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let client = Client::over_streams(input, output, with).await?;
    Ok(Child {
        client,
        _child: child,
    })
}

/// A server over HTTP, on a port of the machine's choice.
struct Listening {
    child: std::process::Child,
    entry: UrlEntry,
}

impl Listening {
    fn new(options: &[&str], headers: &[(&str, &str)]) -> Self {
        let mut child = std::process::Command::new("python3")
            .arg(server())
            .arg("--http=0")
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut port = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut port).unwrap();
        let headers = headers.iter();
        let headers = headers.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let url = format!("http://127.0.0.1:{}/mcp", port.trim());
        Listening {
            child,
            entry: UrlEntry::new(url, headers.collect()),
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn quick() -> ClientOptions {
    ClientOptions {
        connect_timeout: Duration::from_secs(20),
        ..ClientOptions::default()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is written at the call")]
fn arguments(value: serde_json::Value) -> Box<RawValue> {
    to_raw_value(&value).unwrap()
}

async fn call(client: &Client, tool: &str, with: serde_json::Value) -> String {
    let result = client.request(Request::call(tool, &arguments(with))).await;
    result.unwrap().get().to_owned()
}

fn names(listed: &ahma_http_mcp_client::Listed) -> Vec<String> {
    let name = |it: &RawValue| {
        let item: serde_json::Value = serde_json::from_str(it.get()).unwrap();
        item["name"].as_str().map(ToOwned::to_owned)
    };
    listed.items.iter().filter_map(|it| name(it)).collect()
}

/// Proves: C9.
/// Scenario: 002/3.2, 002/3.3.
#[tokio::test]
async fn both_lifecycles_are_spoken_over_both_transports() {
    for (options, revision) in [
        (&["--revision=legacy"][..], "2025-11-25"),
        (&["--revision=stateless"], STATELESS),
        (&[], STATELESS),
        (&["--down"], "2025-11-25"),
        (&["--silent-probe"], "2025-11-25"),
    ] {
        let stdio = start(options, quick()).await.unwrap();
        let http = Listening::new(options, &[]);
        let over_http = Client::at(&http.entry, quick()).await.unwrap();
        for client in [&stdio.client, &over_http] {
            assert_eq!(client.peer().revision, revision, "{options:?}");
            assert!(names(&client.tools().await.unwrap()).contains(&"echo".to_owned()));
            let said = call(client, "echo", json!({ "text": "hello" })).await;
            assert!(said.contains("hello"), "{said}");
            assert_eq!(names(&client.prompts().await.unwrap()), ["greet"]);
            assert_eq!(names(&client.resources().await.unwrap()), ["note"]);
            assert_eq!(client.resource_templates().await.unwrap().items.len(), 1);
            assert!(client.health_check().await.unwrap() < Duration::from_secs(20));
        }
        over_http.close().await;
    }
}

/// Proves: C10.
#[tokio::test]
async fn what_a_server_answers_stays_as_it_came() {
    for options in [&["--revision=legacy"][..], &["--sse"], &[]] {
        let stdio = start(options, quick()).await.unwrap();
        assert_eq!(call(&stdio.client, "odd", json!({})).await, ODD);
        let http = Listening::new(options, &[]);
        let over_http = Client::at(&http.entry, quick()).await.unwrap();
        assert_eq!(call(&over_http, "odd", json!({})).await, ODD, "{options:?}");
        let tools = stdio.client.tools().await.unwrap();
        assert!(
            tools.items[0]
                .get()
                .contains(r#""vendorField": {"kept": 1}"#)
        );
    }
}

#[derive(Default)]
struct Heard {
    notified: Mutex<Vec<String>>,
    rubbish: Mutex<Vec<String>>,
}

impl ServerEvents for Heard {
    fn notified(&self, method: &str, _params: Option<&RawValue>) {
        self.notified.lock().unwrap().push(method.to_owned());
    }

    fn rubbish(&self, text: &[u8]) {
        let text = String::from_utf8_lossy(text).into_owned();
        self.rubbish.lock().unwrap().push(text);
    }
}

/// Proves: C11.
#[tokio::test]
async fn banners_and_storms_of_notifications_are_heard_and_harmless() {
    let heard = Arc::new(Heard::default());
    let events: Arc<dyn ServerEvents> = heard.clone();
    let with = ClientOptions { events, ..quick() };
    let options = ["--banner", "--noisy", "--revision=legacy"];
    let child = start(&options, with).await.unwrap();
    call(&child.client, "echo", json!({ "text": "x" })).await;
    assert_eq!(heard.rubbish.lock().unwrap().len(), 3);
    assert_eq!(heard.notified.lock().unwrap().len(), 1000);
}

/// Proves: C11.
#[tokio::test]
async fn a_server_that_hangs_or_ends_is_given_up_and_named() {
    let short = ClientOptions {
        connect_timeout: Duration::from_secs(3),
        ..quick()
    };
    let hanging = start(&["--hang"], short).await.err().unwrap();
    assert!(matches!(hanging, RequestError::Timeout(_)), "{hanging}");
    let gone = start(&["--exit=1"], quick()).await.err().unwrap();
    assert!(matches!(gone, RequestError::Transport { .. }), "{gone}");
    let child = start(&[], quick()).await.unwrap();
    let died = child
        .client
        .request(Request::call("die", &arguments(json!({}))));
    let died = died.await.err().unwrap();
    assert!(!died.has_not_run(), "{died}");
    let why = child.client.closed().await;
    assert!(why.contains("closed its output"), "{why}");
    let after = child
        .client
        .request(Request::call("echo", &arguments(json!({}))));
    assert!(after.await.err().unwrap().has_not_run());
}

/// Proves: C12.
#[tokio::test]
async fn answers_and_lists_have_limits() {
    let small = ClientOptions {
        max_message: 1 << 20,
        ..quick()
    };
    let stdio = start(&[], small.clone()).await.unwrap();
    let http = Listening::new(&[], &[]);
    let over_http = Client::at(&http.entry, small).await.unwrap();
    for client in [&stdio.client, &over_http] {
        let long = arguments(json!({ "bytes": 3_000_000 }));
        let refused = client.request(Request::call("big", &long)).await;
        let refused = refused.err().unwrap().to_string();
        assert!(refused.contains("longer than 1 MiB"), "{refused}");
        let said = call(client, "echo", json!({ "text": "still here" })).await;
        assert!(said.contains("still here"), "{said}");
    }
    let many = start(&["--tools=12000"], quick()).await.unwrap();
    let listed = many.client.tools().await.unwrap();
    assert_eq!(listed.items.len(), 10_000);
    assert!(listed.cut.is_some());
    let circle = start(&["--circle"], quick()).await.unwrap();
    let listed = circle.client.tools().await.unwrap();
    let why = listed.cut.unwrap();
    assert!(why.contains("circle"), "{why}");
}

/// Proves: C13.
/// Scenario: 002/3.7.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_nobody_waits_for_is_cancelled_and_progress_comes_in_order() {
    let place = Workspace::new();
    let log = place.path().join("log");
    let option = format!("--log={}", log.display());
    let child = start(&[&option, "--revision=legacy"], quick())
        .await
        .unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let mut slow = Request::call("slow", &arguments(json!({ "seconds": 0.2, "steps": 40 })));
    slow.progress = Some(Box::new(move |params: &RawValue| {
        let params: serde_json::Value = serde_json::from_str(params.get()).unwrap();
        hears
            .lock()
            .unwrap()
            .push(params["progress"].as_u64().unwrap());
    }));
    child.client.request(slow).await.unwrap();
    let all: Vec<u64> = (1..=40).collect();
    assert_eq!(*heard.lock().unwrap(), all);
    let mut given_up = Request::call("slow", &arguments(json!({ "seconds": 60, "steps": 600 })));
    given_up.timeout = Some(Duration::from_millis(300));
    let error = child.client.request(given_up).await.err().unwrap();
    assert!(matches!(error, RequestError::Timeout(_)), "{error}");
    ahma_tests::until(|| {
        let log = std::fs::read_to_string(&log).unwrap();
        log.contains("cancelled slow")
    });
}

/// Proves: C14.
/// Scenario: 002/3.5.
#[tokio::test]
async fn who_asks_is_said_and_a_refusal_tells_nothing_secret() {
    let place = Workspace::new();
    let log = format!("--log={}", place.path().join("log").display());
    let http = Listening::new(
        &["--token=right", &log],
        &[("authorization", "Bearer right")],
    );
    let client = Client::at(&http.entry, quick()).await.unwrap();
    call(&client, "echo", json!({ "text": "x" })).await;
    let log = std::fs::read_to_string(place.path().join("log")).unwrap();
    assert!(log.contains("http tools/call tools/call"), "{log}");
    let wrong = Listening::new(&["--token=right"], &[("authorization", "Bearer wr0ng")]);
    let refused = Client::at(&wrong.entry, quick()).await.err().unwrap();
    let RequestError::Unauthorized { challenge } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(challenge.as_deref(), Some("Bearer realm=\"x\""));
    assert!(!format!("{refused:?}").contains("wr0ng"));
    let nobody = UrlEntry::new("http://127.0.0.1:9/mcp?key=secret", Default::default());
    let nobody = Client::at(&nobody, quick()).await.err().unwrap();
    assert!(nobody.has_not_run());
    assert!(!nobody.to_string().contains("secret"), "{nobody}");
}

/// Proves: C4.
/// Scenario: 002/3.6.
#[tokio::test]
async fn what_was_not_done_is_tried_again_and_what_may_have_been_is_not() {
    let busy = Listening::new(&["--busy=2"], &[]);
    let client = Client::at(&busy.entry, quick()).await.unwrap();
    assert!(!client.tools().await.unwrap().items.is_empty());
    let place = Workspace::new();
    let log = place.path().join("log");
    let option = format!("--log={}", log.display());
    let busy = Listening::new(&["--busy=1", &option], &[]);
    let client = Client::at(&busy.entry, quick()).await.unwrap();
    let said = call(&client, "echo", json!({ "text": "once" })).await;
    assert!(said.contains("once"), "{said}");
    let calls = || {
        let log = std::fs::read_to_string(&log).unwrap();
        log.lines().filter(|it| it.starts_with("call ")).count()
    };
    assert_eq!(calls(), 1);
    let dropping = Listening::new(&["--drop", &option], &[]);
    let client = Client::at(&dropping.entry, quick()).await.unwrap();
    let lost = client
        .request(Request::call("echo", &arguments(json!({}))))
        .await;
    let lost = lost.err().unwrap();
    assert!(!lost.has_not_run(), "{lost}");
    assert_eq!(calls(), 2, "it was sent once");
    // It does not answer at all: how it went wrong is told apart.
    let refused = client.request(Request::new("no/such", ahma_http_mcp_client::Params::new()));
    let refused = refused.await.err().unwrap();
    assert!(matches!(refused, RequestError::Refused(_)), "{refused}");
}
