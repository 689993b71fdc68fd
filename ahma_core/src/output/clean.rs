//! From raw bytes to text a model can read: invalid UTF-8 repaired, terminal control removed.

use std::borrow::Cow;

/// Cleans a piece of output.
pub(crate) fn clean(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    if !text.bytes().any(is_control) {
        return text;
    }
    Cow::Owned(clean_text(&text))
}

/// Everything that a terminal might not show as it is, line ends and tabs apart. 0xc2 is the first
/// byte of control characters beyond ASCII, among others.
fn is_control(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f || byte == 0xc2
}

fn clean_text(text: &str) -> String {
    let stripped = anstream::adapter::strip_str(text).to_string();
    if stripped.contains('\r') {
        collapse_rewrites(&stripped)
    } else {
        stripped
    }
}

/// A line that was rewritten with `\r`, as progress bars do, is shown in its last state.
fn collapse_rewrites(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (content, end) = match line.strip_suffix('\n') {
            Some(content) => (content, "\n"),
            None => (line, ""),
        };
        let last = content
            .rsplit('\r')
            .find(|state| !state.is_empty())
            .unwrap_or_default();
        collapsed.push_str(last);
        collapsed.push_str(end);
    }
    collapsed
}

/// How many bytes at the end belong to a character that is not complete.
pub(super) fn unfinished_at_end(bytes: &[u8]) -> usize {
    // A character has at most 4 bytes, so only the last 3 can be an unfinished one.
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let width = match byte {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            0x80..=0xbf => continue,
            _ => return 0,
        };
        return if width > back { back } else { 0 };
    }
    0
}

/// How many bytes at the beginning belong to a character that began before.
pub(super) fn rest_at_start(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take(3)
        .take_while(|byte| (0x80..=0xbf).contains(*byte))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_titles_and_links_are_removed() {
        let raw = b"\x1b[1;31merror\x1b[0m: \x1b]0;title\x07see \x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\\n";
        assert_eq!(clean(raw), "error: see here\n");
    }

    #[test]
    fn a_progress_bar_is_shown_in_its_last_state() {
        assert_eq!(clean(b" 10%\r 50%\r100%\ndone\n"), "100%\ndone\n");
        assert_eq!(clean(b"a\r\nb\r\n"), "a\nb\n", "Windows line ends");
        assert_eq!(clean(b"waiting\r"), "waiting");
    }

    #[test]
    fn invalid_bytes_are_marked_and_nul_is_dropped() {
        assert_eq!(clean(b"a\xffb\x00c"), "a\u{fffd}bc");
        assert_eq!(clean("grüße 工具\n".as_bytes()), "grüße 工具\n");
    }

    #[test]
    fn the_edges_of_characters_are_found() {
        let text = "aä工🦀".as_bytes();
        for cut in 0..=text.len() {
            let head = &text[..cut];
            let whole = &head[..cut - unfinished_at_end(head)];
            assert!(std::str::from_utf8(whole).is_ok(), "cut at {cut}");
            let tail = &text[cut..];
            let whole = &tail[rest_at_start(tail)..];
            assert!(std::str::from_utf8(whole).is_ok(), "cut at {cut}");
        }
    }
}
