//! Subscriptions that name tasks, which the SDK cannot read: its filter has no place for them. Under another name they reach a handler
//! as a request that the SDK does not know. Must not look at any other message.

use serde_json::Value;

/// The method under which a `subscriptions/listen` that names tasks reaches a handler.
pub const LISTEN_WITH_TASKS: &str = "ahma/listenWithTasks";

const LISTEN: &str = "subscriptions/listen";
const TASKS: &str = "taskIds";

/// The same message under the other name; none when it is any other message, or names no task.
pub fn renamed(message: &[u8]) -> Option<Vec<u8>> {
    // Nearly every message is another one, and is not parsed twice.
    if !holds(message, TASKS.as_bytes()) || !holds(message, LISTEN.as_bytes()) {
        return None;
    }
    let mut parsed: Value = serde_json::from_slice(message).ok()?;
    let tasks = parsed["params"]["notifications"][TASKS].as_array();
    if parsed["method"] != LISTEN || tasks.is_none_or(Vec::is_empty) {
        return None;
    }
    parsed["method"] = LISTEN_WITH_TASKS.into();
    serde_json::to_vec(&parsed).ok()
}

fn holds(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|it| it == word)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_subscriptions_that_name_tasks_have_another_name() {
        let listen = |notifications: Value| {
            let params = json!({ "notifications": notifications });
            json!({ "jsonrpc": "2.0", "id": 1, "method": LISTEN, "params": params })
        };
        let with = listen(json!({ "toolsListChanged": true, "taskIds": ["op_1"] }));
        let renamed_one = renamed(with.to_string().as_bytes()).unwrap();
        let mut expected = with;
        expected["method"] = json!(LISTEN_WITH_TASKS);
        assert_eq!(
            serde_json::from_slice::<Value>(&renamed_one).unwrap(),
            expected
        );
        for other in [
            listen(json!({ "toolsListChanged": true })),
            listen(json!({ "taskIds": [] })),
            listen(json!({ "taskIds": "op_1" })),
            json!({ "method": "tools/call", "params": { "arguments": ["subscriptions/listen", "taskIds"] } }),
        ] {
            assert_eq!(renamed(other.to_string().as_bytes()), None, "{other}");
        }
    }
}
