//! The verdict for people: each fault in its line of the file, with a caret and advice.

use std::io::{self, Write as _};
use std::ops::Range;

use ahma_core::config::{Catalog, Fault, RejectedFile};
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

/// Longer lines are cut around the fault: machine-made files can have all of it in one line.
const LONGEST_LINE: usize = 400;

/// Prints every fault, then a summary. Colours appear on a terminal only.
pub(crate) fn print(catalog: &Catalog) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    for file in &catalog.rejected {
        for fault in &file.faults {
            writeln!(out, "{}\n", render(file, fault))?;
        }
    }
    writeln!(out, "{}", summary(catalog))
}

fn render(file: &RejectedFile, fault: &Fault) -> String {
    let path = file.path.display().to_string();
    let excerpt = Excerpt::around(&file.text, &fault.span);
    let title = Level::ERROR.primary_title(&*fault.message);
    let mut report: Group<'_> = if file.text.is_empty() {
        title.element(Origin::path(&*path))
    } else {
        title.element(
            Snippet::source(excerpt.text)
                .path(&*path)
                .line_start(fault.line)
                .annotation(AnnotationKind::Primary.span(excerpt.span)),
        )
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
struct Excerpt<'t> {
    text: &'t str,
    span: Range<usize>,
}

impl<'t> Excerpt<'t> {
    fn around(text: &'t str, span: &Range<usize>) -> Self {
        let start = floor(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..]
            .find('\n')
            .map_or(text.len(), |length| start + length);
        let from = floor(text, line_start.max(start.saturating_sub(LONGEST_LINE / 2)));
        let to = floor(text, line_end.min(start + LONGEST_LINE / 2)).max(start);
        let end = floor(text, span.end).clamp(start, to);
        Excerpt {
            text: &text[from..to],
            span: start - from..end - from,
        }
    }
}

/// The nearest character border at or before `offset`.
fn floor(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset)
}

fn summary(catalog: &Catalog) -> String {
    let accepted = catalog.tools.len();
    let leaves = catalog.leaves().count();
    let rejected = catalog.rejected.len();
    let faults: usize = catalog.rejected.iter().map(|file| file.faults.len()).sum();
    let good = format!(
        "{} good, offering {}",
        count(accepted, "file"),
        count(leaves, "tool")
    );
    if rejected == 0 {
        return good;
    }
    format!(
        "{good}; {} rejected for {}",
        count(rejected, "file"),
        count(faults, "fault")
    )
}

fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
