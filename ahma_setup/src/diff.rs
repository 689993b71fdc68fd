//! What changes in a file, as people read it.

use std::path::Path;

use similar::TextDiff;

/// The lines that change, with three around them; empty where none does.
pub fn unified(path: &Path, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let text = |bytes: Option<&[u8]>| {
        let text = String::from_utf8_lossy(bytes.unwrap_or_default());
        // Line ends are not shown; they stay as they are.
        text.replace("\r\n", "\n")
    };
    let name = |bytes: Option<&[u8]>| match bytes {
        Some(_) => path.display().to_string(),
        None => "/dev/null".to_owned(),
    };
    let (old, new) = (text(before), text(after));
    let diff = TextDiff::from_lines(&old, &new);
    let mut unified = diff.unified_diff();
    let unified = unified.context_radius(3);
    unified.header(&name(before), &name(after)).to_string()
}
