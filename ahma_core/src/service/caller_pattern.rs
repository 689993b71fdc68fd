//! Regular expressions that callers give. Bounded, so that none takes long to be made or to match.

use regex::{Regex, RegexBuilder};

use super::call_error::CallError;

/// Bytes of an expression: what is written decides what it takes to read it, before any other limit counts.
const MAX_LEN: usize = 1000;
/// One that is larger when it is compiled would match too slowly.
const MAX_COMPILED_BYTES: usize = 1 << 18;

/// The expression, or what is wrong with it; `what` names the argument.
pub(super) fn pattern(what: &str, text: &str) -> Result<Regex, CallError> {
    if text.len() > MAX_LEN {
        let length = text.len();
        return Err(CallError::new(format!(
            "{what}: the pattern has {length} bytes; at most {MAX_LEN} are allowed"
        )));
    }
    let built = RegexBuilder::new(text)
        .size_limit(MAX_COMPILED_BYTES)
        .build();
    built.map_err(|error| {
        CallError::new(format!(
            "{what}: the pattern is not a regular expression: {error}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: H20.
    #[test]
    fn an_expression_is_bounded_before_it_is_read() {
        assert!(pattern("p", "^a+$").unwrap().is_match("aaa"));
        let long = pattern("p", &"\\pL".repeat(1000)).unwrap_err().to_string();
        assert!(long.contains("at most 1000"), "{long}");
        assert!(
            pattern("p", "(")
                .unwrap_err()
                .to_string()
                .contains("not a regular")
        );
    }
}
