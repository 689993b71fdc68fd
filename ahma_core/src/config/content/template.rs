//! A text with places for values: `{name}`. Must not know where values come from.

/// A text with places for values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(String),
}

impl Template {
    /// Reads a text. What stands in braces and is none of the names is text, as in code; whatever could be a name is also given
    /// back, since it may be a mistake.
    pub(super) fn parse(text: &str, is_known: impl Fn(&str) -> bool) -> (Self, Vec<String>) {
        let (mut pieces, mut odd, mut plain) = (Vec::new(), Vec::new(), String::new());
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            let (before, from) = rest.split_at(start);
            plain.push_str(before);
            let inside = from.get(1..).and_then(|it| it.split_once('}'));
            match inside {
                Some((name, after)) if is_known(name) => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Value(name.to_owned()));
                    rest = after;
                }
                other => {
                    odd.extend(other.filter(|it| is_name(it.0)).map(|it| it.0.to_owned()));
                    plain.push('{');
                    rest = from.get(1..).unwrap_or_default();
                }
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        (Template { pieces }, odd)
    }

    /// The text with values in their places; one that there is none of is left out.
    pub fn filled<'v>(&self, value: impl Fn(&str) -> Option<&'v str>) -> String {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Value(name) => value(name).unwrap_or_default(),
        });
        pieces.collect()
    }

    /// Whether it has a place for a value.
    pub fn has_values(&self) -> bool {
        let mut pieces = self.pieces.iter();
        pieces.any(|it| matches!(it, Piece::Value(_)))
    }
}

/// Whether this can be the name of a value.
pub(super) fn is_name(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.starts_with(|first: char| is_letter(first) && !first.is_ascii_digit())
        && text.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_their_places_and_other_braces_are_text() {
        let text = "{a} and {b}: {\"x\": {1}} {c} {a";
        let (template, odd) = Template::parse(text, |it| ["a", "b"].contains(&it));
        assert_eq!(odd, ["c"]);
        let value = |name: &str| (name == "a").then_some("{b}");
        assert_eq!(
            template.filled(value),
            "{b} and : {\"x\": {1}} {c} {a",
            "a value is not read again, and one that is not there is left out"
        );
        assert!(template.has_values());
        assert!(!Template::parse("{}", |_| false).0.has_values());
    }
}
