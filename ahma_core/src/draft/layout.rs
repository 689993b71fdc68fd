//! The parts of a help text: usage lines, sections with headings, rows of two columns, paragraphs. Knows how tables look, whatever
//! style they are of; must not know what a row means.

use super::flag_spec::{self, FlagSpec};
use super::headings::{SectionKind, begins_with_a_name, is_list, kind_of, says};

/// The parts of a help text.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Lines that show how the command is used, without `usage:`.
    pub(super) usage: Vec<String>,
    /// Lines of flags in brackets outside of them.
    pub(super) brackets: Vec<String>,
    /// What stands between, in order; the first has no heading.
    pub(super) sections: Vec<Section>,
}

/// What stands below a heading.
#[derive(Debug, Default)]
pub(super) struct Section {
    /// Without its colon.
    pub(super) heading: String,
    /// What it is about, as its heading says.
    pub(super) kind: SectionKind,
    /// Whether it stands behind the usage lines.
    pub(super) is_behind_usage: bool,
    /// Rows that begin with a flag.
    pub(super) options: Vec<OptionRow>,
    /// Rows that begin with a name.
    pub(super) names: Vec<NameRow>,
    /// Text that is no table, paragraph by paragraph.
    pub(super) paragraphs: Vec<String>,
    /// Lines that hold nothing but names.
    pub(super) lists: Vec<String>,
}

/// A row that begins with a flag.
#[derive(Debug)]
pub(super) struct OptionRow {
    pub(super) spec: FlagSpec,
    pub(super) text: Vec<String>,
}

/// A row that begins with a name.
#[derive(Debug)]
pub(super) struct NameRow {
    /// The left column.
    pub(super) left: String,
    pub(super) text: Vec<String>,
}

/// Finds the parts of a text.
pub(super) fn layout(lines: &[String]) -> Layout {
    let mut reader = Reader::new();
    for (at, line) in lines.iter().enumerate() {
        let next = lines.get(at + 1).map(String::as_str).unwrap_or_default();
        reader.line(line, next);
    }
    reader.layout
}

/// The row whose text may go on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Option,
    Name,
    Paragraph,
}

struct Reader {
    layout: Layout,
    open: Open,
    /// How far the open row is indented.
    indent: usize,
    /// Where its second column begins, once known.
    column: Option<usize>,
    in_usage: bool,
    had_usage: bool,
    after_blank: bool,
}

impl Reader {
    fn new() -> Self {
        Reader {
            layout: Layout {
                sections: vec![Section::default()],
                ..Layout::default()
            },
            open: Open::Nothing,
            indent: 0,
            column: None,
            in_usage: false,
            had_usage: false,
            after_blank: true,
        }
    }

    fn section(&mut self) -> &mut Section {
        let sections = &mut self.layout.sections;
        if sections.is_empty() {
            sections.push(Section::default());
        }
        let last = sections.len() - 1;
        &mut sections[last]
    }

