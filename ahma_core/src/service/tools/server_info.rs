//! `get_server_info`: what this server is, what it enforces, and what it offers.

use std::path::PathBuf;
use std::time::SystemTime;

use ahma_contract::ServerAddress;
use ahma_sandbox::{Network, SandboxReport};
use rmcp::model::CallToolResult;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::built_in::{AnswerTool, Request};
use crate::audit::timestamp;
use crate::config::{Fault, RejectedFile};
use crate::operation::OperationState;
use crate::project;
use crate::registry::{DeclaredContent, ToolSnapshot};
use crate::service::call_error::CallError;
use crate::service::context::ServiceContext;
use crate::service::respond;

/// The tool.
pub(super) struct ServerInfo;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {}

impl AnswerTool for ServerInfo {
    const NAME: &'static str = "get_server_info";
    const TITLE: &'static str = "About this server";
    const DESCRIPTION: &'static str = "Tells about this server: version, sandbox with its layers and gaps, tools and \
        rejected tool files, operations.";
    type Args = Args;

    async fn answer(request: Request<'_>, _args: Args) -> Result<CallToolResult, CallError> {
        Ok(respond::document(document(request.context).await?))
    }
}

async fn document(context: &ServiceContext) -> Result<Value, CallError> {
    let report = context.hosts.report().await;
    let report = report.map_err(|error| CallError::new(error.to_string()))?;
    let tools = context.registry.current();
    let (endpoint, style) = (&context.endpoint, context.style);
    let address = endpoint.http.get().map(|http| &http.address);
    let port = address.and_then(ServerAddress::port);
    let uptime = SystemTime::now().duration_since(context.started);
    let modes = match style.always_sync {
        true => json!(["sync"]),
        false => json!(["async", "sync", "auto", "service"]),
    };
    let operations = context.operations();
    let mut told = json!({
        "server": {
            "name": "ahma_mcp",
            "version": env!("CARGO_PKG_VERSION"),
            "transport": endpoint.mode,
            "url": endpoint.url(),
            "host": port.map(|it| it.ip()),
            "port": port.map(|it| it.port()),
            "socket": address.and_then(|it| it.socket()),
            "uptime_seconds": uptime.map_or(0, |uptime| uptime.as_secs()),
            "pid": std::process::id(),
            "started_at": timestamp(context.started),
        },
        "project": project::discover(&context.internal).await,
        "capabilities": {
            "tools_available": tools.listed().len(),
            "shell": !style.no_shell,
            "execution_modes": modes,
        },
        "sandbox": sandbox(context, &report).await,
        "settings": &*context.settings,
        "tools": described(&tools, context.registry.held_back().as_deref()),
        "content": content(&context.registry.content().borrow()),
        "operations": {
            "running": operations.count(OperationState::Running),
            "queued": operations.count(OperationState::Queued),
        },
        "sessions": endpoint.sessions(),
        "processes": processes(&own_processes(context).await).await,
    });
    if let Some(foreign) = &context.foreign {
        if !foreign.is_empty() {
            told["downstream"] = foreign.describe();
            told["server_configs"] = json!(foreign.server_configs());
        }
        let source = foreign.describe_source();
        if !source.is_null() {
            told["mcp_config"] = source;
        }
    }
    Ok(told)
}

async fn sandbox(context: &ServiceContext, report: &SandboxReport) -> Value {
    let policy = context.hosts.policy();
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
    let hosts = context.hosts.alive().await;
    let warm_shells: usize = hosts.iter().map(|host| host.warm_shells()).sum();
    let mut warnings = context.warnings.clone();
    warnings.extend(context.owner.recent());
    if context.commands.unconfined {
        warnings.push("the sandbox is switched off".to_owned());
    }
    // Some is only written where what is in it can be protected.
    let is_kept = |path: &&PathBuf| {
        let mut protected = report.protected.iter();
        !policy.write_in_view.contains(path) || protected.any(|it| it.starts_with(path))
    };
    let written: Vec<&PathBuf> = policy.write.iter().filter(is_kept).collect();
    json!({
        "enforced": !context.commands.unconfined,
        "backend": report.backend,
        "kernel_abi": report.landlock_abi,
        "layers": layers,
        "scope": policy.scope,
        "grants": { "read": policy.read, "write": written },
        "protected": report.protected,
        "seeded_caches": report.seeded,
        "network": policy.network == Network::On,
        "network_reach": report.network,
        "home": policy.home(),
        "hosts": hosts.iter().map(|host| host.pid()).collect::<Vec<_>>(),
        "warm_shells": warm_shells,
        "warnings": warnings,
    })
}

fn described(tools: &ToolSnapshot, held_back: Option<&str>) -> Value {
    let declared = tools.declared();
    let unavailable = declared.unavailable().iter();
    let unavailable: Vec<Value> = unavailable
        .map(|it| json!({ "name": it.name, "install_instructions": it.install_instructions }))
        .collect();
    json!({
        "loaded": tools.declared_count(),
        "disabled": declared.disabled(),
        "unavailable": unavailable,
        "rejected": rejected(declared.rejected()),
        "shadowed": tools.shadowed(),
        "held_back": held_back,
    })
}

/// What files offer beside tools.
fn content(content: &DeclaredContent) -> Value {
    let lists = content.lists();
    json!({
        "prompts": lists.prompts.len(),
        "resources": lists.resources.len(),
        "resource_templates": lists.resource_templates.len(),
        "rejected": rejected(content.rejected()),
    })
}

fn rejected(files: &[RejectedFile]) -> Vec<Value> {
    let told = |file: &RejectedFile| {
        let faults: Vec<String> = file.faults.iter().map(in_words).collect();
        json!({ "file": file.path, "faults": faults })
    };
    files.iter().map(told).collect()
}

fn in_words(fault: &Fault) -> String {
    let said = format!("{}:{}: {}", fault.line, fault.column, fault.message);
    match &fault.hint {
        Some(hint) => format!("{said}\nhint: {hint}"),
        None => said,
    }
}

/// Where the processes begin that a caller may know of: with the server itself, or with its sandbox hosts where others
/// have theirs.
async fn own_processes(context: &ServiceContext) -> Vec<u32> {
    if context.endpoint.is_whole() {
        return vec![std::process::id()];
    }
    let hosts = context.hosts.alive().await;
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
            let children = match children {
                Ok(children) => children,
                // A thread, or a process, has ended meanwhile; our first thread has not.
                Err(_) if count > 1 || thread.file_name() != *pid.to_string() => continue,
                Err(_) => return None,
            };
            waiting.extend(
                children
                    .split_whitespace()
                    .filter_map(|it| it.parse::<u32>().ok()),
            );
        }
    }
    Some(count)
}
