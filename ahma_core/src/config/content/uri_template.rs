//! URIs of a family of resources: `docs://pages/{page}`. Finds the values in a URI. Must not know what they are used for.
//!
//! Of RFC 6570 it takes what can be read backwards without doubt: `{name}`, which stands for one part of a path, and `{+name}`,
//! which may hold slashes.

use regex::{Regex, RegexBuilder};

use super::super::limits;
use super::template::is_name;

/// URIs of a family.
#[derive(Debug, Clone)]
pub struct UriTemplate {
    text: String,
    names: Vec<String>,
    pattern: Regex,
}

impl UriTemplate {
    /// Reads one, or says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (mut pattern, mut names) = (String::from("^"), Vec::new());
        let mut rest = text;
        let mut follows_another = false;
        while let Some(start) = rest.find('{') {
            let (before, from) = rest.split_at(start);
            if before.is_empty() && follows_another {
                return Err(
                    "two variables stand beside each other, so that nobody knows where one ends"
                        .to_owned(),
                );
            }
            pattern.push_str(&regex::escape(before));
            let Some((inside, after)) = from[1..].split_once('}') else {
                return Err("a brace is not closed".to_owned());
            };
            let (name, values) = match inside.strip_prefix('+') {
                Some(name) => (name, "(.+?)"),
                None => (inside, "([^/?#]+?)"),
            };
            if !is_name(name) {
                return Err(format!("`{{{inside}}}` is no variable"));
            }
            if names.iter().any(|it| it == name) {
                return Err(format!("the variable `{name}` stands in it twice"));
            }
            names.push(name.to_owned());
            pattern.push_str(values);
            follows_another = true;
            rest = after;
        }
        if names.is_empty() {
            return Err("it has no variable".to_owned());
        }
        if rest.contains('}') {
            return Err("a brace is closed that was not opened".to_owned());
        }
        pattern.push_str(&regex::escape(rest));
        pattern.push('$');
        let built = RegexBuilder::new(&pattern)
            .size_limit(limits::PATTERN_MEMORY)
            .build();
        Ok(UriTemplate {
            text: text.to_owned(),
            names,
            pattern: built.map_err(|_| "it is too long".to_owned())?,
        })
    }

    /// As its author wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of its variables.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The values in a URI of this family; none in any other.
    pub fn values(&self, uri: &str) -> Option<Vec<(String, String)>> {
        let found = self.pattern.captures(uri)?;
        let values = found
            .iter()
            .skip(1)
            .map(|it| it.map(|it| decoded(it.as_str())));
        let values = values.collect::<Option<Option<Vec<String>>>>()??;
        Some(self.names.iter().cloned().zip(values).collect())
    }
}

/// Without percent signs; none where that is no text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |it: Option<u8>| char::from(it?).to_digit(16);
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(template: &str, uri: &str) -> Option<Vec<String>> {
        let values = UriTemplate::parse(template).unwrap().values(uri)?;
        Some(values.into_iter().map(|(_, value)| value).collect())
    }

    #[test]
    fn values_are_found_in_a_uri() {
        for (template, uri, expected) in [
            ("a://b/{id}/data", "a://b/123/data", Some(vec!["123"])),
            ("a://b/{id}/data", "a://b/1/2/data", None),
            ("a://b/{id}", "a://b/", None),
            ("a://b/{id}", "a://c/1", None),
            ("a://{+path}", "a://x/y.md", Some(vec!["x/y.md"])),
            ("a://{x}/{+y}", "a://1/2/3", Some(vec!["1", "2/3"])),
            ("a.b/{x}", "axb/1", None),
            ("a/{x}", "a/%C3%A4%20b", Some(vec!["ä b"])),
            ("a/{x}", "a/%2e%2e", Some(vec![".."])),
            ("a/{x}", "a/%zz", None),
            ("a/{x}", "a/%ff", None),
        ] {
            let expected = expected.map(|it| it.into_iter().map(str::to_owned).collect());
            assert_eq!(values(template, uri), expected, "{template} {uri}");
        }
    }

    #[test]
    fn templates_that_cannot_be_read_backwards_are_refused() {
        for template in [
            "a",
            "a/{",
            "a/{x}{y}",
            "a/{x}/{x}",
            "a/{?x}",
            "a/{1}",
            "a/{x}}",
            "{}",
        ] {
            assert!(UriTemplate::parse(template).is_err(), "{template}");
        }
    }
}
