//! Results that are more than text: structured ones, pictures and sounds, and what commands say in events. Decides nothing of its own:
//! the executor has checked what is here.

use std::io;

use data_encoding::BASE64;
use rmcp::model::ContentBlock;
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::config::OutputKind;
use crate::executor::{BLOCK, LINE, MAX_JSON, STRUCTURED};
use crate::operation::{OperationHandle, ResultParts};
use crate::output::{INLINE_LIMIT, Output, clean, media_type};

/// More than this is got ready beside the runtime: a command decides how much it is.
const LONG: u64 = 16 * 1024;
/// Bytes that are encoded at a time.
const PIECE: usize = 192 * 1024;
/// Bytes that are enough to tell what a picture is.
const HEAD: u64 = 4096;
/// Lines of standard error that are shown of a command that did well.
const LAST_LINES: usize = 10;

/// What stands in a result beside its last block of text.
#[derive(Debug, Default)]
pub(super) struct Rich {
    pub(super) blocks: Vec<ContentBlock>,
    pub(super) structured: Option<Value>,
    /// What a command that did well wrote to its standard error.
    pub(super) aside: Option<String>,
}

/// What an operation that has ended well has made.
pub(super) async fn of(operation: &OperationHandle, parts: &ResultParts) -> io::Result<Rich> {
    match parts.kind() {
        OutputKind::Text => Ok(Rich::default()),
        OutputKind::Json => json(operation, parts).await,
        OutputKind::Image | OutputKind::Audio => media(operation, parts).await,
        OutputKind::Events => events(parts).await,
    }
}

/// What is left of it where the operation did not end well, beside the text of its output.
pub(super) async fn of_failed(parts: &ResultParts) -> Rich {
    match parts.kind() {
        OutputKind::Events => {
            let mut rich = events(parts).await.unwrap_or_default();
            rich.blocks.retain(|it| it.as_text().is_none());
            // Clients check what promises a shape, and would hide why there is none.
            rich.structured = rich.structured.filter(|_| parts.spec().schema.is_none());
            rich
        }
        OutputKind::Json => Rich {
            aside: complaints(parts),
            ..Rich::default()
        },
        _ => Rich::default(),
    }
}

async fn json(operation: &OperationHandle, parts: &ResultParts) -> io::Result<Rich> {
    let output = operation.output();
    let is_long = output.totals().bytes > LONG;
    let bytes = output.all(MAX_JSON).await?;
    let parsing = move || serde_json::from_slice(&bytes).map_err(io::Error::other);
    let value: Value = match is_long {
        false => parsing()?,
        true => spawn_blocking(parsing).await??,
    };
    // The protocol knows objects only.
    let structured = match value {
        Value::Object(_) => Some(value),
        _ => None,
    };
    Ok(Rich {
        blocks: Vec::new(),
        structured,
        aside: complaints(parts),
    })
}

/// The end of what a program whose output is JSON wrote to its standard error.
fn complaints(parts: &ResultParts) -> Option<String> {
    parts.product().last_lines(LAST_LINES)
}

async fn media(operation: &OperationHandle, parts: &ResultParts) -> io::Result<Rich> {
    let head = parts.product().all(HEAD).await?;
    let known = parts.spec().mime_type.clone();
    let mime_type = known.unwrap_or_else(|| {
        let found = media_type(&head);
        found.unwrap_or("application/octet-stream").to_owned()
    });
    let encoded = encoded(parts.product()).await?;
    let block = match parts.kind() {
        OutputKind::Audio => ContentBlock::audio(encoded, mime_type),
        _ => ContentBlock::image(encoded, mime_type),
    };
    Ok(Rich {
        blocks: vec![block],
        structured: None,
        aside: operation.output().last_lines(LAST_LINES),
    })
}

