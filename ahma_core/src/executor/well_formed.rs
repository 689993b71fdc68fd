//! Whether bytes are one JSON document, by the rules of the parser that reads them later. Must not keep any of it: documents are
//! large, and this is done beside the reading.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Any value, read and dropped.
struct Anything;

/// What is wrong with a document, if anything is.
pub(super) fn check(bytes: &[u8]) -> Result<(), serde_json::Error> {
    serde_json::from_slice::<Anything>(bytes).map(drop)
}

impl<'de> Deserialize<'de> for Anything {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }
}

impl<'de> Visitor<'de> for Anything {
    type Value = Anything;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self, A::Error> {
        while let Some(Anything) = elements.next_element()? {}
        Ok(self)
    }

    // Numbers come as objects of one field.
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self, A::Error> {
        while let Some((Anything, Anything)) = fields.next_entry()? {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn it_judges_as_the_parser_does() {
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let (within, beyond) = (deep(127), deep(129));
        for text in [
            "{}",
            "[1, 2.50, -3e400, null, true, \"a\\u00e9\"]",
            "0",
            "{\"a\": {\"a\": []}}",
            "",
            "{",
            "{\"a\" 1}",
            "[1,]",
            "{} {}",
            "01",
            "nul",
            "\"\\ud800\"",
            "\"\n\"",
            "{1: 2}",
            &within,
            &beyond,
        ] {
            let by_parser = serde_json::from_str::<Value>(text).map(drop);
            let by_parser = by_parser.map_err(|it| it.to_string());
            let here = check(text.as_bytes()).map_err(|it| it.to_string());
            assert_eq!(here, by_parser, "{text}");
        }
        assert!(check(b"\"\xff\"").is_err());
    }
}
