//! The verdict for programs: one JSON document, one entry per file asked for.

use std::io::{self, Write as _};

use ahma_core::config::Fault;
use ahma_core::config::downstream::DownstreamConfig;
use serde_json::{Value, json};

use crate::verdict::Verdict;

pub(crate) fn print(verdict: &Verdict) -> io::Result<()> {
    let files: Vec<Value> = verdict
        .asked_for
        .iter()
        .map(|path| {
            let (faults, warnings) = verdict.faults(path);
            json!({
                "file": path.to_string_lossy(),
                "ok": faults.is_empty(),
                "faults": faults.iter().map(fault).collect::<Vec<_>>(),
                "warnings": warnings.iter().map(fault).collect::<Vec<_>>(),
            })
        })
        .collect();
    writeln!(io::stdout(), "{:#}", json!({ "files": files }))
}

/// The same for an `mcp.json`, with the servers it names.
pub(crate) fn print_mcp_config(config: &DownstreamConfig) -> io::Result<()> {
    let servers: Vec<&str> = config.servers.iter().map(|it| it.name.as_str()).collect();
    let verdict = json!({
        "file": config.path.to_string_lossy(),
        "ok": config.faults.is_empty(),
        "servers": servers,
        "disabled": config.disabled,
        "faults": config.faults.iter().map(fault).collect::<Vec<_>>(),
    });
    writeln!(io::stdout(), "{:#}", json!({ "files": [verdict] }))
}

fn fault(fault: &Fault) -> Value {
    json!({
        "line": fault.line,
        "column": fault.column,
        "pointer": fault.pointer,
        "message": fault.message,
        "hint": fault.hint,
    })
}