/// All of it in base64, piece by piece: a picture takes room enough once.
async fn encoded(product: &Output) -> io::Result<String> {
    let total = product.totals().bytes;
    let length = BASE64.encode_len(usize::try_from(total).map_err(io::Error::other)?);
    let mut encoded = String::with_capacity(length);
    let mut offset = 0;
    // What is left over of a piece: three bytes are encoded together.
    let mut rest = Vec::new();
    while offset < total {
        let mut piece = product.piece(offset, PIECE).await?;
        if piece.is_empty() {
            return Err(io::Error::other("a part of it was not kept"));
        }
        offset += piece.len() as u64;
        piece.splice(0..0, std::mem::take(&mut rest));
        if offset < total {
            rest = piece.split_off(piece.len() / 3 * 3);
        }
        encoded = match piece.len() as u64 > LONG {
            false => with_base64(encoded, &piece),
            true => spawn_blocking(move || with_base64(encoded, &piece)).await?,
        };
    }
    Ok(encoded)
}

fn with_base64(mut encoded: String, bytes: &[u8]) -> String {
    BASE64.encode_append(bytes, &mut encoded);
    encoded
}

async fn events(parts: &ResultParts) -> io::Result<Rich> {
    let is_long = parts.product().totals().bytes > LONG;
    let lines = parts.product().all(u64::MAX).await?;
    match is_long {
        false => Ok(read_events(&lines)),
        true => Ok(spawn_blocking(move || read_events(&lines)).await?),
    }
}

/// Content blocks in their order; lines of text that follow each other are one block.
fn read_events(lines: &[u8]) -> Rich {
    let mut rich = Rich::default();
    let mut text = String::new();
    for bytes in lines.split(|byte| *byte == b'\n') {
        let Ok(mut value) = serde_json::from_slice::<Value>(bytes) else {
            continue;
        };
        if let Some(line) = value[LINE].as_str() {
            text.push_str(&clean(line.as_bytes()));
            text.push('\n');
            continue;
        }
        if !text.is_empty() {
            rich.blocks.push(block_of(std::mem::take(&mut text)));
        }
        if let Some(structured) = value.get_mut(STRUCTURED) {
            rich.structured = Some(structured.take());
        } else if let Some(block) = value.get_mut(BLOCK) {
            rich.blocks
                .push(match serde_json::from_value(block.take()) {
                    Ok(block) => block,
                    // It has fields of other types than there are: it is shown as it was written.
                    Err(_) => ContentBlock::text(String::from_utf8_lossy(bytes)),
                });
        }
    }
    if !text.is_empty() {
        rich.blocks.push(block_of(text));
    }
    rich
}

/// A block of lines; empty ones behind the last of them say nothing.
fn block_of(mut text: String) -> ContentBlock {
    let length = text.trim_end_matches('\n').len();
    text.truncate(text.len().min(length + 1));
    ContentBlock::text(shortened(text))
}

/// Text that a command has not marked as content is shown as long as any output.
fn shortened(mut text: String) -> String {
    if text.len() > INLINE_LIMIT {
        text.truncate(text.floor_char_boundary(INLINE_LIMIT));
        text.push_str("\n[… `read_output` reads the rest …]\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::SpoolPlace;

    /// What is kept on disk may end anywhere; the rest is in memory.
    #[tokio::test]
    async fn pieces_of_any_length_are_one_text() {
        let directory = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..210_001_u32).map(|it| it.to_le_bytes()[0]).collect();
        for limit in [200_000, 200_001, 200_002] {
            let place = SpoolPlace::new(directory.path(), std::sync::Arc::default());
            let output = Output::new(place.with_limit(limit));
            output.append(bytes.clone()).await.unwrap();
            assert!(encoded(&output).await.unwrap() == BASE64.encode(&bytes));
        }
    }

    #[test]
    fn lines_of_text_between_blocks_are_put_together() {
        let lines = concat!(
            "{\"line\":\"one\"}\n{\"line\":\"\"}\n{\"line\":\"t\\u001b[1mwo\"}\n{\"line\":\"\"}\n{\"line\":\"\"}\n",
            "{\"block\":{\"type\":\"text\",\"text\":\"three\"}}\n",
            "{\"structured\":{\"a\":1}}\n{\"structured\":{\"a\":2}}\n{\"line\":\"four\"}\n",
        );
        let rich = read_events(lines.as_bytes());
        let texts: Vec<_> = rich
            .blocks
            .iter()
            .map(|it| it.as_text().unwrap().text.as_str())
            .collect();
        assert_eq!(texts, ["one\n\ntwo\n", "three", "four\n"]);
        assert_eq!(rich.structured, Some(serde_json::json!({ "a": 2 })));
    }
}
