//! From lines to messages and back.

use std::io;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, ErrorData, GetMeta as _, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use serde_json::Value;

use super::Refusal;

/// What a line is.
pub(super) enum Understood {
    /// A message.
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing that needs an answer.
    Nothing,
    /// No message.
    Wrong(Refusal),
}

const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Values of a message. Each takes many times its letters in memory while it is read.
const MOST_VALUES: usize = 200_000;

/// Reads a line.
pub(super) fn understand(line: &[u8]) -> Understood {
    let line = line.strip_prefix(MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Understood::Nothing;
    }
    if line.len() > MOST_VALUES && values(line) > MOST_VALUES {
        let why =
            format!("a line with more than {MOST_VALUES} values was refused; send less at once");
        let error = ErrorData::invalid_request(why, None);
        return Understood::Wrong(Refusal { id: None, error });
    }
    match serde_json::from_slice(line) {
        Ok(message) => Understood::Message(Box::new(message)),
        Err(_) => explain(line),
    }
}

/// About how many values JSON holds: what separates them, outside of texts.
fn values(line: &[u8]) -> usize {
    let (mut count, mut is_text, mut is_escaped) = (0, false, false);
    for byte in line {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b',' | b':' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    count
}

/// What is wrong with a line that is no message.
fn explain(line: &[u8]) -> Understood {
    let wrong = |id: Option<RequestId>, error| Understood::Wrong(Refusal { id, error });
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let why = format!("this line is not JSON: {error}");
            return wrong(None, ErrorData::parse_error(why, None));
        }
    };
    let invalid = |why: &str| ErrorData::invalid_request(why.to_owned(), None);
    let Value::Object(message) = value else {
        let why = match value {
            Value::Array(_) => "batches are not taken; send each message on a line of its own",
            _ => "a message is a JSON object",
        };
        return wrong(None, invalid(why));
    };
    // What is no request gets no answer: one to a wrong answer would never end.
    let has_id = message.get("id").is_some_and(|id| !id.is_null());
    if !has_id && message.get("method").is_some_and(Value::is_string) {
        return Understood::Nothing;
    }
    if message.contains_key("result") || message.contains_key("error") {
        return Understood::Nothing;
    }
    let id = message.get("id").cloned();
    let id = id.and_then(|id| serde_json::from_value::<RequestId>(id).ok());
    let why = match (message.get("jsonrpc"), message.get("method")) {
        (Some(Value::String(version)), Some(Value::String(method))) if version == "2.0" => {
            if id.is_none() {
                invalid("`id` must be a text or a whole number")
            } else {
                let why = format!("the parameters of {method} are not what it takes");
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

/// The line of a message.
pub(super) fn line_of(message: &ServerJsonRpcMessage) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Whether a request begins the conversation; before that, the SDK takes only requests. One of the newer
/// lifecycle does when it says who asks, in a version that exists.
pub(super) fn begins_conversation(request: &ClientRequest) -> bool {
    let newer = ProtocolVersion::V_2026_07_28;
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let version = meta.protocol_version();
            let is_known = version.is_some_and(|it| ProtocolVersion::KNOWN_VERSIONS.contains(&it));
            is_known && meta.missing_required_keys(&newer).is_empty()
        }
    }
}

/// Which request a message cancels, and why.
pub(super) fn cancels(message: &ClientJsonRpcMessage) -> Option<&CancelledNotificationParam> {
    match message {
        ClientJsonRpcMessage::Notification(message) => match &message.notification {
            ClientNotification::CancelledNotification(it) => Some(&it.params),
            _ => None,
        },
        _ => None,
    }
}

/// The message that cancels a request.
pub(super) fn cancelling(id: RequestId, reason: Option<String>) -> ClientJsonRpcMessage {
    let params = CancelledNotificationParam::new(Some(id), reason);
    ClientJsonRpcMessage::notification(CancelledNotification::new(params).into())
}

#[cfg(test)]
mod tests {
    use rmcp::model::ErrorCode;

    use super::*;

    fn refusal(line: &str) -> (Option<RequestId>, ErrorCode, String) {
        match understand(line.as_bytes()) {
            Understood::Wrong(it) => (it.id, it.error.code, it.error.message.into_owned()),
            _ => panic!("{line} was not refused"),
        }
    }

    #[test]
    fn what_is_wrong_is_said_to_who_asked() {
        let (id, code, why) = refusal("{\"jsonrpc\"");
        assert_eq!((id, code), (None, ErrorCode::PARSE_ERROR), "{why}");
        let (id, code, why) = refusal("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]");
        assert_eq!((id, code), (None, ErrorCode::INVALID_REQUEST));
        assert!(why.contains("line of its own"), "{why}");
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
            let understood = understand(line.as_bytes());
            assert!(matches!(understood, Understood::Nothing), "{line}");
        }
    }

    #[test]
    fn very_many_values_are_refused_and_very_long_texts_are_not() {
        let many = format!("[{}1]", "1,".repeat(MOST_VALUES));
        let (id, code, why) = refusal(&many);
        assert_eq!((id, code), (None, ErrorCode::INVALID_REQUEST));
        assert!(why.contains("values"), "{why}");
        let text = "a, \\\" [b".repeat(MOST_VALUES);
        let long = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"{text}\"}}}}"
        );
        let understood = understand(long.as_bytes());
        assert!(matches!(understood, Understood::Message(_)));
    }

    #[test]
    fn a_deep_line_is_refused_and_not_followed() {
        let line = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(refusal(&line).1, ErrorCode::PARSE_ERROR);
    }
}
