//! What the first bytes of something say that it is.

/// The MIME type of a picture, sound, film, archive or document, where its first bytes tell; none for text.
pub(crate) fn media_type(head: &[u8]) -> Option<&'static str> {
    let found = infer::get(head).map(|it| it.mime_type());
    match found {
        // By these names clients know them.
        Some("audio/x-wav") => Some("audio/wav"),
        Some("audio/x-flac") => Some("audio/flac"),
        None | Some("text/xml") if is_svg(head) => Some("image/svg+xml"),
        found => found,
    }
}

/// The one kind of picture that is text.
fn is_svg(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&head[..head.len().min(1024)]);
    let text = text.trim_start();
    text.starts_with("<svg") || text.starts_with("<?xml") && text.contains("<svg")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_and_sounds_are_told_from_text() {
        for (head, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\x24\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\x24\0\0\0WAVEfmt ", Some("audio/wav")),
            (b"fLaC\0\0\0\x22", Some("audio/flac")),
            (b"ID3\x03\0", Some("audio/mpeg")),
            (b"<svg xmlns=", Some("image/svg+xml")),
            (b"<?xml version=\"1.0\"?>\n<svg>", Some("image/svg+xml")),
            (b"shots/one.png\n", None),
            (b"", None),
        ] {
            assert_eq!(media_type(head), expected, "{head:?}");
        }
    }
}
