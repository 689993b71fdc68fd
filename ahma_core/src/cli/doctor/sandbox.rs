//! Which layers of the sandbox are enforced on this machine, found out by making one.

use std::path::Path;

use ahma_sandbox::{Layer, Sandbox, SandboxReport, probe};

use super::finding::Finding;
use super::namespaces::{self, Setting};
use crate::cli::startup_error::StartupError;
use crate::scope::OpenError;

const AREA: &str = "sandbox";
/// This program.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Makes a sandbox below `base`, and says what holds.
pub(super) async fn check(base: &Path) -> Vec<Finding> {
    let sandbox = match Sandbox::new(THIS_PROGRAM) {
        Ok(sandbox) => sandbox,
        Err(error) => {
            return vec![Finding::of_error(AREA, &error)];
        }
    };
    match probe(&sandbox, base).await {
        Ok(report) => of_report(&report, &kernel_setting),
        Err(error) => {
            let error = StartupError::from(OpenError::Sandbox(error));
            vec![Finding::of_error(AREA, &error)]
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "nothing runs beside it")]
fn kernel_setting(path: &str) -> Option<String> {
    std::fs::read_to_string(Path::new("/proc/sys").join(path)).ok()
}

fn of_report(report: &SandboxReport, setting: Setting<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut of_namespaces = Vec::new();
    for layer in &report.layers {
        let name = name(layer.layer);
        let abi = match (layer.layer, report.landlock_abi) {
            (Layer::Landlock, Some(abi)) => format!(" (version {abi} of its interface)"),
            _ => String::new(),
        };
        match (&layer.gap, layer.enforced) {
            (None, true) => findings.push(Finding::ok(AREA, format!("{name} is enforced{abi}"))),
            (Some(gap), true) => {
                let message = format!("{name} is enforced in part{abi}: {gap}");
                findings.push(Finding::note(AREA, message, None));
            }
            (gap, false) => {
                let gap = gap.as_deref().unwrap_or("commands are not under it");
                let missing = format!("{name} is not enforced: {gap}");
                match layer.layer {
                    Layer::Namespaces | Layer::PidNamespace => of_namespaces.push(missing),
                    _ => findings.push(Finding::fix(AREA, missing, "use a kernel that has it")),
                }
            }
        }
    }
    if !of_namespaces.is_empty() {
        let (why, fix) = namespaces::cause(setting);
        let message = format!("{}; {why}", of_namespaces.join("; "));
        findings.push(Finding::fix(AREA, message, fix));
    }
    findings
}

fn name(layer: Layer) -> &'static str {
    match layer {
        Layer::Landlock => "Landlock",
        Layer::Seccomp => "the filter of system calls (seccomp)",
        Layer::Namespaces => "a view of the file system (user namespace)",
        Layer::PidNamespace => "a process namespace",
        Layer::Seatbelt => "Seatbelt",
        Layer::Hygiene => "a clean environment, with limits,",
    }
}
