//! What readers of an outbox see.

use futures_util::{FutureExt as _, StreamExt as _};
use rmcp::model::{CustomNotification, EmptyResult, RequestId, ServerResult};

use super::*;

fn notification(text: &str) -> ServerJsonRpcMessage {
    let custom = CustomNotification::new(text, None);
    ServerJsonRpcMessage::notification(ServerNotification::CustomNotification(custom))
}

fn answer(id: i64) -> ServerJsonRpcMessage {
    let result = ServerResult::EmptyResult(EmptyResult {});
    ServerJsonRpcMessage::response(result, RequestId::Number(id))
}

/// What can be read without waiting, as method or id; and whether the stream has ended.
fn ready(messages: &mut Messages) -> (Vec<String>, bool) {
    let mut found = Vec::new();
    loop {
        match messages.next().now_or_never() {
            Some(Some(event)) => found.push(match event.message.as_deref() {
                Some(ServerJsonRpcMessage::Notification(it)) => match &it.notification {
                    ServerNotification::CustomNotification(it) => it.method.clone(),
                    _ => unreachable!("only custom ones are sent"),
                },
                Some(ServerJsonRpcMessage::Response(it)) => format!("answer {:?}", it.id),
                Some(_) => unreachable!("nothing else is sent"),
                None => format!("begin {}", event.event_id.unwrap_or_default()),
            }),
            Some(None) => return (found, true),
            None => return (found, false),
        }
    }
}

#[test]
fn a_message_is_handed_out_once_and_to_the_newest_reader() {
    let outbox = Arc::new(Outbox::new(1));
    outbox.put(notification("a"));
    let mut one = outbox.read(false);
    assert_eq!(ready(&mut one).0, ["a"]);
    let mut two = outbox.read(false);
    outbox.put(notification("b"));
    assert_eq!(
        ready(&mut one),
        (vec![], false),
        "an older reader stays open"
    );
    assert_eq!(ready(&mut two).0, ["b"], "and `a` is not repeated");
    drop(two);
    outbox.put(notification("c"));
    assert_eq!(ready(&mut one).0, ["c"], "which is then the newest again");
}

#[test]
fn a_broken_stream_goes_on_where_it_was() {
    let outbox = Arc::new(Outbox::new(3));
    for text in ["a", "b", "c"] {
        outbox.put(notification(text));
    }
    drop(outbox.read(false).next().now_or_never());
    let (stream, after) = parse_event_id("3-0").unwrap();
    assert_eq!((stream, after), (3, Some(0)));
    assert_eq!(ready(&mut outbox.read_again(after)).0, ["b", "c"]);
    assert_eq!(
        ready(&mut outbox.read_again(after)).0,
        ["b", "c"],
        "and once more"
    );
    assert_eq!(ready(&mut outbox.read(false)).0, Vec::<String>::new());
    assert_eq!(
        ready(&mut outbox.read_again(None)).0,
        ["a", "b", "c"],
        "of whom nothing had come"
    );
    assert_eq!(parse_event_id("3-"), Some((3, None)));
    assert_eq!(parse_event_id("x-1"), None);
}

#[test]
fn a_client_can_be_told_where_to_come_back_to_before_anything_is_sent() {
    let outbox = Arc::new(Outbox::new(7));
    assert_eq!(ready(&mut outbox.read(true)).0, ["begin 7-"]);
    outbox.put(notification("a"));
    assert_eq!(ready(&mut outbox.read(true)).0, ["begin 7-", "a"]);
    assert_eq!(ready(&mut outbox.read(true)).0, ["begin 7-0"]);
}

/// Proves: H11.
#[test]
fn what_nobody_reads_is_bounded_and_the_answer_is_kept() {
    let outbox = Arc::new(Outbox::new(1));
    outbox.put(answer(5));
    for number in 0..1000 {
        outbox.put(notification(&number.to_string()));
    }
    outbox.finish();
    let (found, has_ended) = ready(&mut outbox.read(false));
    assert_eq!(found.first().map(String::as_str), Some("answer Number(5)"));
    assert_eq!(found.len(), MAX_NOTIFICATIONS, "{found:?}");
    assert_eq!(found.last().map(String::as_str), Some("999"));
    assert!(has_ended);
    assert!(outbox.is_done());
}

#[test]
fn what_can_be_asked_for_again_is_not_kept_when_it_was_read_to_its_end() {
    for (outbox, kept) in [(Outbox::new(1), 1), (Outbox::forgetful(1), 0)] {
        let outbox = Arc::new(outbox);
        outbox.put(answer(5));
        outbox.finish();
        let mut broken = outbox.read(false);
        assert!(broken.next().now_or_never().is_some());
        drop(broken);
        assert_eq!(outbox.state().messages.len(), 1, "it was not written yet");
        assert!(ready(&mut outbox.read_again(Some(0))).1);
        assert_eq!(outbox.state().messages.len(), kept);
    }
}

/// Proves: H11.
#[test]
fn long_news_that_nobody_reads_are_bounded_in_letters() {
    let outbox = Arc::new(Outbox::new(1));
    outbox.put(answer(5));
    for number in 0..40 {
        let params = serde_json::json!({ "text": "x".repeat(MAX_NOTIFICATION_BYTES / 10) });
        let long = CustomNotification::new(number.to_string(), Some(params));
        let long = ServerNotification::CustomNotification(long);
        outbox.put(ServerJsonRpcMessage::notification(long));
    }
    assert!(outbox.state().letters() <= MAX_NOTIFICATION_BYTES);
    let (found, _) = ready(&mut outbox.read(false));
    assert_eq!(found.len(), 11, "{found:?}");
    assert_eq!(found.first().map(String::as_str), Some("answer Number(5)"));
    assert_eq!(found.last().map(String::as_str), Some("39"));
}

#[test]
fn what_was_handed_out_is_remembered_for_a_while_only() {
    let outbox = Arc::new(Outbox::new(1));
    let mut reader = outbox.read(false);
    for number in 0..1000 {
        outbox.put(notification(&number.to_string()));
        assert_eq!(ready(&mut reader).0, [number.to_string()]);
    }
    assert_eq!(outbox.state().messages.len(), REMEMBERED);
}
