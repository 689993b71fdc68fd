//! Which family of programs a help text looks like. Asks each family; must not read anything itself.

use super::help::{Help, Style};
use super::layout::Layout;
use super::{argparse, bsd, clap, click, cobra, git, gnu};

/// The family a text looks like most.
pub(super) fn style_of(lines: &[String], layout: &Layout) -> Style {
    let text = lines.join("\n");
    // Those with sure signs come first.
    if click::is_it(&text) {
        Style::Click
    } else if argparse::is_it(&text) {
        Style::Argparse
    } else if git::is_it(layout) {
        Style::Git
    } else if cobra::is_it(layout) {
        Style::Cobra
    } else if gnu::is_it(&text) {
        Style::Gnu
    } else if clap::is_it(&text, layout) {
        Style::Clap
    } else if bsd::is_it(layout) {
        Style::Bsd
    } else {
        Style::Plain
    }
}

/// Has the family read what only it says.
pub(super) fn refine(help: &mut Help) {
    match help.style {
        Style::Clap => clap::refine(help),
        Style::Argparse => argparse::refine(help),
        Style::Click => click::refine(help),
        Style::Cobra => cobra::refine(help),
        Style::Git => git::refine(help),
        Style::Gnu => gnu::refine(help),
        Style::Bsd => bsd::refine(help),
        Style::Plain => {}
    }
}
