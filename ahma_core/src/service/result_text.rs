//! The text of results: looked at, taken out, added to. Must not know what it says.

use rmcp::model::{CallToolResult, ContentBlock};

/// The text of a result; an error when the result is one.
pub(super) fn text_of(result: &CallToolResult) -> Result<String, String> {
    let texts = result.content.iter().filter_map(|block| block.as_text());
    let text: Vec<&str> = texts.map(|text| text.text.as_str()).collect();
    let text = text.join("\n");
    match result.is_error {
        Some(true) => Err(text),
        _ => Ok(text),
    }
}

/// Takes the text out of a result; what else is in it stays.
pub(super) fn take_text(result: &mut CallToolResult) -> String {
    let mut texts = Vec::new();
    result.content.retain(|block| match block.as_text() {
        Some(text) => {
            texts.push(text.text.clone());
            false
        }
        None => true,
    });
    texts.join("\n")
}

/// About how many bytes the blocks of a result have.
pub(super) fn length(result: &CallToolResult) -> usize {
    let blocks = result.content.iter();
    let length = |block: &ContentBlock| match block {
        ContentBlock::Image(image) => image.data.len(),
        ContentBlock::Audio(audio) => audio.data.len(),
        ContentBlock::Text(text) => text.text.len(),
        _ => 100,
    };
    blocks.map(length).sum()
}

/// Adds lines before the last one of a result, which says how its operation ended.
pub(super) fn with_hints(result: &mut CallToolResult, hints: &[String]) {
    let mut blocks = result.content.iter_mut().rev();
    let last = blocks.find_map(|block| match block {
        ContentBlock::Text(text) => Some(text),
        _ => None,
    });
    if let (Some(text), false) = (last, hints.is_empty()) {
        let at = text.text.rfind('\n').map_or(0, |it| it + 1);
        text.text.insert_str(at, &(hints.join("\n") + "\n"));
    }
}
