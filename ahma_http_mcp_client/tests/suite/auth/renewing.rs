//! The life of a token: renewed before its end, once when it is refused, by one process at a time.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use ahma_http_mcp_client::auth::TokenSource;
use ahma_http_mcp_client::{RequestError, Secret};
use serde_json::{Value, json};

use super::listener::Answer;
use super::realm::Realm;

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

/// Makes the stored token older: issued so long ago, with so much of its life left.
fn age(realm: &Realm, issued_ago: i64, left: i64) {
    for entry in std::fs::read_dir(realm.tokens()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().unwrap() == "json" {
            let mut record: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            record["tokens"]["issued_at"] = json!(now() - issued_ago);
            record["tokens"]["expires_at"] = json!(now() + left);
            std::fs::write(&path, record.to_string()).unwrap();
        }
    }
}

fn renewals(realm: &Realm) -> usize {
    realm.token_requests("refresh_token").len()
}

async fn current(source: &TokenSource) -> Option<String> {
    let token = source.current().await.unwrap();
    token.as_ref().map(Secret::reveal).map(str::to_owned)
}

fn given(realm: &Realm) -> Option<String> {
    realm.given.lock().unwrap().access.clone()
}

/// Proves: C65.
#[tokio::test]
async fn a_token_is_renewed_at_the_start_where_it_is_due_and_not_before() {
    let realm = Realm::new().await;
    realm.sign_in().await.unwrap();
    age(&realm, 79, 21);
    assert_eq!(current(&realm.source()).await, given(&realm));
    assert_eq!(renewals(&realm), 0);
    age(&realm, 81, 19);
    let first = given(&realm);
    let second = current(&realm.source()).await;
    assert_eq!((renewals(&realm), &second), (1, &given(&realm)));
    assert_ne!(first, second);
    let renewal = &realm.token_requests("refresh_token")[0];
    assert_eq!(renewal.param("resource").unwrap(), realm.url());
    assert_eq!(renewal.param("scope"), None);
    // It is stored, with the refresh token that came with it.
    assert_eq!(current(&realm.source()).await, second);
    assert_eq!(renewals(&realm), 1);
    age(&realm, 81, 19);
    assert_ne!(current(&realm.source()).await, second);
    assert_eq!(realm.offences(), Vec::<String>::new());
}

/// Proves: C65.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_renewed_while_nobody_asks_for_it() {
    let realm = Realm::new().await;
    realm.rule(|rules| rules.life = 2);
    realm.sign_in().await.unwrap();
    let source = realm.source();
    assert!(current(&source).await.is_some());
    realm.rule(|rules| rules.life = 3600);
    let before = renewals(&realm);
    tokio::task::block_in_place(|| ahma_tests::until(|| renewals(&realm) > before || before > 0));
    assert_eq!(renewals(&realm), 1);
}

/// Proves: C65.
#[tokio::test]
async fn a_refused_token_is_renewed_once_and_the_request_sent_again() {
    let realm = Realm::new().await;
    realm.sign_in().await.unwrap();
    let source = realm.source();
    let client = realm.converse(&source).await.unwrap();
    let lists = || {
        let asked = realm.listener.asked_at("/mcp");
        asked
            .iter()
            .filter(|it| it.body.contains("tools/list"))
            .count()
    };
    for round in 1..=2 {
        // A token that was let through in between may be renewed again.
        realm.given.lock().unwrap().access = Some("another one".to_owned());
        client.tools().await.unwrap();
        assert_eq!((renewals(&realm), lists()), (round, 2 * round));
    }
    realm.trick(|asked, _| (asked.path() == "/mcp").then(|| Answer::new(401)));
    for _ in 0..3 {
        let refused = client.tools().await.unwrap_err();
        assert!(
            matches!(refused, RequestError::Unauthorized { .. }),
            "{refused}"
        );
        assert_eq!(renewals(&realm), 3);
    }
    assert_eq!(realm.offences(), Vec::<String>::new());
}