    fn line(&mut self, line: &str, next: &str) {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            self.blank();
            return;
        }
        let indent = line.len() - line.trim_start().len();
        if self.usage(trimmed, indent) {
            self.after_blank = false;
            return;
        }
        self.in_usage = false;
        let is_text_of_row = matches!(self.open, Open::Option | Open::Name)
            && indent > self.indent
            && self
                .column
                .is_none_or(|column| indent + 1 >= column || indent > self.indent + 1)
            && !(self.column.is_none_or(|column| indent < column)
                && flag_spec::parse(trimmed).is_some());
        if trimmed.starts_with("[-") && !is_text_of_row {
            self.layout.brackets.push(trimmed.to_owned());
            self.open = Open::Nothing;
        } else if is_text_of_row {
            self.column.get_or_insert(indent);
            self.add_text(trimmed);
        } else if self.heading(trimmed, indent, next) {
        } else if !self.option_row(line, trimmed, indent) && !self.name_row(line, trimmed, indent) {
            self.paragraph(trimmed);
        }
        self.after_blank = false;
    }

    fn blank(&mut self) {
        let usage_is_empty = self.layout.usage.is_empty();
        self.in_usage = self.in_usage && usage_is_empty;
        self.after_blank = true;
        match self.open {
            Open::Option | Open::Name => self.add_text(""),
            Open::Paragraph => self.open = Open::Nothing,
            Open::Nothing => {}
        }
    }

    fn usage(&mut self, trimmed: &str, indent: usize) -> bool {
        let lower = trimmed.to_ascii_lowercase();
        let is_first = self.layout.usage.is_empty();
        if let Some(rest) = lower.strip_prefix("usage") {
            let is_heading = rest.starts_with(':') || (rest.is_empty() && indent == 0);
            if is_heading && (is_first || self.in_usage) {
                let text = trimmed["usage".len()..].trim_start_matches(':').trim();
                self.begin_usage();
                if !text.is_empty() {
                    self.layout.usage.push(text.to_owned());
                }
                return true;
            }
            if rest.starts_with(" of ") && rest.ends_with(':') && is_first {
                // A program of Go with the flags of its standard library.
                self.begin_usage();
                self.in_usage = false;
                let program = trimmed["usage of ".len()..].trim_end_matches(':');
                self.layout.usage.push(program.to_owned());
                return true;
            }
        }
        if !self.in_usage {
            return false;
        }
        let alternative = lower.strip_prefix("or:").or(lower.strip_prefix("or "));
        if let Some(rest) = alternative {
            let text = &trimmed[trimmed.len() - rest.len()..];
            self.layout.usage.push(text.trim().to_owned());
            return true;
        }
        let program = self
            .layout
            .usage
            .first()
            .and_then(|it| it.split(' ').next());
        let begins_anew = program.is_some_and(|program| {
            trimmed.split(' ').next() == Some(program) && !program.starts_with(['[', '<', '-'])
        });
        if begins_anew || self.layout.usage.is_empty() {
            // A table of examples is none of command lines.
            let text = trimmed.split("  ").next().unwrap_or(trimmed);
            self.layout.usage.push(text.to_owned());
            return true;
        }
        let is_row = trimmed.starts_with('-') && (indent < 8 || trimmed.contains("  "));
        if indent < 2 || is_row || trimmed.ends_with(':') {
            return false;
        }
        if let Some(last) = self.layout.usage.last_mut() {
            last.push(' ');
            last.push_str(trimmed);
        }
        true
    }

    fn begin_usage(&mut self) {
        self.in_usage = true;
        if !self.had_usage {
            self.had_usage = true;
            self.layout.sections.push(Section {
                is_behind_usage: true,
                ..Section::default()
            });
        }
        self.open = Open::Nothing;
    }

    fn heading(&mut self, trimmed: &str, indent: usize, next: &str) -> bool {
        // `Use one of these commands:` at the end of a paragraph is its last line.
        let ends_paragraph = self.open == Open::Paragraph && !self.after_blank;
        if indent > 2 || trimmed.starts_with('-') || ends_paragraph {
            return false;
        }
        if self.open != Open::Nothing && self.open != Open::Paragraph && indent > self.indent {
            return false;
        }
        let words = trimmed.split_whitespace().count();
        let letters = || trimmed.chars().filter(|it| it.is_alphabetic());
        let is_named = trimmed.ends_with(':') && words <= 12 && !trimmed.contains("  ");
        let is_capital = indent == 0
            && words <= 5
            && letters().count() >= 3
            && letters().all(char::is_uppercase)
            && !trimmed.ends_with('.');
        let next_is_row = next.starts_with(' ') && next.trim().contains("  ");
        let is_title = indent == 0
            && self.after_blank
            && words <= 12
            && !trimmed.ends_with('.')
            && !trimmed.contains("  ")
            && (next_is_row || (words <= 8 && says(trimmed, &["commands"]) && !next.is_empty()));
        if !is_named && !is_capital && !is_title {
            return false;
        }
        let heading = trimmed.trim_end_matches(':').to_owned();
        let before = self.section().kind;
        // Groups below a heading such as `These are common commands:`.
        let is_group = before == SectionKind::Commands && !is_named && !is_capital;
        let kind = match is_group {
            true => before,
            false => kind_of(&heading),
        };
        let is_behind_usage = self.had_usage;
        self.layout.sections.push(Section {
            heading,
            kind,
            is_behind_usage,
            ..Section::default()
        });
        self.open = Open::Nothing;
        true
    }

    fn option_row(&mut self, line: &str, trimmed: &str, indent: usize) -> bool {
        if self.section().kind == SectionKind::Other {
            return false;
        }
        let Some((spec, text)) = flag_spec::parse(trimmed) else {
            return false;
        };
        self.open = Open::Option;
        self.indent = indent;
        self.column = match text.is_empty() {
            true => None,
            false => line.find(text.as_str()),
        };
        let text = match text.is_empty() {
            true => Vec::new(),
            false => vec![text],
        };
        self.section().options.push(OptionRow { spec, text });
        true
    }

    fn name_row(&mut self, line: &str, trimmed: &str, indent: usize) -> bool {
        let kind = self.section().kind;
        if !matches!(kind, SectionKind::Commands | SectionKind::Arguments) {
            return false;
        }
        let is_command = kind == SectionKind::Commands;
        if is_command && is_list(trimmed) {
            self.section().lists.push(trimmed.to_owned());
            self.open = Open::Nothing;
            return true;
        }
        if indent == 0 && is_command {
            return false;
        }
        let divided = [": ", " - ", "  "]
            .into_iter()
            .filter_map(|gap| trimmed.find(gap).map(|at| (at, gap.len())))
            .min();
        let (left, text) = match divided {
            Some((at, gap)) => (&trimmed[..at], trimmed[at + gap..].trim()),
            None => (trimmed.trim_end_matches(':'), ""),
        };
        let text = text.trim_start_matches(['-', ':']).trim();
        if is_command && !begins_with_a_name(left) {
            return false;
        }
        self.open = Open::Name;
        self.indent = indent;
        self.column = match text.is_empty() {
            true => None,
            false => line.find(text),
        };
        let row = NameRow {
            left: left.trim().to_owned(),
            text: match text.is_empty() {
                true => Vec::new(),
                false => vec![text.to_owned()],
            },
        };
        self.section().names.push(row);
        true
    }

    fn paragraph(&mut self, trimmed: &str) {
        if !self.section().options.is_empty() {
            // A remark on the table.
            self.open = Open::Nothing;
            return;
        }
        let goes_on = self.open == Open::Paragraph;
        self.open = Open::Paragraph;
        self.indent = 0;
        let paragraphs = &mut self.section().paragraphs;
        match paragraphs.last_mut() {
            Some(last) if goes_on => {
                last.push('\n');
                last.push_str(trimmed);
            }
            _ => paragraphs.push(trimmed.to_owned()),
        }
    }

    fn add_text(&mut self, line: &str) {
        let open = self.open;
        let section = self.section();
        let text = match open {
            Open::Option => section.options.last_mut().map(|it| &mut it.text),
            Open::Name => section.names.last_mut().map(|it| &mut it.text),
            Open::Nothing | Open::Paragraph => None,
        };
        if let Some(text) = text {
            text.push(line.to_owned());
        }
    }
}
