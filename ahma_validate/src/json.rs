//! The verdict for programs: one JSON document, one entry per file asked for.

use std::io::{self, Write as _};
use std::path::PathBuf;

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

fn fault(fault: &Fault) -> Value {
    json!({
        "line": fault.line,
        "column": fault.column,
        "pointer": fault.pointer,
        "message": fault.message,
        "hint": fault.hint,
    })
}
