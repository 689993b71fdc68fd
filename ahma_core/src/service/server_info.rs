//! What `get_server_info` tells.

use std::time::Instant;

use ahma_sandbox::Network;
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{ServiceState, respond};
use crate::config::Narrowing;
use crate::operation::OperationState;

pub(super) async fn server_info(state: &ServiceState) -> Result<CallToolResult, String> {
    let report = state
        .hosts
        .report()
        .await
        .map_err(|error| error.to_string())?;
    let policy = state.hosts.policy();
    let operations = state.executor.store().newest_first();
    let count = |wanted| {
        operations
            .iter()
            .filter(|operation| operation.state() == wanted)
            .count()
    };
    let host = state
        .hosts
        .host(&Narrowing::default())
        .await
        .map_err(|error| error.to_string())?;
    let tools = state.registry.current();
    let unavailable: Vec<Value> = tools
        .unavailable()
        .iter()
        .map(|it| json!({ "name": it.name, "install_instructions": it.install_instructions }))
        .collect();
    let rejected: Vec<Value> = tools
        .rejected()
        .iter()
        .map(|file| {
            let faults = file.faults.iter();
            let faults = faults.map(|it| format!("{}:{}: {}", it.line, it.column, it.message));
            json!({ "file": file.path, "faults": faults.collect::<Vec<_>>() })
        })
        .collect();
    let layers: Vec<Value> = report
        .layers
        .iter()
        .map(|layer| json!({ "name": layer.layer, "enforced": layer.enforced, "gap": layer.gap }))
        .collect();
    Ok(respond::document(json!({
        "server": {
            "version": env!("CARGO_PKG_VERSION"),
            "transport": "stdio",
            "uptime_seconds": Instant::now().duration_since(state.started).as_secs(),
            "pid": std::process::id(),
        },
        "sandbox": {
            "enforced": !state.sandbox_is_off,
            "backend": report.backend,
            "kernel_abi": report.landlock_abi,
            "layers": layers,
            "scope": policy.scope,
            "grants": { "read": policy.read, "write": policy.write },
            "protected": report.protected,
            "seeded_caches": report.seeded,
            "network": policy.network == Network::On,
            "hosts": [host.pid()],
            "warm_shells": host.warm_shells(),
        },
        "tools": {
            "loaded": tools.leaves().len(),
            "disabled": tools.disabled(),
            "unavailable": unavailable,
            "rejected": rejected,
        },
        "operations": {
            "running": count(OperationState::Running),
            "queued": count(OperationState::Queued),
        },
    })))
}
