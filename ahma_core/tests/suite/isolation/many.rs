//! Many sessions at once.

use ahma_tests::until;
use std::thread;

use super::Isolated;

/// Proves: I1.
#[test]
fn two_hundred_isolated_sessions_each_run_in_their_own_scope() {
    let isolated = Isolated::new();
    let clients: Vec<_> = (0..200)
        .map(|number| isolated.session(&format!("project{number}")))
        .collect();
    let calls: Vec<_> = clients
        .iter()
        .map(|client| {
            let client = client.clone();
            let small = thread::Builder::new().stack_size(256 * 1024);
            small
                .spawn(move || client.sync("pwd; echo $((6 * 7)) > answer").text)
                .unwrap()
        })
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        let project = isolated.project(&format!("project{number}"));
        let text = call.join().unwrap();
        assert!(text.starts_with(project.to_str().unwrap()), "{text}");
        let answer = std::fs::read_to_string(project.join("answer")).unwrap();
        assert_eq!(answer, "42\n");
    }
    for client in &clients {
        assert_eq!(client.delete().status, 204);
    }
    let below = || ahma_tests::processes_below(isolated.process.pid()).len();
    until(|| below() < 50);
}
