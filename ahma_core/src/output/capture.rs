//! Counts everything, and keeps the beginning and the end in memory.

use std::collections::VecDeque;

use super::clean::{clean, rest_at_start, unfinished_at_end};

/// Output up to this size is shown whole; of more, the beginning and the end.
pub const INLINE_LIMIT: usize = 48 * 1024;
const HEAD: usize = INLINE_LIMIT / 2;
const TAIL: usize = INLINE_LIMIT / 2;
/// Bytes of the last lines.
const MAX_LINES_LEN: usize = 2048;
/// A cut is moved to a line end that is no further away than this.
const NEAR: usize = 1024;

/// The text of an output as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// What to show.
    pub text: String,
    /// Bytes of the output that are not shown, from the first of them on.
    pub left_out: Option<std::ops::Range<u64>>,
}

#[derive(Debug, Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
    line_ends: u64,
    last: Option<u8>,
}

impl Capture {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.bytes += chunk.len() as u64;
        self.line_ends += count_lines(chunk);
        self.last = chunk.last().copied().or(self.last);
        let (head, rest) = chunk.split_at(chunk.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(TAIL)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Lines, the last one counted even when it has no end.
    pub(super) fn lines(&self) -> u64 {
        self.line_ends + u64::from(self.last.is_some_and(|last| last != b'\n'))
    }

    /// Whether head and tail are all there is.
    pub(super) fn is_whole(&self) -> bool {
        self.bytes <= INLINE_LIMIT as u64
    }

    /// Everything, as long as that is not more than is kept.
    pub(super) fn whole(&self) -> Vec<u8> {
        self.head.iter().chain(&self.tail).copied().collect()
    }

    /// The beginning, which is always kept.
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The end of the output that is kept, and its offset.
    pub(super) fn tail(&self) -> (u64, Vec<u8>) {
        (
            self.bytes - self.tail.len() as u64,
            self.tail.iter().copied().collect(),
        )
    }

    /// The last line that holds something, for progress.
    pub(super) fn last_line(&self) -> Option<String> {
        let kept = self.whole();
        let recent = &kept[kept.len().saturating_sub(1024)..];
        let text = clean(recent);
        text.lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .map(str::to_owned)
    }

    /// The last lines, as far as they are not too long.
    pub(super) fn last_lines(&self, count: usize) -> Option<String> {
        let kept = self.whole();
        let cut = kept.len().saturating_sub(MAX_LINES_LEN);
        let recent = &kept[cut..];
        // Not from the middle of a letter.
        let recent = &recent[if cut > 0 { rest_at_start(recent) } else { 0 }..];
        let text = clean(recent);
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let last = &lines[lines.len().saturating_sub(count)..];
        (!last.is_empty()).then(|| last.join("\n"))
    }

    /// The text to show. `how_to_read` is told the bytes left out and completes the note in the gap.
    pub(super) fn render(&self, how_to_read: impl FnOnce(u64, u64) -> String) -> Rendered {
        if self.is_whole() {
            return Rendered {
                text: clean(&self.whole()).into_owned(),
                left_out: None,
            };
        }
        let head = &self.head[..last_cut(&self.head)];
        let (tail_start, tail) = self.tail();
        let skipped = first_cut(&tail);
        let tail = &tail[skipped..];
        let from = head.len() as u64;
        let to = tail_start + skipped as u64;
        let lines = self.line_ends - count_lines(head) - count_lines(tail);
        let gap = format!(
            "[… {} bytes with {lines} line ends are left out here; {} …]",
            to - from,
            how_to_read(from, to - from)
        );
        let (head, tail) = (clean(head), clean(tail));
        let separator = if head.ends_with('\n') { "" } else { "\n" };
        Rendered {
            text: format!("{head}{separator}{gap}\n{tail}"),
            left_out: Some(from..to),
        }
    }
}

/// Where bytes that go on are best cut: behind the last line end if one is near, else behind the last whole character.
pub(super) fn last_cut(bytes: &[u8]) -> usize {
    let near = bytes.len().saturating_sub(NEAR);
    let end = bytes[near..].iter().rposition(|byte| *byte == b'\n');
    match end {
        Some(end) => near + end + 1,
        None => bytes.len() - unfinished_at_end(bytes),
    }
}

/// Where bytes that have begun before are best begun: behind the first line end if one is near, else with the first whole
/// character.
fn first_cut(bytes: &[u8]) -> usize {
    let near = &bytes[..bytes.len().min(NEAR)];
    let end = near.iter().position(|byte| *byte == b'\n');
    end.map_or_else(|| rest_at_start(bytes), |end| end + 1)
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn captured(chunks: &[&[u8]]) -> Capture {
        let mut capture = Capture::default();
        for chunk in chunks {
            capture.push(chunk);
        }
        capture
    }

    #[test]
    fn little_output_is_shown_whole() {
        let capture = captured(&[b"one\n", b"two"]);
        let rendered = capture.render(|_, _| unreachable!("nothing is left out"));
        assert_eq!(
            rendered,
            Rendered {
                text: "one\ntwo".to_owned(),
                left_out: None
            }
        );
        assert_eq!((capture.bytes(), capture.lines()), (7, 2));
    }

    #[test]
    fn of_much_output_the_gap_is_counted_exactly() {
        let mut all = Vec::new();
        for number in 0..20_000 {
            all.extend(format!("line {number}\n").into_bytes());
        }
        let capture = captured(&all.chunks(1000).collect::<Vec<_>>());
        let rendered = capture.render(|offset, length| format!("read {offset}+{length}"));
        let gap = rendered.left_out.clone().unwrap();
        let (from, to) = (
            usize::try_from(gap.start).unwrap(),
            usize::try_from(gap.end).unwrap(),
        );
        let missing = &all[from..to];
        let note = format!(
            "[… {} bytes with {} line ends are left out here; read {from}+{} …]",
            missing.len(),
            count_lines(missing),
            missing.len()
        );
        assert!(rendered.text.contains(&note), "{note}");
        assert!(rendered.text.starts_with("line 0\n"));
        assert!(rendered.text.ends_with("line 19999\n"));
        assert!(all[..from].ends_with(b"\n") && missing.ends_with(b"\n"));
        assert_eq!(
            (capture.bytes(), capture.lines()),
            (all.len() as u64, 20_000)
        );
    }

    #[test]
    fn a_cut_is_made_at_a_line_end_that_is_near() {
        let far = "x".repeat(NEAR);
        let near = &far[1..];
        for (text, last, first) in [
            (format!("ab\n{near}"), 3, 3),
            (format!("{near}\nab"), NEAR, NEAR),
            (format!("ab\n{far}"), NEAR + 3, 3),
            (format!("{far}\nab"), NEAR + 1, 0),
            ("a\nb\nc".to_owned(), 4, 2),
        ] {
            let found = (last_cut(text.as_bytes()), first_cut(text.as_bytes()));
            assert_eq!(found, (last, first), "{} bytes", text.len());
        }
        let letters = format!("{far}ä");
        assert_eq!(last_cut(&letters.as_bytes()[..NEAR + 1]), NEAR);
        assert_eq!(first_cut(&letters.as_bytes()[NEAR + 1..]), 1);
    }

    #[test]
    fn the_last_line_is_that_of_a_terminal() {
        assert_eq!(
            captured(&[b"a\n 10%\r 90%\r"]).last_line().as_deref(),
            Some("90%")
        );
        assert_eq!(captured(&[b"a\n\n  \n"]).last_line().as_deref(), Some("a"));
        assert_eq!(captured(&[]).last_line(), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

        /// However the output is cut into chunks, the same is kept.
        #[test]
        fn chunks_do_not_matter(
            pieces in proptest::collection::vec("[a-zä工\n]{0,40}", 0..20), times in 1..200_usize, size in 1..70_000_usize
        ) {
            let all = pieces.concat().repeat(times).into_bytes();
            let one = captured(&[&all]);
            let many = captured(&all.chunks(size).collect::<Vec<_>>());
            prop_assert_eq!((one.bytes(), one.lines()), (many.bytes(), many.lines()));
            let text = String::from_utf8(all).unwrap();
            prop_assert_eq!(one.lines(), text.lines().count() as u64);
            prop_assert_eq!(one.render(|_, _| String::new()), many.render(|_, _| String::new()));
        }
    }
}
