//! The verdict for people: each fault in its line of the file, with a caret and advice.

use std::io::{self, Write as _};
use std::ops::Range;
use std::path::Path;

use ahma_core::config::downstream::DownstreamConfig;
use ahma_core::config::{Fault, Severity};
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::verdict::Verdict;

/// Longer lines are not shown: machine-made files can have all of it in one line.
const MAX_LINE_LEN: usize = 2_000;

/// Prints every fault and every warning, then a summary. Colours appear on a terminal only.
pub(crate) fn print(verdict: &Verdict) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    for file in &verdict.rejected {
        for fault in &file.faults {
            writeln!(out, "{}\n", render(&file.path, &file.text, fault))?;
        }
    }
    for file in &verdict.warned {
        for warning in &file.warnings {
            writeln!(out, "{}\n", render(&file.path, &file.text, warning))?;
        }
    }
    writeln!(out, "{}", summary(verdict))
}

/// The same for an `mcp.json`.
pub(crate) fn print_mcp_config(config: &DownstreamConfig) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    for fault in &config.faults {
        writeln!(out, "{}\n", render(&config.path, &config.text, fault))?;
    }
    let mut summary = format!("{} good", count(config.servers.len(), "server"));
    if !config.disabled.is_empty() {
        summary += &format!(", {} disabled", config.disabled.len());
    }
    if !config.faults.is_empty() {
        summary += &format!("; {}", count(config.faults.len(), "fault"));
    }
    writeln!(out, "{summary}")
}

fn render(path: &Path, text: &str, fault: &Fault) -> String {
    let path = path.display().to_string();
    let level = match fault.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(&*fault.message);
    let mut report: Group<'_> = match excerpt(text, &fault.span) {
        Some((line, span)) => title.element(
            Snippet::source(line)
                .path(&*path)
                .line_start(fault.line)
                .annotation(AnnotationKind::Primary.span(span)),
        ),
        None => title.element(
            Origin::path(&*path)
                .line(fault.line)
                .char_column(fault.column),
        ),
    };
    let at = format!("at {}", fault.pointer);
    if !fault.pointer.is_empty() {
        report = report.element(Level::NOTE.message(&*at));
    }
    if let Some(hint) = &fault.hint {
        report = report.element(Level::HELP.message(&**hint));
    }
    Renderer::styled().render(&[report])
}

/// The line of a fault, and the fault's place in it.
fn excerpt<'t>(text: &'t str, span: &Range<usize>) -> Option<(&'t str, Range<usize>)> {
    let start = text.floor_char_boundary(span.start);
    let from = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let to = text[start..]
        .find('\n')
        .map_or(text.len(), |length| start + length);
    if text.is_empty() || to - from > MAX_LINE_LEN {
        return None;
    }
    let end = text.floor_char_boundary(span.end).clamp(start, to);
    Some((&text[from..to], start - from..end - from))
}

fn summary(verdict: &Verdict) -> String {
    let offered: Vec<String> = verdict
        .offered
        .iter()
        .map(|(number, what)| count(*number, what))
        .collect();
    let mut summary = format!(
        "{} good, offering {}",
        count(verdict.good_files, "file"),
        offered.join(", ")
    );
    let warnings: usize = verdict.warned.iter().map(|file| file.warnings.len()).sum();
    if warnings > 0 {
        summary += &format!("; {}", count(warnings, "warning"));
    }
    let faults: usize = verdict.rejected.iter().map(|file| file.faults.len()).sum();
    if !verdict.rejected.is_empty() {
        summary += &format!(
            "; {} rejected for {}",
            count(verdict.rejected.len(), "file"),
            count(faults, "fault")
        );
    }
    summary
}

fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
