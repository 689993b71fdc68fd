//! From messages to lines, and which of them begin a conversation.

use std::io;

use rmcp::model::{ClientRequest, GetMeta as _, ProtocolVersion, ServerJsonRpcMessage};

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
