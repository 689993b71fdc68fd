//! JSON as people and programs write it: any tree, with any white space, comments and commas between its tokens.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A text, and whether JSON proper is all that it is.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) text: String,
}

/// Files of clients: with or without entries, in any layout.
pub(crate) fn file(list: &'static str) -> impl Strategy<Value = Written> {
    let entries = prop_oneof![
        Just(None),
        Just(Some(json!({}))),
        vec(("[a-z]{1,6}", tree()), 1..4).prop_map(|it| Some(object(it))),
        Just(Some(
            json!({ "other": { "command": "npx", "args": ["-y", "x"], "env": { "K": "v" } } })
        )),
    ];
    let others = vec((key(), tree()), 0..5);
    let layout = (
        prop_oneof![Just("\n"), Just("\r\n")],
        prop_oneof![Just("  "), Just("    "), Just("\t"), Just(""), Just("   ")],
        any::<bool>(),
        // How wild it is: not at all, as programs write it, as people do.
        0..3u8,
        vec(any::<u8>(), 1..64),
    );
    (entries, others, any::<bool>(), layout).prop_map(
        move |(entries, others, is_first, (newline, unit, has_mark, wildness, noise))| {
            let mut fields: Vec<(String, Value)> = others;
            fields.retain(|(name, _)| name != list);
            if let Some(entries) = entries {
                let at = if is_first { 0 } else { fields.len() };
                fields.insert(at, (list.to_owned(), entries));
            }
            let mut writer = Writer {
                text: String::new(),
                newline,
                unit,
                wildness,
                noise: noise.into_iter().cycle().collect_noise(4096),
            };
            writer.value(&object(fields), 0);
            writer.end();
            let mark = if has_mark { "\u{feff}" } else { "" };
            let text = format!("{mark}{}", writer.text);
            Written { text }
        },
    )
}

trait CollectNoise: Iterator<Item = u8> + Sized {
    fn collect_noise(self, len: usize) -> Vec<u8> {
        // Not the same at every turn.
        self.take(len)
            .enumerate()
            .map(|(at, it)| it.wrapping_add((at / 7) as u8))
            .collect()
    }
}

impl<I: Iterator<Item = u8>> CollectNoise for I {}

fn key() -> impl Strategy<Value = String> {
    const KNOWN: [&str; 5] = ["theme", "features", "a b", "q\"x", "ключ"];
    prop_oneof![
        proptest::sample::select(KNOWN.as_slice()).prop_map(str::to_owned),
        "[a-zA-Z.]{1,8}"
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~]{0,10}".prop_map(Value::from),
        Just(Value::from("// no comment, /* nor this */ }")),
        Just(json!(1.5e300)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((key(), inner), 0..4).prop_map(object),
        ]
    })
}

fn object(fields: Vec<(String, Value)>) -> Value {
    Value::Object(fields.into_iter().collect::<Map<_, _>>())
}

struct Writer {
    text: String,
    newline: &'static str,
    unit: &'static str,
    wildness: u8,
    noise: Vec<u8>,
}

impl Writer {
    fn pick(&mut self, of: u8) -> u8 {
        self.noise.pop().unwrap_or_default() % of
    }

    fn line(&mut self, depth: usize) {
        self.text.push_str(self.newline);
        self.text.push_str(&self.unit.repeat(depth));
    }

    /// What stands between two tokens.
    fn gap(&mut self, depth: usize, usual: &str) {
        if self.wildness < 2 {
            match usual {
                "line" if self.wildness == 1 => self.line(depth),
                "line" => {}
                usual => self.text.push_str(usual),
            }
            return;
        }
        match self.pick(9) {
            0 => {}
            1 => self.text.push(' '),
            2 => {
                self.text.push_str(" // it's \"so\", {");
                self.line(depth);
            }
            3 => self.text.push_str(" /* } , */ "),
            4 => {
                self.text.push_str("/* two");
                self.line(depth);
                self.text.push_str("lines */");
            }
            5 => {
                self.text.push_str(self.newline);
                self.line(depth);
            }
            _ if usual == "line" => self.line(depth),
            _ => self.text.push_str(usual),
        }
    }

    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Object(fields) => {
                self.text.push('{');
                for (at, (name, value)) in fields.iter().enumerate() {
                    self.gap(depth + 1, "line");
                    self.text.push_str(&Value::from(name.as_str()).to_string());
                    self.gap(depth + 1, "");
                    self.text.push(':');
                    self.gap(depth + 1, " ");
                    self.value(value, depth + 1);
                    self.comma(at + 1 == fields.len(), depth + 1);
                }
                self.close(fields.is_empty(), '}', depth);
            }
            Value::Array(items) => {
                self.text.push('[');
                for (at, item) in items.iter().enumerate() {
                    self.gap(depth + 1, "line");
                    self.value(item, depth + 1);
                    self.comma(at + 1 == items.len(), depth + 1);
                }
                self.close(items.is_empty(), ']', depth);
            }
            scalar => self.text.push_str(&scalar.to_string()),
        }
    }

    fn comma(&mut self, is_last: bool, depth: usize) {
        if !is_last || (self.wildness == 2 && self.pick(3) == 0) {
            self.gap(depth, "");
            self.text.push(',');
        }
    }

    fn close(&mut self, is_empty: bool, with: char, depth: usize) {
        let usual = if is_empty { "" } else { "line" };
        self.gap(depth, usual);
        self.text.push(with);
    }

    fn end(&mut self) {
        if self.pick(3) > 0 {
            self.text.push_str(self.newline);
        }
        if self.wildness == 2 && self.pick(3) == 0 {
            self.text.push_str("// the end");
            self.text.push_str(self.newline);
        }
    }
}
