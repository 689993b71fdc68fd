//! A trace of messages for whoever looks for a fault: who sent what, pretty-printed.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From a client.
    FromClient,
    /// To a client.
    ToClient,
    /// From what runs below the server.
    Error,
}

impl Direction {
    fn prefix(self) -> &'static str {
        match self {
            Direction::FromClient => "→ STDIN:",
            Direction::ToClient => "← STDOUT:",
            Direction::Error => "⚠ STDERR:",
        }
    }

    fn colour(self) -> &'static str {
        match self {
            Direction::FromClient => "\x1b[36m",
            Direction::ToClient => "\x1b[32m",
            Direction::Error => "\x1b[33m",
        }
    }
}

/// Shows messages.
#[derive(Clone)]
pub struct MessageTrace {
    is_coloured: bool,
    write: Arc<dyn Fn(&str) + Send + Sync>,
}

impl MessageTrace {
    /// Shows them by writing whole texts.
    pub fn new(is_coloured: bool, write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        MessageTrace {
            is_coloured,
            write: Arc::new(write),
        }
    }

    /// Shows a text: JSON in lines, anything else as it is.
    pub fn show(&self, direction: Direction, text: &[u8]) {
        let json = serde_json::from_slice::<Value>(text);
        let body = match &json {
            Ok(json) => format!("{json:#}"),
            Err(_) => String::from_utf8_lossy(text).into_owned(),
        };
        let prefix = direction.prefix();
        let mut shown = String::with_capacity(body.len() + 32);
        let _ = match self.is_coloured {
            true => writeln!(shown, "{}{prefix}\x1b[0m\n{body}", direction.colour()),
            false => writeln!(shown, "{prefix}\n{body}"),
        };
        (self.write)(&shown);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn shown(is_coloured: bool, direction: Direction, text: &str) -> String {
        let written = Arc::new(Mutex::new(String::new()));
        let writer = Arc::clone(&written);
        let trace = MessageTrace::new(is_coloured, move |text| {
            writer.lock().unwrap().push_str(text);
        });
        trace.show(direction, text.as_bytes());
        written.lock().unwrap().clone()
    }

    /// Proves: H5.
    #[test]
    fn json_is_shown_in_lines_with_two_spaces() {
        assert_eq!(
            shown(false, Direction::FromClient, r#"{"b":[1],"a":{}}"#),
            "→ STDIN:\n{\n  \"b\": [\n    1\n  ],\n  \"a\": {}\n}\n"
        );
    }

    /// Proves: H5.
    #[test]
    fn what_is_no_json_is_shown_as_it_is() {
        assert_eq!(
            shown(false, Direction::Error, "{ oh: no "),
            "⚠ STDERR:\n{ oh: no \n"
        );
    }

    /// Proves: H5.
    #[test]
    fn each_direction_has_a_colour() {
        assert_eq!(
            shown(true, Direction::ToClient, "1"),
            "\x1b[32m← STDOUT:\x1b[0m\n1\n"
        );
    }
}
