//! Questions of a command that writes events, put to the client whose call it works on. Must not answer one itself, but with the
//! reason why nobody else does.
//!
//! A client of 2025-11-25 and earlier is asked by requests while the command waits. A client of 2026-07-28 is asked by the result of
//! its call, and calls again with the answers; the command waits meanwhile, and the state that is passed to and fro, which is
//! sealed, says which one. A client that has a task instead reads the questions there.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ErrorCode, GetPromptRequestParams, InputRequest,
    InputRequests, InputRequiredResult,
};
use rmcp::service::Peer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::asking;
use super::call_error::CallError;
use super::context::ServiceContext;
use super::sealed_state::{open, seal};
use crate::config::{CheckedSchema, ClientNeeds};
use crate::operation::{Dialogue, OperationHandle, Question, Untaken};

const NOBODY: &str = "its call has been answered, so that nobody can be asked";
pub(super) const ELICITATION: &str = "elicitation/create";
const SAMPLING: &str = "sampling/createMessage";
const ROOTS: &str = "roots/list";

/// What a client can be asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Abilities {
    forms: bool,
    urls: bool,
    sampling: bool,
    roots: bool,
}

impl Abilities {
    /// As it declares them.
    pub(super) fn of(declared: Option<&ClientCapabilities>) -> Self {
        let Some(declared) = declared else {
            return Abilities::default();
        };
        let elicitation = declared.elicitation.as_ref();
        let modes = json!(elicitation);
        let urls = modes["url"].is_object();
        Abilities {
            // Who names no mode means forms.
            forms: elicitation.is_some() && (modes["form"].is_object() || !urls),
            urls,
            sampling: declared.sampling.is_some(),
            roots: declared.roots.is_some(),
        }
    }

    /// The methods it takes.
    pub(super) fn methods(self) -> Vec<&'static str> {
        let elicitation = self.forms || self.urls;
        let all = [
            (elicitation, ELICITATION),
            (self.sampling, SAMPLING),
            (self.roots, ROOTS),
        ];
        let taken = all.into_iter().filter(|(is_taken, _)| *is_taken);
        taken.map(|(_, method)| method).collect()
    }

    /// What of these needs it does not have.
    pub(super) fn lack(self, needs: ClientNeeds) -> ClientNeeds {
        ClientNeeds {
            elicitation: needs.elicitation && !self.forms && !self.urls,
            sampling: needs.sampling && !self.sampling,
            roots: needs.roots && !self.roots,
        }
    }

    /// Whether it takes a request.
    pub(super) fn takes(self, request: &Value) -> bool {
        match request["method"].as_str() {
            Some(ELICITATION) => match request["params"]["mode"].as_str() {
                Some("url") => self.urls,
                _ => self.forms,
            },
            Some(SAMPLING) => self.sampling,
            Some(ROOTS) => self.roots,
            _ => false,
        }
    }
}

/// The error in the place of an answer.
fn not_taken(request: &Value) -> Value {
    let method = request["method"].as_str().unwrap_or_default();
    json!({ "error": format!("the client of this call does not take {method}") })
}

/// A client that is asked while the command waits.
#[derive(Clone)]
pub(super) struct OpenClient {
    pub(super) peer: Peer<RoleServer>,
    pub(super) abilities: Abilities,
}

impl OpenClient {
    /// Puts every question of a command to the client. Never ends; dropping it takes an open question back.
    pub(super) async fn serve(&self, dialogue: &Arc<Dialogue>) -> std::convert::Infallible {
        loop {
            let question = dialogue.asked().await;
            let mut answers = Map::new();
            for (key, request) in &question.requests {
                answers.insert(key.clone(), self.answer(request).await);
            }
            dialogue.answer(question.number, answers);
        }
    }

    /// Puts one request to the client; an object with an `error` in the place of an answer that it does not give.
    pub(super) async fn answer(&self, request: &Value) -> Value {
        if !self.abilities.takes(request) {
            return not_taken(request);
        }
        let method = request["method"].as_str().unwrap_or_default();
        let params = request.get("params").filter(|it| it.is_object()).cloned();
        match asking::request(&self.peer, method, params).await {
            Ok(answer) if fits(request, &answer) => answer,
            Ok(_) => json!({ "error": "the client's answer is not what was asked for" }),
            Err(why) => json!({ "error": why.message }),
        }
    }
}

impl Untaken for Abilities {
    fn refusal(&self, request: &Value) -> Option<Value> {
        (!self.takes(request)).then(|| not_taken(request))
    }
}

/// Answers every question that comes after the answer to a call, for which no client waits. Never ends.
pub(super) async fn refuse_all(dialogue: &Arc<Dialogue>) -> std::convert::Infallible {
    loop {
        let question = dialogue.asked().await;
        dialogue.give_up(question.number, NOBODY);
    }
}

/// What a call that is made again brings.
#[derive(Debug, Clone, Default)]
pub(super) struct Brought {
    pub(super) answers: BTreeMap<String, Value>,
    pub(super) state: Option<String>,
}

impl Brought {
    pub(super) fn of(request: &CallToolRequestParams) -> Self {
        Brought {
            answers: request.input_responses.clone().unwrap_or_default(),
            state: request.request_state.clone(),
        }
    }

    /// The same of a prompt that is asked for again.
    pub(super) fn of_prompt(request: &GetPromptRequestParams) -> Self {
        Brought {
            answers: request.input_responses.clone().unwrap_or_default(),
            state: request.request_state.clone(),
        }
    }
}

/// What is passed to and fro.
#[derive(Debug, Serialize, Deserialize)]
struct Sealed {
    operation: String,
    question: u64,
    answers: BTreeMap<String, Value>,
}

