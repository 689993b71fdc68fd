//! An object or array in a JSON text: an item is added behind the others or taken out, with the comma and the line that it needs.
//! No other byte changes. Must not know what the items say.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};

use super::json_layout::{Style, is_first_of_line, line_indent, line_start};

type Splices = Vec<(Range<usize>, String)>;

/// Where an object or array and its items are.
pub(crate) struct Container<'t> {
    text: &'t str,
    /// Of the whole text.
    tokens: &'t [TokenAndRange<'t>],
    /// What is between the braces.
    inside: Range<usize>,
    items: Vec<Range<usize>>,
    is_object: bool,
}

impl<'t> Container<'t> {
    pub(crate) fn of_object(
        text: &'t str,
        tokens: &'t [TokenAndRange<'t>],
        object: &Object<'_>,
    ) -> Self {
        let items = object.properties.iter();
        Container {
            text,
            tokens,
            inside: object.range.start + 1..object.range.end - 1,
            items: items.map(|it| it.range.start..it.range.end).collect(),
            is_object: true,
        }
    }

    pub(crate) fn of_array(
        text: &'t str,
        tokens: &'t [TokenAndRange<'t>],
        array: &Array<'_>,
    ) -> Self {
        let items = array.elements.iter().map(Ranged::range);
        Container {
            text,
            tokens,
            inside: array.range.start + 1..array.range.end - 1,
            items: items.map(|it| it.start..it.end).collect(),
            is_object: false,
        }
    }

    /// What adds an item. It is written for the indentation that it gets, or for one line.
    pub(crate) fn add(
        &self,
        style: &Style<'_>,
        written: impl FnOnce(Option<&str>) -> String,
    ) -> Splices {
        let Some(last) = self.items.last() else {
            return self.add_first(style, written);
        };
        let comma = self.comma_after(last.end);
        let behind = if comma.is_some() { "," } else { "" };
        if !self.has_lines() {
            let space = if self.is_spaced(style) { " " } else { "" };
            let item = written(None);
            return match comma {
                Some(comma) => vec![(comma.end..comma.end, format!("{space}{item},"))],
                None => vec![(last.end..last.end, format!(",{space}{item}"))],
            };
        }
        let indent = self.item_indent(style);
        let item = written(Some(&indent));
        let item = format!("{}{indent}{item}{behind}", style.newline);
        match comma {
            Some(comma) => {
                let at = self.behind_comments_of_line(comma.end);
                vec![(at..at, item)]
            }
            None => {
                let at = self.behind_comments_of_line(last.end);
                if at == last.end {
                    return vec![(at..at, format!(",{item}"))];
                }
                vec![(last.end..last.end, ",".to_owned()), (at..at, item)]
            }
        }
    }

    fn add_first(
        &self,
        style: &Style<'_>,
        written: impl FnOnce(Option<&str>) -> String,
    ) -> Splices {
        let comments = self.tokens_in(self.inside.clone());
        let start = comments.last().map_or(self.inside.start, |it| it.range.end);
        let rest = start..self.inside.end;
        let has_line = self.text[rest.clone()].contains('\n');
        if !has_line && (style.is_one_line || !self.is_object) {
            return vec![(rest, written(None))];
        }
        let outer = line_indent(self.text, self.inside.start);
        let indent = format!("{outer}{}", style.unit);
        let item = written(Some(&indent));
        let newline = style.newline;
        match has_line {
            true => vec![(start..start, format!("{newline}{indent}{item}"))],
            false => vec![(rest, format!("{newline}{indent}{item}{newline}{outer}"))],
        }
    }

    /// What takes an item out.
    pub(crate) fn take_out(&self, index: usize) -> Splices {
        let item = self.items[index].clone();
        if self.items.len() == 1 && self.tokens_beside(&item).next().is_none() {
            return vec![(self.inside.clone(), String::new())];
        }
        let comma = self.comma_after(item.end);
        let mut splices = Splices::new();
        // The last one has none behind it; the one before would then end a list that nothing follows.
        let before = match (&comma, index) {
            (None, 1..) => self.comma_after(self.items[index - 1].end),
            _ => None,
        };
        let end = comma.map_or(item.end, |it| it.end);
        let rest_of_line = &self.text[end..];
        let line_len = rest_of_line.find('\n').unwrap_or(rest_of_line.len());
        let is_alone = is_first_of_line(self.text, item.start)
            && rest_of_line[..line_len].trim().is_empty()
            && end + line_len < self.inside.end;
        if is_alone {
            let lines = line_start(self.text, item.start)..end + line_len + 1;
            splices.extend(before.map(|it| (it, String::new())));
            splices.push((lines, String::new()));
            return splices;
        }
        match before {
            // With the space between them, unless something stands there.
            Some(comma) if self.text[comma.end..item.start].trim().is_empty() => {
                splices.push((comma.start..end, String::new()));
            }
            Some(comma) => {
                splices.push((comma, String::new()));
                splices.push((item.start..end, String::new()));
            }
            None => {
                let space = rest_of_line.len() - rest_of_line.trim_start_matches([' ', '\t']).len();
                splices.push((item.start..end + space, String::new()));
            }
        }
        splices
    }

    /// The comma behind an item.
    fn comma_after(&self, end: usize) -> Option<Range<usize>> {
        let next = self.tokens_in(end..self.inside.end).find(|it| {
            let token = &it.token;
            !matches!(token, Token::CommentLine(_) | Token::CommentBlock(_))
        })?;
        let is_comma = matches!(next.token, Token::Comma);
        is_comma.then_some(next.range.start..next.range.end)
    }

    fn tokens_in(
        &self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = &TokenAndRange<'t>> {
        let first = self
            .tokens
            .partition_point(|it| it.range.start < range.start);
        let end = self.tokens.partition_point(|it| it.range.start < range.end);
        self.tokens[first..end.max(first)].iter()
    }

    /// What else is there but an item and its comma.
    fn tokens_beside(&self, item: &Range<usize>) -> impl Iterator<Item = &TokenAndRange<'t>> {
        let item = item.clone();
        let all = self.tokens_in(self.inside.clone());
        all.filter(move |it| !item.contains(&it.range.start) && !matches!(it.token, Token::Comma))
    }

    fn behind_comments_of_line(&self, from: usize) -> usize {
        let mut at = from;
        for token in self.tokens_in(from..self.inside.end) {
            let is_comment = matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_));
            if !is_comment || self.text[at..token.range.start].contains('\n') {
                break;
            }
            at = token.range.end;
        }
        at
    }

    fn has_lines(&self) -> bool {
        self.text[self.inside.clone()].contains('\n')
    }

    /// Whether a space follows commas.
    fn is_spaced(&self, style: &Style<'_>) -> bool {
        match self.items.as_slice() {
            [first, _, ..] => self
                .comma_after(first.end)
                .is_some_and(|it| self.text[it.end..].starts_with(' ')),
            _ => style.is_spaced,
        }
    }

    fn item_indent(&self, style: &Style<'_>) -> String {
        let mut starts = self.items.iter().rev().map(|it| it.start);
        let of_line = starts.find(|it| is_first_of_line(self.text, *it));
        match of_line {
            Some(start) => line_indent(self.text, start).to_owned(),
            None => {
                let outer = line_indent(self.text, self.inside.start);
                format!("{outer}{}", style.unit)
            }
        }
    }
}
