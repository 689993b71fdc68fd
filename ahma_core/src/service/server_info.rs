//! What `get_server_info` tells.

use std::time::SystemTime;

use ahma_sandbox::{Network, SandboxReport};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{ServiceState, respond};
use crate::audit::timestamp;
use crate::operation::OperationState;
use crate::project;
use crate::registry::ToolSnapshot;

pub(super) async fn server_info(state: &ServiceState) -> Result<CallToolResult, String> {
    let report = state.hosts.report().await;
    let report = report.map_err(|error| error.to_string())?;
    let tools = state.registry.current();
    let http = state.serving.http.get();
    let uptime = SystemTime::now().duration_since(state.started);
    Ok(respond::document(json!({
        "server": {
            "name": "ahma_mcp",
            "version": env!("CARGO_PKG_VERSION"),
            "transport": state.serving.mode,
            "url": state.serving.url(),
            "host": http.map(|http| http.address.ip()),
            "port": http.map(|http| http.address.port()),
            "uptime_seconds": uptime.map_or(0, |uptime| uptime.as_secs()),
            "pid": std::process::id(),
            "started_at": timestamp(state.started),
        },
        "project": project::discover(&state.internal).await,
        "capabilities": {
            "tools_available": tools.tools().len() + state.built_in.len(),
            "shell": !state.no_shell,
            "execution_modes": if state.always_sync { json!(["sync"]) } else { json!(["async", "sync", "auto"]) },
        },
        "sandbox": sandbox(state, &report).await,
        "tools": described(&tools, state.registry.held_back().as_deref()),
        "downstream": [],
        "operations": operations(state),
        "sessions": state.serving.sessions(),
        "processes": processes(&own_processes(state).await).await,
    })))
}

async fn sandbox(state: &ServiceState, report: &SandboxReport) -> Value {
    let policy = state.hosts.policy();
    let layers = report.layers.iter();
    let layers: Vec<Value> = layers
        .map(|layer| {
            let mut told = json!({ "name": layer.layer, "enforced": layer.enforced });
            if let Some(gap) = &layer.gap {
                told["gap"] = json!(gap);
            }
            told
        })
        .collect();
    let hosts = state.hosts.alive().await;
    let warm_shells: usize = hosts.iter().map(|host| host.warm_shells()).sum();
    let mut warnings = state.warnings.clone();
    if state.sandbox_is_off {
        warnings.push("the sandbox is switched off".to_owned());
    }
    json!({
        "enforced": !state.sandbox_is_off,
        "backend": report.backend,
        "kernel_abi": report.landlock_abi,
        "layers": layers,
        "scope": policy.scope,
        "grants": { "read": policy.read, "write": policy.write },
        "protected": report.protected,
        "seeded_caches": report.seeded,
        "network": policy.network == Network::On,
        "hosts": hosts.iter().map(|host| host.pid()).collect::<Vec<_>>(),
        "warm_shells": warm_shells,
        "warnings": warnings,
    })
}

fn described(tools: &ToolSnapshot, held_back: Option<&str>) -> Value {
    let unavailable = tools.unavailable().iter();
    let unavailable: Vec<Value> = unavailable
        .map(|it| json!({ "name": it.name, "install_instructions": it.install_instructions }))
        .collect();
    let rejected = tools.rejected().iter();
    let rejected: Vec<Value> = rejected
        .map(|file| {
            let faults = file.faults.iter();
            let faults = faults.map(|it| format!("{}:{}: {}", it.line, it.column, it.message));
            json!({ "file": file.path, "faults": faults.collect::<Vec<_>>() })
        })
        .collect();
    json!({
        "loaded": tools.tools().len(),
        "disabled": tools.disabled(),
        "unavailable": unavailable,
        "rejected": rejected,
        "held_back": held_back,
    })
}

fn operations(state: &ServiceState) -> Value {
    let all = state.executor.store().newest_first();
    let count = |wanted| all.iter().filter(|it| it.state() == wanted).count();
    json!({
        "running": count(OperationState::Running),
        "queued": count(OperationState::Queued),
    })
}

/// Where the processes begin that a caller may know of: with the server itself, or with its sandbox hosts where others
/// have theirs.
async fn own_processes(state: &ServiceState) -> Vec<u32> {
    if state.serving.is_whole() {
        return vec![std::process::id()];
    }
    let hosts = state.hosts.alive().await;
    hosts.iter().map(|host| host.pid()).collect()
}

/// How many processes there are from these on. Unknown where the system does not tell.
async fn processes(first: &[u32]) -> Option<usize> {
    let mut waiting = first.to_vec();
    let mut count = 0;
    while let Some(pid) = waiting.pop() {
        count += 1;
        let mut threads = tokio::fs::read_dir(format!("/proc/{pid}/task")).await.ok();
        while let Some(tasks) = &mut threads
            && let Ok(Some(thread)) = tasks.next_entry().await
        {
            let children = tokio::fs::read_to_string(thread.path().join("children")).await;
            let children = children.ok()?;
            waiting.extend(
                children
                    .split_whitespace()
                    .filter_map(|it| it.parse::<u32>().ok()),
            );
        }
    }
    Some(count)
}