/// A client of 2026-07-28, and what it has answered so far.
#[derive(Debug)]
pub(super) struct CallingClient {
    pub(super) tool: String,
    pub(super) abilities: Abilities,
    pub(super) answers: BTreeMap<String, Value>,
}

impl CallingClient {
    /// The operation that a call goes on with; none for a new one. The answers that it brings are taken in.
    pub(super) fn goes_on(
        &mut self,
        brought: Brought,
        context: &ServiceContext,
    ) -> Result<Option<Arc<OperationHandle>>, CallError> {
        self.answers = brought.answers;
        let Some(state) = brought.state else {
            return Ok(None);
        };
        let invalid = |why: &str| {
            let why = format!("requestState: {why}");
            CallError::of_protocol(ErrorCode::INVALID_PARAMS.0, why, None)
        };
        let opened = open::<Sealed>(&state, &self.tool).ok_or_else(|| {
            invalid("it is not of this server and this tool, or too old; call again without it")
        })?;
        let operation = context.operations().get(&opened.operation);
        let operation =
            operation.ok_or_else(|| invalid("what it belongs to is not remembered any more"))?;
        // Answers to a question that another call has answered meanwhile are nobody's.
        let dialogue = operation.result().and_then(|it| it.dialogue());
        let waits = dialogue.and_then(|it| it.question());
        if waits.is_some_and(|it| it.number == opened.question) {
            for (key, answer) in opened.answers {
                self.answers.entry(key).or_insert(answer);
            }
        } else {
            self.answers.clear();
        }
        Ok(Some(operation))
    }

    /// Answers a question with what the client has said; what it has to say still otherwise.
    pub(super) fn answer(
        &mut self,
        operation: &OperationHandle,
        dialogue: &Arc<Dialogue>,
        question: &Question,
    ) -> Option<(InputRequiredResult, Value)> {
        let mut known = BTreeMap::new();
        let mut missing = Map::new();
        for (key, request) in &question.requests {
            let brought = self.answers.remove(key);
            match brought.filter(|it| fits(request, it)) {
                _ if !self.abilities.takes(request) => {
                    known.insert(key.clone(), not_taken(request));
                }
                Some(answer) => {
                    known.insert(key.clone(), answer);
                }
                None => {
                    missing.insert(key.clone(), request.clone());
                }
            }
        }
        if missing.is_empty() {
            dialogue.answer(question.number, known.into_iter().collect());
            return None;
        }
        let sealed = Sealed {
            operation: operation.id().to_string(),
            question: question.number,
            answers: known,
        };
        let state = seal(&sealed, &self.tool);
        Some(required(&missing, state))
    }
}

/// The result that asks: as the SDK knows it, and whole.
pub(super) fn required(
    open: &Map<String, Value>,
    state: Option<String>,
) -> (InputRequiredResult, Value) {
    let mut whole = json!({ "resultType": "input_required", "inputRequests": with_modes(open) });
    if let Some(state) = &state {
        whole["requestState"] = json!(state);
    }
    (InputRequiredResult::new(Some(requests(open)), state), whole)
}

/// Requests as the SDK knows them.
pub(super) fn requests(open: &Map<String, Value>) -> InputRequests {
    let all = with_modes(open).into_iter();
    all.filter_map(|(key, request)| {
        let request = serde_json::from_value::<InputRequest>(request).ok()?;
        Some((key, request))
    })
    .collect()
}

/// A form is the usual mode, and has to be named.
fn with_modes(open: &Map<String, Value>) -> Map<String, Value> {
    let mut all = open.clone();
    for request in all.values_mut() {
        if request["method"] == ELICITATION && request["params"].get("mode").is_none() {
            request["params"]["mode"] = json!("form");
        }
        if request.get("params").is_none_or(Value::is_null) {
            request["params"] = json!({});
        }
    }
    all
}

/// Whether an answer is one to this request.
pub(super) fn fits(request: &Value, answer: &Value) -> bool {
    match request["method"].as_str() {
        Some(ELICITATION) => match answer["action"].as_str() {
            Some("accept") if request["params"]["mode"] == "url" => true,
            Some("accept") => answer["content"].is_object() && agrees(request, &answer["content"]),
            Some("decline" | "cancel") => true,
            _ => false,
        },
        Some(SAMPLING) => answer["role"].is_string() && !answer["content"].is_null(),
        Some(ROOTS) => answer["roots"].is_array(),
        _ => false,
    }
}

/// Whether what a person has filled in is what was asked for; a schema that cannot be used asks for nothing.
fn agrees(request: &Value, content: &Value) -> bool {
    let Some(document) = request["params"]["requestedSchema"].as_object() else {
        return true;
    };
    match CheckedSchema::new(document) {
        Ok(schema) => schema.faults(content).is_empty(),
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_fits_what_was_asked() {
        let name = json!({
            "method": ELICITATION,
            "params": {
                "message": "Who?",
                "requestedSchema": {
                    "type": "object",
                    "properties": { "name": { "type": "string" } },
                    "required": ["name"],
                },
            },
        });
        for (answer, expected) in [
            (
                json!({ "action": "accept", "content": { "name": "A" } }),
                true,
            ),
            (json!({ "action": "decline" }), true),
            (
                json!({ "action": "accept", "content": { "name": 1 } }),
                false,
            ),
            (json!({ "action": "accept", "content": {} }), false),
            (json!({ "action": "accept" }), false),
            (json!({ "action": "maybe" }), false),
            (json!(12345), false),
        ] {
            assert_eq!(fits(&name, &answer), expected, "{answer}");
        }
        let roots = json!({ "method": ROOTS });
        assert!(fits(&roots, &json!({ "roots": [] })));
        assert!(!fits(&roots, &json!({ "roots": {} })));
    }
}
