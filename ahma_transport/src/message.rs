//! JSON-RPC messages of clients: parsed, or refused with what is wrong with them.
//!
//! Every transport answers the same mistake with the same words.

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, ErrorData, GetMeta as _, NumberOrString, RequestId,
};
use serde_json::Value;

use crate::task_subscription::renamed;

/// Why bytes are not a message, and which request that answers.
#[derive(Debug)]
pub struct MessageError {
    /// The id of the request, when it has one that can be read.
    pub id: Option<RequestId>,
    /// What is wrong.
    pub error: ErrorData,
}

/// What bytes amount to.
pub enum ParsedMessage {
    /// A message.
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing that is answered: an empty line, a malformed notification or answer.
    Nothing,
    /// Not a message.
    Wrong(MessageError),
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Values in one message: while it is parsed, each takes many times its own bytes.
const MAX_VALUES: usize = 50_000;

/// Bytes of an id, of a progress token, and of the name of a method or a tool: they are kept, and repeated in answers.
pub const MAX_NAME_LEN: usize = 4096;

/// Parses the bytes of one message.
pub fn parse_message(text: &[u8]) -> ParsedMessage {
    let text = without_bom(text).trim_ascii();
    if text.is_empty() {
        return ParsedMessage::Nothing;
    }
    if let Some(error) = too_many_values(text) {
        return ParsedMessage::Wrong(MessageError { id: None, error });
    }
    let renamed = renamed(text);
    match serde_json::from_slice(renamed.as_deref().unwrap_or(text)) {
        Ok(message) => match too_long_name(&message) {
            None => ParsedMessage::Message(Box::new(message)),
            Some(wrong) => ParsedMessage::Wrong(wrong),
        },
        Err(_) => explain(text),
    }
}

/// Without the byte order mark that some editors put in front.
pub fn without_bom(text: &[u8]) -> &[u8] {
    text.strip_prefix(BOM).unwrap_or(text)
}

/// Refuses bytes that would take too much memory to parse.
fn too_many_values(text: &[u8]) -> Option<ErrorData> {
    let is_too_many = text.len() > MAX_VALUES && values(text) > MAX_VALUES;
    is_too_many.then(|| {
        let why =
            format!("a message with more than {MAX_VALUES} values was refused; send less at once");
        ErrorData::invalid_request(why, None)
    })
}

/// Refuses a request with a name that is too long, which is not repeated then.
fn too_long_name(message: &ClientJsonRpcMessage) -> Option<MessageError> {
    let ClientJsonRpcMessage::Request(request) = message else {
        return None;
    };
    let length = |text: &NumberOrString| match text {
        NumberOrString::Number(_) => 0,
        NumberOrString::String(text) => text.len(),
    };
    let name = match &request.request {
        ClientRequest::CallToolRequest(call) => call.params.name.len(),
        ClientRequest::CustomRequest(custom) => custom.method.len(),
        _ => 0,
    };
    let token = request.request.get_meta().get_progress_token();
    let names = [
        ("id", length(&request.id)),
        ("progress token", token.map_or(0, |it| length(&it.0))),
        ("name", name),
    ];
    let (what, _) = names.into_iter().find(|(_, it)| *it > MAX_NAME_LEN)?;
    let why = format!("the {what} of a request may have at most {MAX_NAME_LEN} bytes");
    Some(MessageError {
        id: (what != "id").then(|| request.id.clone()),
        error: ErrorData::invalid_request(why, None),
    })
}

/// About how many values JSON holds: separators outside of strings.
fn values(text: &[u8]) -> usize {
    let (mut count, mut in_string, mut is_escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b',' | b':' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

/// What is wrong with bytes that are not a message.
fn explain(text: &[u8]) -> ParsedMessage {
    let wrong = |id: Option<RequestId>, error| ParsedMessage::Wrong(MessageError { id, error });
    let value: Value = match serde_json::from_slice(text) {
        Ok(value) => value,
        Err(error) => {
            let why = format!("this is not JSON: {error}");
            return wrong(None, ErrorData::parse_error(why, None));
        }
    };
    let invalid = |why: &str| ErrorData::invalid_request(why.to_owned(), None);
    let Value::Object(message) = value else {
        let why = match value {
            Value::Array(_) => "batches are not supported; send each message on its own",
            _ => "a message must be a JSON object",
        };
        return wrong(None, invalid(why));
    };
    // Only requests are answered: answering a malformed answer could go on for ever.
    let has_id = message.get("id").is_some_and(|id| !id.is_null());
    if !has_id && message.get("method").is_some_and(Value::is_string) {
        return ParsedMessage::Nothing;
    }
    if message.contains_key("result") || message.contains_key("error") {
        return ParsedMessage::Nothing;
    }
    let id = message.get("id").cloned();
    let id = id.and_then(|id| serde_json::from_value::<RequestId>(id).ok());
    let why = match (message.get("jsonrpc"), message.get("method")) {
        (Some(Value::String(version)), Some(Value::String(method))) if version == "2.0" => {
            if id.is_none() {
                invalid("`id` must be a string or a whole number")
            } else {
                let why = format!("the parameters of {method} are invalid");
                ErrorData::invalid_params(why, None)
            }
        }
        (Some(Value::String(version)), _) if version == "2.0" => {
            invalid("`method` must be the name of a method")
        }
        _ => invalid("`jsonrpc` must be \"2.0\""),
    };
    wrong(id, why)
}

/// Which request a message cancels, and why.
pub fn cancels(message: &ClientJsonRpcMessage) -> Option<&CancelledNotificationParam> {
    match message {
        ClientJsonRpcMessage::Notification(message) => match &message.notification {
            ClientNotification::CancelledNotification(it) => Some(&it.params),
            _ => None,
        },
        _ => None,
    }
}

/// The message that cancels a request.
pub fn cancelling(id: RequestId, reason: Option<String>) -> ClientJsonRpcMessage {
    let params = CancelledNotificationParam::new(Some(id), reason);
    ClientJsonRpcMessage::notification(CancelledNotification::new(params).into())
}

#[cfg(test)]
mod tests {
    use rmcp::model::ErrorCode;

    use super::*;

    fn refusal(line: &str) -> (Option<RequestId>, ErrorCode, String) {
        match parse_message(line.as_bytes()) {
            ParsedMessage::Wrong(it) => (it.id, it.error.code, it.error.message.into_owned()),
            _ => panic!("{line} was not refused"),
        }
    }

    #[test]
    fn what_is_wrong_is_said_to_who_asked() {
        let (id, code, why) = refusal("{\"jsonrpc\"");
        assert_eq!((id, code), (None, ErrorCode::PARSE_ERROR), "{why}");
        let (id, code, why) = refusal("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]");
        assert_eq!((id, code), (None, ErrorCode::INVALID_REQUEST));
        assert!(why.contains("on its own"), "{why}");
        let (id, code, _) = refusal("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":7}");
        assert_eq!(
            (id, code),
            (Some(RequestId::Number(5)), ErrorCode::INVALID_REQUEST)
        );
        let (id, code, _) = refusal("{\"id\":5,\"method\":\"ping\"}");
        assert_eq!(
            (id, code),
            (Some(RequestId::Number(5)), ErrorCode::INVALID_REQUEST)
        );
        let (id, _, why) = refusal("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}");
        assert_eq!((id, why.contains("`id`")), (None, true), "{why}");
        assert!(refusal("17").2.contains("JSON object"));
    }

    #[test]
    fn what_asks_for_no_answer_gets_none() {
        let quiet = [
            "",
            "  \r",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":7}",
            "{\"jsonrpc\":\"2.0\",\"error\":7}",
            "{\"jsonrpc\":\"2.0\",\"id\":[],\"result\":7}",
        ];
        for line in quiet {
            let parsed = parse_message(line.as_bytes());
            assert!(matches!(parsed, ParsedMessage::Nothing), "{line}");
        }
    }

    #[test]
    fn very_many_values_are_refused_and_very_long_texts_are_not() {
        let many = format!("[{}1]", "1,".repeat(MAX_VALUES));
        let (id, code, why) = refusal(&many);
        assert_eq!((id, code), (None, ErrorCode::INVALID_REQUEST));
        assert!(why.contains("values"), "{why}");
        let text = "a, \\\" [b".repeat(MAX_VALUES);
        let long = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"t\",\"arguments\":{{\"x\":\"{text}\"}}}}}}"
        );
        let parsed = parse_message(long.as_bytes());
        assert!(matches!(parsed, ParsedMessage::Message(_)));
    }

    /// Proves: H25.
    #[test]
    fn a_name_that_is_too_long_is_refused_and_not_repeated() {
        let long = "x".repeat(MAX_NAME_LEN + 1);
        let call = |id: &str, name: &str, token: &str| {
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",\"method\":\"tools/call\",\"params\":{{\"name\":\"{name}\",\
                 \"_meta\":{{\"progressToken\":\"{token}\"}}}}}}"
            )
        };
        let method = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{long}\"}}");
        for (message, what) in [
            (call(&long, "t", "p"), "id"),
            (call("1", &long, "p"), "name"),
            (call("1", "t", &long), "progress token"),
            (method, "name"),
        ] {
            let (id, _, why) = refusal(&message);
            assert!(why.contains(what) && why.len() < 200, "{why}");
            assert_eq!(id.is_some(), what != "id");
        }
        let most = &long[1..];
        let message = call(most, most, most);
        let parsed = parse_message(message.as_bytes());
        assert!(matches!(parsed, ParsedMessage::Message(_)));
    }

    #[test]
    fn a_deep_line_is_refused_and_not_followed() {
        let line = format!("{}{}", "[".repeat(40_000), "]".repeat(40_000));
        assert_eq!(refusal(&line).1, ErrorCode::PARSE_ERROR);
    }
}
