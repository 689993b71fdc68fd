//! News of tasks, for clients of 2026-07-28 that have subscribed to them by their ids.

use ahma_tests::Workspace;
use serde_json::{Value, json};

use super::modern_with;
use super::scripted::{Modern, add_events, events};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const ACCEPTED: &str = "notifications/subscriptions/acknowledged";
const TOLD: &str = "notifications/tasks";

/// Asks something when it may, and ends when it may.
const ASKING: &str = r#"
until("ask")
answer = ask(who=form("Who?", name={"type": "string"}))["who"]
until("end")
event("structured", value=answer)
"#;

/// Subscribes; the id of the request, and what was accepted.
fn subscribed(client: &mut Modern, wanted: &Value) -> (u64, Value) {
    let params = modern_with(json!({ "notifications": wanted }), &client.capabilities);
    let id = client.client.send("subscriptions/listen", &params);
    let accepted = client.client.notification(ACCEPTED)["params"].clone();
    assert_eq!(accepted["_meta"][SUBSCRIPTION], id, "{accepted}");
    (id, accepted["notifications"].clone())
}

/// The next news of a task, on this subscription.
fn told(client: &mut Modern, subscription: u64) -> Value {
    let mut told = client.client.notification(TOLD)["params"].clone();
    let meta = told.as_object_mut().unwrap().remove("_meta").unwrap();
    assert_eq!(meta, json!({ SUBSCRIPTION: subscription }), "{told}");
    told
}

/// Starts a task; its id.
fn started(client: &mut Modern, script: &str) -> Value {
    let task = client.call(
        "sandboxed_shell",
        &json!({ "arguments": { "command": script } }),
    );
    assert_eq!(task["resultType"], "task", "{task}");
    task["taskId"].clone()
}

/// Which task is said to be in which state.
fn state(news: &Value) -> Value {
    json!([news["taskId"], news["status"]])
}

/// Proves: O21.
#[test]
fn each_state_of_a_task_is_told_as_it_is_asked_for() {
    let project = Workspace::new();
    add_events(&project, "run", &json!({ "task": "required" }), ASKING);
    let mut client = Modern::with_tasks(&project);
    let id = client.call("run", &json!({}))["taskId"].clone();
    let (subscription, accepted) = subscribed(&mut client, &json!({ "taskIds": [id] }));
    assert_eq!(accepted, json!({ "taskIds": [id] }));
    let working = told(&mut client, subscription);
    assert_eq!(working["status"], "working");
    assert_eq!(working["taskId"], id);

    project.write("ask", "");
    let asking = told(&mut client, subscription);
    assert_eq!(asking["status"], "input_required");
    let question = &asking["inputRequests"]["1.who"];
    assert_eq!(question["params"]["message"], "Who?", "{asking}");
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    let update = json!({ "taskId": id, "inputResponses": { "1.who": answer } });
    client.request("tasks/update", update);
    let answered = told(&mut client, subscription);
    assert_eq!(answered["status"], "working", "{answered}");
    assert_eq!(answered.get("inputRequests"), None);

    project.write("end", "");
    let ended = told(&mut client, subscription);
    assert_eq!(ended["status"], "completed");
    assert_eq!(ended["result"]["structuredContent"], answer);
    let mut asked_for = client.task(&id);
    let asked_for_fields = asked_for.as_object_mut().unwrap();
    asked_for_fields.retain(|key, _| !["_meta", "resultType"].contains(&key.as_str()));
    assert_eq!(ended, asked_for);
    // Nothing follows the end.
    client.request("tools/list", json!({}));
    assert_eq!(client.client.notifications_received(TOLD), 0);
}

/// Proves: O21.
#[test]
fn cancelled_and_failed_tasks_are_told_and_those_that_nobody_named_are_not() {
    let program = "until('end')\nevent('error', message='no such thing', code=-32602)";
    let project = Workspace::new();
    add_events(&project, "run", &json!({ "task": "required" }), program);
    let mut client = Modern::with_tasks(&project);
    let failing = client.call("run", &json!({}))["taskId"].clone();
    let cancelled = started(&mut client, "sleep 60");
    let unnamed = started(&mut client, "sleep 60");
    let wanted = json!({ "taskIds": [failing, cancelled] });
    let (subscription, accepted) = subscribed(&mut client, &wanted);
    assert_eq!(accepted, wanted);
    for id in [&failing, &cancelled] {
        let first = told(&mut client, subscription);
        assert_eq!(state(&first), json!([id, "working"]));
    }
    client.request("tasks/cancel", json!({ "taskId": unnamed }));
    client.request("tasks/cancel", json!({ "taskId": cancelled }));
    let news = told(&mut client, subscription);
    assert_eq!(state(&news), json!([cancelled, "cancelled"]), "{news}");
    project.write("end", "");
    let news = told(&mut client, subscription);
    assert_eq!(state(&news), json!([failing, "failed"]), "{news}");
    let error = json!({ "code": -32602, "message": "no such thing" });
    assert_eq!(news["error"], error);
}

/// Proves: O21.
#[test]
fn ids_of_no_task_are_left_out_and_a_task_that_has_ended_is_told_once() {
    let project = events("text('done')");
    let mut client = Modern::with_tasks(&project);
    let ended = started(&mut client, "echo done");
    ahma_tests::until(|| client.task(&ended)["status"] == "completed");
    let wanted = json!({ "taskIds": ["op_none", ended, "", ended], "toolsListChanged": true });
    let (subscription, accepted) = subscribed(&mut client, &wanted);
    let expected = json!({ "taskIds": [ended], "toolsListChanged": true });
    assert_eq!(accepted, expected);
    let news = told(&mut client, subscription);
    assert_eq!(state(&news), json!([ended, "completed"]));
    client.request("tools/list", json!({}));
    assert_eq!(client.client.notifications_received(TOLD), 0);
    // What else was asked for is told too, and after the end of all tasks.
    add_events(&project, "more", &json!({}), "text('done')");
    let changed = client
        .client
        .notification("notifications/tools/list_changed");
    assert_eq!(changed["params"]["_meta"][SUBSCRIPTION], subscription);
    let (_, accepted) = subscribed(&mut client, &json!({ "taskIds": ["op_none"] }));
    assert_eq!(accepted, json!({ "taskIds": [] }));
    // What cannot be read is refused.
    let wrong = json!({ "notifications": { "taskIds": [1] } });
    let refused = client.request("subscriptions/listen", wrong);
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

/// Proves: O21.
#[test]
fn the_last_result_names_its_subscription() {
    let project = Workspace::new();
    let mut client = Modern::with_tasks(&project);
    let id = started(&mut client, "sleep 60");
    let (subscription, _) = subscribed(&mut client, &json!({ "taskIds": [id] }));
    client.client.close();
    let last = client.client.answer(subscription);
    let expected = json!({ "resultType": "complete", "_meta": { SUBSCRIPTION: subscription } });
    assert_eq!(last["result"], expected);
}