/// Proves: C65.
#[tokio::test]
async fn a_failure_that_may_pass_keeps_tokens_and_only_invalid_grant_drops_them() {
    let realm = Realm::new().await;
    realm.sign_in().await.unwrap();
    let (old, on_disk) = (given(&realm), || realm.records()[0]["tokens"].clone());
    for trouble in [
        Answer::new(503)
            .with("content-type", "application/json")
            .body(r#"{"error":"invalid_grant"}"#),
        Answer::new(429),
        Answer::new(200).body("<html>log in</html>"),
        Answer::json(&json!({ "error": "invalid_client" })).status(401),
        Answer::json(&json!({ "error": "temporarily_unavailable" })).status(400),
    ] {
        let trouble = std::sync::Mutex::new(Some(trouble));
        realm.trick(move |asked, _| {
            let is_it = asked.path() == "/token";
            is_it.then(|| {
                trouble
                    .lock()
                    .unwrap()
                    .take()
                    .unwrap_or_else(|| Answer::new(500))
            })
        });
        age(&realm, 90, 10);
        let kept = on_disk();
        let before = realm.listener.asked_at("/token").len();
        let source = realm.source();
        // It is still good for a while, and the endpoint is left alone meanwhile.
        for _ in 0..3 {
            assert_eq!(current(&source).await, old);
        }
        assert_eq!(realm.listener.asked_at("/token").len(), before + 1);
        assert_eq!(on_disk(), kept);
    }
    age(&realm, 100, -1);
    let error = realm.source().current().await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    realm.rule(|rules| rules.trick = None);
    let renewed = current(&realm.source()).await;
    assert_eq!(renewed, given(&realm));
    assert_ne!(renewed, old);

    age(&realm, 100, -1);
    realm.trick(|asked, _| {
        let body = json!({ "error": "invalid_grant" });
        (asked.path() == "/token").then(|| Answer::json(&body).status(400))
    });
    let source = realm.source();
    let before = realm.listener.asked_at("/token").len();
    for _ in 0..3 {
        assert_eq!(current(&source).await, None);
    }
    assert_eq!(realm.listener.asked_at("/token").len(), before + 1);
    assert_eq!(on_disk(), Value::Null);
}

/// Proves: C65.
#[tokio::test]
async fn a_sign_in_of_another_process_is_found_where_the_token_does_not_allow_enough() {
    let realm = Realm::new().await;
    realm.sign_in().await.unwrap();
    let client = realm.converse(&realm.source()).await.unwrap();
    let old = given(&realm).unwrap();
    realm.sign_in().await.unwrap();
    realm.trick(move |asked, _| {
        let is_old = asked.header("authorization").contains(&old);
        is_old.then(|| {
            Answer::new(403).with(
                "www-authenticate",
                r#"Bearer error="insufficient_scope", scope="x""#,
            )
        })
    });
    client.tools().await.unwrap();
    assert_eq!(renewals(&realm), 0);
}

/// A process that asks the server with the tokens of the store. It ends with this.
struct Asking(Child);

impl Asking {
    fn start(realm: &Realm) -> Self {
        let child = Command::new(ahma_tests::example("signed_in"))
            .arg(realm.url())
            .arg(realm.tokens())
            .stdout(Stdio::piped())
            .spawn();
        Asking(child.unwrap())
    }

    /// The first that it says: what it was told, or that somebody has to sign in.
    fn says(&mut self) -> String {
        let mut line = String::new();
        let output = self.0.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Proves: C66.
#[tokio::test(flavor = "multi_thread")]
async fn five_processes_renew_one_token_once() {
    let realm = Realm::new().await;
    realm.sign_in().await.unwrap();
    for round in 1..=3 {
        age(&realm, 100, -1);
        let mut processes: Vec<Asking> = (0..5).map(|_| Asking::start(&realm)).collect();
        for process in &mut processes {
            let said = tokio::task::block_in_place(|| process.says());
            assert_eq!(said, "0 tools\n");
        }
        assert_eq!(renewals(&realm), round);
        assert_eq!(realm.offences(), Vec::<String>::new());
    }
}

/// Proves: C66.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_a_dead_process_left_behind_holds_up_nobody() {
    let realm = Realm::new().await;
    realm.sign_in().await.unwrap();
    age(&realm, 100, -1);
    let mut locks = std::fs::read_dir(realm.tokens())
        .unwrap()
        .map(|it| it.unwrap().path());
    let lock = locks.find(|it| it.extension().unwrap() == "lock").unwrap();
    let holding = "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); \
                   f.write('12345'); f.flush(); print('held', flush=True); time.sleep(600)";
    let mut holder = Command::new("python3")
        .args(["-c", holding])
        .arg(&lock)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "held\n");
    let source = realm.source();
    let renewing = tokio::spawn(async move { source.current().await });
    // As long as somebody holds it, nobody else renews.
    let other = realm.source();
    let early = tokio::time::timeout(std::time::Duration::from_millis(500), other.current()).await;
    assert!(early.is_err());
    assert_eq!(renewals(&realm), 0);
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(lock.exists());
    let token = renewing.await.unwrap().unwrap();
    assert_eq!(token.as_ref().map(Secret::reveal), given(&realm).as_deref());
    assert_eq!(renewals(&realm), 1);
}
