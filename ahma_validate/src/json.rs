//! The verdict for programs: one JSON document, one entry per file asked for.

use std::io::{self, Write as _};
use std::path::PathBuf;

use ahma_core::config::downstream::DownstreamConfig;
use ahma_core::config::{Catalog, Fault};
use serde_json::{Value, json};

pub(crate) fn print(catalog: &Catalog, asked_for: &[PathBuf]) -> io::Result<()> {
    let files: Vec<Value> = asked_for
        .iter()
        .map(|path| {
            let rejected = catalog.rejected.iter().find(|file| file.path == *path);
            let faults = rejected
                .map(|file| file.faults.as_slice())
                .unwrap_or_default();
            json!({
                "file": path.to_string_lossy(),
                "ok": rejected.is_none(),
                "faults": faults.iter().map(fault).collect::<Vec<_>>(),
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
