//! URIs of outputs of operations: `ahma://operation/{id}/output`, in parts with `offset` and `length`. Must not look whether there is
//! such an operation.

const BEFORE: &str = "ahma://operation/";
const BEHIND: &str = "/output";
/// Bytes of one part.
const MAX_PART: usize = 1024 * 1024;

/// A part of an output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutputPart {
    /// Of this operation.
    pub(crate) id: String,
    /// First byte.
    pub(crate) offset: u64,
    /// At most so many.
    pub(crate) length: usize,
}

/// The URI of the output of an operation.
pub(crate) fn uri(id: &str) -> String {
    format!("{BEFORE}{id}{BEHIND}")
}

/// The part that a URI names; none where it is no such URI.
pub(crate) fn part(uri: &str) -> Option<OutputPart> {
    let rest = uri.strip_prefix(BEFORE)?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let id = path.strip_suffix(BEHIND).filter(|it| !it.contains('/'))?;
    let mut part = OutputPart {
        id: id.to_owned(),
        offset: 0,
        length: MAX_PART,
    };
    for pair in query.split('&').filter(|it| !it.is_empty()) {
        match pair.split_once('=')? {
            ("offset", number) => part.offset = number.parse().ok()?,
            ("length", number) => part.length = number.parse().ok().filter(|it| *it > 0)?,
            _ => return None,
        }
    }
    part.length = part.length.min(MAX_PART);
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_from_uris() {
        let part_of = |uri: &str| part(uri).map(|it| (it.id, it.offset, it.length));
        let uri = uri("op_1");
        assert_eq!(part_of(&uri), Some(("op_1".to_owned(), 0, MAX_PART)));
        let with = |query: &str| part_of(&format!("{uri}{query}"));
        assert_eq!(with("?offset=5&length=7"), Some(("op_1".to_owned(), 5, 7)));
        assert_eq!(with("?length=99999999").unwrap().2, MAX_PART);
        for query in [
            "?offset=x",
            "?offset",
            "?length=0",
            "?more=1",
            "/",
            "?offset=-1",
        ] {
            assert_eq!(with(query), None, "{query}");
        }
        assert_eq!(part_of("ahma://operation/a/b/output"), None);
        assert_eq!(part_of("docs://operation/a/output"), None);
    }
}
