//! Which revision of the protocol a request belongs to.

use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;

/// Whether a request is of 2026-07-28 or later, which has no sessions.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let first = ProtocolVersion::V_2026_07_28;
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= first.as_str())
}
