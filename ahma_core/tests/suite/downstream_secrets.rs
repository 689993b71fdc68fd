//! No secret of an `mcp.json` is shown, whatever else is wrong with the file.

use std::fmt::Write as _;

use ahma_core::config::downstream::load;
use ahma_core::config::files::SourceFile;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Everything that anybody could print of a file, in one text.
fn everything_shown(text: &[u8]) -> String {
    let config = load(
        SourceFile {
            path: "/etc/ahma/mcp.json".into(),
            content: Ok(text.to_vec()),
        },
        None,
    );
    let mut shown = format!("{config:?}\n{config:#?}\n{}", config.text);
    for fault in &config.faults {
        let _ = writeln!(
            shown,
            "{} {:?} {}",
            fault.message, fault.hint, fault.pointer
        );
    }
    shown
}

/// A secret in one of the shapes in which people write one.
fn shape(secret: &str, shape: usize) -> Value {
    match shape {
        0 => json!(secret),
        1 => json!(format!("Bearer {secret} ${{env:TOKEN}}")),
        2 => json!(format!("${{env:TOKEN}}{secret}${{")),
        3 => json!(format!("${{{secret}}}")),
        4 => json!(format!("${{{secret}:X}}")),
        5 => json!(format!("${{command:curl -H {secret}}}")),
        6 => json!([secret]),
        7 => json!({ "nested": secret }),
        8 => json!(format!("{secret}\u{0}")),
        _ => json!(format!("{secret}\r\nX: ü")),
    }
}

/// A file with the secret in one of the places for it, or in one that was meant to be it.
fn file(value: &Value, place: usize) -> Value {
    let entry = match place {
        0 => json!({ "command": "a", "env": { "KEY": value } }),
        1 => json!({ "command": "a", "env": value }),
        2 => json!({ "url": "https://a.example", "headers": { "X-Key": value } }),
        3 => json!({ "url": "https://a.example", "headers": value }),
        4 => json!({ "url": "https://a.example", "oauth": { "client_secret": value } }),
        5 => {
            json!({ "url": "https://a.example", "oauth": { "clientSecret": value, "other": value } })
        }
        6 => json!({ "url": "https://a.example", "oauth": value }),
        7 => json!({ "url": "https://a.example", "atlassian_client_secret": value }),
        8 => json!({ "command": "a", "enviroment": { "KEY": value } }),
        9 => json!({ "type": "sse", "url": "https://a.example", "headers": { "X-Key": value } }),
        10 => {
            json!({ "command": "a", "args": 1, "env": { "KEY": value }, "headers": { "K": value } })
        }
        _ => json!({ "type": "managed_http", "command": "a", "env": { "KEY": value } }),
    };
    json!({ "servers": { "a": entry, "b": { "env": { "KEY": value } } }, "inputs": [value] })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_secret_is_shown(
        secret in "[A-Za-z0-9+/_.-]{3}[A-Z0-9]{8}",
        form in 0..10_usize,
        place in 0..12_usize,
        is_pretty in any::<bool>(),
        cut in proptest::option::of(0.0..1.0_f64),
        quote in proptest::option::of(0.0..1.0_f64),
    ) {
        let document = file(&shape(&secret, form), place);
        let mut text = if is_pretty { format!("{document:#}") } else { document.to_string() };
        let at = |part: f64, text: &str| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in a short text")]
            let place = (part * text.len() as f64) as usize;
            text.floor_char_boundary(place)
        };
        if let Some(part) = cut {
            text.truncate(at(part, &text));
        }
        if let Some(part) = quote {
            text.insert(at(part, &text), '"');
        }
        let shown = everything_shown(text.as_bytes());
        // The end of the secret alone is as bad, and survives a quote in the middle of it.
        for part in [secret.as_str(), &secret[secret.len() - 4..]] {
            prop_assert!(!shown.contains(part), "{part} is shown:\n{text}\n{shown}");
        }
    }

    #[test]
    fn no_number_is_shown_where_a_secret_belongs(number in 10_000_000_u64.., place in 0..12_usize) {
        let text = file(&json!(number), place).to_string();
        let shown = everything_shown(text.as_bytes());
        prop_assert!(!shown.contains(&number.to_string()), "{text}\n{shown}");
    }
}

#[test]
fn bytes_that_are_no_text_are_not_shown() {
    let mut text = file(&json!("hunter2"), 0).to_string().into_bytes();
    text.push(0xff);
    assert!(!everything_shown(&text).contains("hunter2"));
}
