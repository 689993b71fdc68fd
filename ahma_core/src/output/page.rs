//! Reading an output page by page, or line by line for a pattern.

use std::io;

use regex::Regex;
use tokio::task::spawn_blocking;

use super::capture::last_cut;
use super::clean::{clean, rest_at_start, unfinished_at_end};
use super::store::{Output, Raw};

/// The largest page: what fits one result.
pub(crate) const MAX_PAGE_LEN: usize = super::INLINE_LIMIT;
/// The usual page.
const USUAL_PAGE_LEN: usize = 32 * 1024;
/// Lines found are listed up to this number.
const MAX_HITS: usize = 200;
/// A line is shown up to this length.
const MAX_LINE_LEN: usize = 400;
const CHUNK: usize = 256 * 1024;
/// A line is held up to this length; a longer one is searched in pieces.
const MAX_HELD_LEN: usize = CHUNK * 4;

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
    /// From an offset on, as much as is usual.
    Usual {
        /// First byte.
        offset: u64,
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
    /// Reads a page, cut at the borders of characters; one that is not shorter than the longest, or as long as is usual, at a
    /// line end if one is near.
    pub async fn page(&self, request: PageRequest) -> io::Result<Page> {
        let total = self.totals().bytes;
        let (asked, length) = match request {
            PageRequest::From { offset, length } => (offset.min(total), length),
            PageRequest::Usual { offset } => (offset.min(total), USUAL_PAGE_LEN),
            PageRequest::Tail { length } => {
                let length = length.clamp(1, MAX_PAGE_LEN);
                (total.saturating_sub(length as u64), length)
            }
        };
        let is_exact = match request {
            PageRequest::From { length, .. } => length < MAX_PAGE_LEN,
            PageRequest::Usual { .. } => false,
            PageRequest::Tail { .. } => true,
        };
        let length = length.clamp(1, MAX_PAGE_LEN);
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
            let cut = match is_exact {
                true => end - unfinished_at_end(&bytes),
                false => last_cut(&bytes),
            };
            end = cut.max(skipped);
        }
        Ok(Page {
            text: clean(&bytes[skipped..end]).into_owned(),
            offset: start + skipped as u64,
            end: start + end as u64,
            lost_before,
        })
    }

    /// Finds lines that match, the first ones up to a limit, and how many there are in all.
    pub async fn search(&self, pattern: &Regex) -> io::Result<(Vec<SearchHit>, u64)> {
        let mut search = Search {
            pattern: pattern.clone(),
            hits: Vec::new(),
            count: 0,
            line: 1,
            pending: Vec::new(),
            pending_offset: 0,
        };
        let mut offset = 0;
        loop {
            let piece = self.raw(offset, CHUNK).await?;
            match &piece {
                Raw::Bytes(bytes) if bytes.is_empty() => break,
                Raw::Bytes(bytes) => offset += bytes.len() as u64,
                Raw::Lost { until } => offset = *until,
            }
            // Matching takes time, and the runtime has other things to do.
            search = spawn_blocking(move || search.with(piece)).await?;
        }
        let search = spawn_blocking(move || search.at_the_end()).await?;
        Ok((search.hits, search.count))
    }
}

struct Search {
    pattern: Regex,
    hits: Vec<SearchHit>,
    count: u64,
    line: u64,
    /// The beginning of a line whose end has not come yet, and its offset.
    pending: Vec<u8>,
    pending_offset: u64,
}

impl Search {
    fn with(mut self, piece: Raw) -> Self {
        match piece {
            Raw::Lost { until } => {
                self.look_at_rest();
                self.pending_offset = until;
            }
            Raw::Bytes(bytes) => {
                self.pending.extend(bytes);
                self.look_at_lines();
                if self.pending.len() > MAX_HELD_LEN {
                    // One endless line: looked at in pieces, so that it does not have to be held.
                    self.look_at_rest();
                }
            }
        }
        self
    }

    fn at_the_end(mut self) -> Self {
        self.look_at_rest();
        self
    }

    fn look_at_lines(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let end = pending.iter().rposition(|byte| *byte == b'\n');
        let (lines, rest) = pending.split_at(end.map_or(0, |end| end + 1));
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            self.look_at(line);
        }
        self.pending = rest.to_vec();
    }

    fn look_at_rest(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.look_at(&pending);
    }

    fn look_at(&mut self, raw: &[u8]) {
        if raw.is_empty() {
            return;
        }
        let offset = self.pending_offset;
        self.pending_offset += raw.len() as u64;
        let text = clean(raw);
        let text = text.trim_end_matches('\n');
        if self.pattern.is_match(text) {
            self.count += 1;
            if self.hits.len() < MAX_HITS {
                let shown: String = text.chars().take(MAX_LINE_LEN).collect();
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
