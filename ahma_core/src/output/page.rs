//! Reading an output page by page, or line by line for a pattern.

use std::io;

use regex::Regex;

use super::clean::{clean, rest_at_start, unfinished_at_end};
use super::store::{Output, Raw};

/// The largest page: what fits one result.
const LONGEST_PAGE: usize = super::INLINE_LIMIT;
/// Lines found are listed up to this number.
const MOST_HITS: usize = 200;
/// A line is shown up to this length.
const LONGEST_LINE: usize = 400;
const CHUNK: usize = 256 * 1024;

/// Which part of an output is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageRequest {
    /// From an offset on.
    From {
        /// First byte.
        offset: u64,
        /// At most this many bytes.
        length: usize,
    },
    /// The end.
    Tail {
        /// At most this many bytes.
        length: usize,
    },
}

/// A part of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its text, cleaned.
    pub text: String,
    /// Offset of its first byte in the raw output.
    pub offset: u64,
    /// Offset behind its last byte: where the next page begins.
    pub end: u64,
    /// What lies between the offset asked for and this page was not kept.
    pub lost_before: bool,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// Number of the line, counted from 1.
    pub line: u64,
    /// Offset of its first byte in the raw output.
    pub offset: u64,
    /// Its text, cleaned, and cut where it is long.
    pub text: String,
}

impl Output {
    /// Reads a page, cut at the borders of characters.
    pub async fn page(&self, request: PageRequest) -> io::Result<Page> {
        let total = self.totals().bytes;
        let (asked, length) = match request {
            PageRequest::From { offset, length } => (offset.min(total), length),
            PageRequest::Tail { length } => {
                let length = length.clamp(1, LONGEST_PAGE);
                (total.saturating_sub(length as u64), length)
            }
        };
        let length = length.clamp(1, LONGEST_PAGE);
        let (start, bytes, lost_before) = match self.raw(asked, length).await? {
            Raw::Bytes(bytes) => (asked, bytes, false),
            Raw::Lost { until } => match self.raw(until, length).await? {
                Raw::Bytes(bytes) => (until, bytes, true),
                Raw::Lost { .. } => (total, Vec::new(), true),
            },
        };
        let skipped = if start == 0 { 0 } else { rest_at_start(&bytes) };
        let mut end = bytes.len();
        if start + (end as u64) < total {
            end -= unfinished_at_end(&bytes).min(end - skipped);
        }
        Ok(Page {
            text: clean(&bytes[skipped..end]),
            offset: start + skipped as u64,
            end: start + end as u64,
            lost_before,
        })
    }

    /// Finds lines that match, the first ones up to a limit, and how many there are in all.
    pub async fn search(&self, pattern: &Regex) -> io::Result<(Vec<SearchHit>, u64)> {
        let mut search = Search {
            pattern,
            hits: Vec::new(),
            count: 0,
            line: 1,
        };
        let mut offset = 0;
        let mut pending: Vec<u8> = Vec::new();
        let mut pending_offset = 0;
        loop {
            match self.raw(offset, CHUNK).await? {
                Raw::Bytes(bytes) if bytes.is_empty() => break,
                Raw::Bytes(bytes) => {
                    offset += bytes.len() as u64;
                    pending.extend(bytes);
                }
                Raw::Lost { until } => {
                    search.look_at(&pending, pending_offset);
                    pending.clear();
                    (offset, pending_offset) = (until, until);
                    continue;
                }
            }
            let complete = pending
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |end| end + 1);
            for line in pending[..complete].split_inclusive(|byte| *byte == b'\n') {
                search.look_at(line, pending_offset);
                pending_offset += line.len() as u64;
            }
            pending.drain(..complete);
            if pending.len() > CHUNK * 4 {
                // One endless line: looked at in pieces, so that it does not have to be held.
                search.look_at(&pending, pending_offset);
                pending_offset += pending.len() as u64;
                pending.clear();
            }
        }
        search.look_at(&pending, pending_offset);
        Ok((search.hits, search.count))
    }
}

struct Search<'p> {
    pattern: &'p Regex,
    hits: Vec<SearchHit>,
    count: u64,
    line: u64,
}

impl Search<'_> {
    fn look_at(&mut self, raw: &[u8], offset: u64) {
        if raw.is_empty() {
            return;
        }
        let text = clean(raw);
        let text = text.trim_end_matches('\n');
        if self.pattern.is_match(text) {
            self.count += 1;
            if self.hits.len() < MOST_HITS {
                let shown: String = text.chars().take(LONGEST_LINE).collect();
                self.hits.push(SearchHit {
                    line: self.line,
                    offset,
                    text: shown,
                });
            }
        }
        self.line += u64::from(raw.ends_with(b"\n"));
    }
}
