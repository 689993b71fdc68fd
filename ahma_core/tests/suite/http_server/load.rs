//! Many clients at once.

use ahma_tests::until;
use std::thread;

use serde_json::json;

use super::Served;

/// Proves: H16.
#[test]
fn five_hundred_sessions_each_run_a_command_at_the_same_time() {
    let served = Served::with(&["--rate-limit", "0"]);
    let clients: Vec<_> = (0..500).map(|_| served.connect()).collect();
    let calls: Vec<_> = clients
        .iter()
        .enumerate()
        .map(|(number, client)| {
            let arguments =
                json!({ "command": format!("echo call {number}"), "execution_mode": "sync" });
            let request = client.calling("sandboxed_shell", &arguments);
            let address = client.address;
            let small = thread::Builder::new().stack_size(256 * 1024);
            small.spawn(move || request.send(address).answer()).unwrap()
        })
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        let answer = call.join().unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("call {number}\n")), "{answer}");
    }
    let health = || {
        ahma_tests::http::Request::new("GET", "/health")
            .send(served.process.address)
            .json()
    };
    assert_eq!(health()["sessions"], 500);
    for client in clients {
        assert_eq!(client.delete().status, 204);
    }
    assert_eq!(health()["sessions"], 0);
    until(|| health()["operations"]["running"] == 0);
}

/// Proves: H11.
#[test]
#[ignore = "takes minutes; run by .ci/soak"]
fn thirty_thousand_sessions_leave_no_memory_behind() {
    let served = Served::with(&["--rate-limit", "0"]);
    let pid = served.process.pid();
    let cycle = |count: usize| {
        for number in 0..count {
            let client = served.connect();
            if number % 100 == 0 {
                assert!(client.sync("echo hi").text.starts_with("hi\n"));
            }
            if number % 10 == 0 {
                drop(client.stream());
            }
            assert_eq!(client.delete().status, 204);
        }
    };
    cycle(3000);
    let before = super::memory_kb(pid, "VmRSS");
    cycle(27_000);
    let after = super::memory_kb(pid, "VmRSS");
    println!("resident: {before} kB after 3,000 sessions, {after} kB after 30,000");
    assert!(after < before + 2000, "{before} kB, then {after} kB");
}
