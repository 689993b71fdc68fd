//! Outputs that are too long for one result: what the marker and the pages say is what reads the rest.

use super::*;

/// The number behind a word of a message.
fn number_after(text: &str, word: &str) -> Option<u64> {
    let (_, rest) = text.split_once(word)?;
    let digits = rest
        .trim_start()
        .split(|letter: char| !letter.is_ascii_digit());
    digits.into_iter().next()?.parse().ok()
}

fn marker(result: &str) -> &str {
    result.lines().find(|it| it.starts_with("[…")).unwrap()
}

/// A page as `read_output` shows it: its text, and what is said of it.
fn page(served: &mut Served, arguments: &Value) -> (String, String) {
    let result = served.client.call("read_output", arguments);
    assert!(!result.is_error, "{}", result.text);
    let (text, note) = result.text.rsplit_once('\n').unwrap_or(("", &result.text));
    (text.to_owned(), note.to_owned())
}

/// Proves: O13.
#[test]
fn the_marker_of_a_short_gap_reads_all_of_it_in_one_call() {
    let mut served = Served::new();
    // Lines of 20 letters and the line end: neither cut of the gap is at a line end by itself.
    let result = served.sync("seq -f '%020.0f' 1 4000");
    let marker = marker(&result.text);
    let offset = number_after(marker, ", offset ").unwrap();
    let length = number_after(marker, " length ").unwrap();
    assert_eq!((offset % 21, length % 21), (0, 0), "{marker}");
    assert!(marker.ends_with("reads them …]"), "{marker}");
    let asked =
        json!({ "operation_id": result.operation_id(), "offset": offset, "length": length });
    let (text, note) = page(&mut served, &asked);
    let shown = result.text.replace(&format!("{marker}\n"), &text);
    let all: String = (1..=4000).map(|it| format!("{it:020}\n")).collect();
    assert!(shown.starts_with(&format!("{all}[op_")), "{note}");
}

/// Proves: O13.
#[test]
fn the_marker_of_a_long_gap_and_the_pages_after_it_lead_through_all_of_it() {
    let mut served = Served::new();
    let result = served.sync("seq -f '%020.0f' 1 20000");
    let marker = marker(&result.text);
    let first = number_after(marker, ", offset ").unwrap();
    let longest = number_after(marker, " length ").unwrap();
    assert!(marker.ends_with("reads the first of them and says where to go on …]"));
    let id = result.operation_id();
    let mut asked = json!({ "operation_id": id, "offset": first, "length": longest });
    let mut read = String::new();
    let mut offset = first;
    loop {
        let (text, note) = page(&mut served, &asked);
        assert!(note.starts_with(&format!("[bytes {offset} to ")), "{note}");
        read.push_str(&text);
        let Some(next) = number_after(&note, "; more from offset ") else {
            break;
        };
        assert_eq!(next % 21, 0, "a page ends with a line: {note}");
        offset = next;
        asked = json!({ "operation_id": id, "offset": offset });
    }
    let all: String = (1..=20_000).map(|it| format!("{it:020}\n")).collect();
    assert_eq!(read, all[usize::try_from(first).unwrap()..]);
}

#[test]
fn lines_that_go_on_say_from_which_line() {
    let mut served = Served::new();
    let id = served
        .sync("seq 1 300; head -c 60000 /dev/zero | tr '\\0' x")
        .operation_id();
    for (line, lines, note) in [
        (1, 200, "[lines 1 to 200 of 301; more from line 201 on]"),
        (201, 100, "[lines 201 to 300 of 301; more from line 301 on]"),
        (
            301,
            1,
            "[lines 301 to 301 of 301; this line is longer than can be shown, offsets read the rest]",
        ),
        (302, 1, "[no lines of 301]"),
    ] {
        let asked = json!({ "operation_id": id, "line": line, "lines": lines });
        assert_eq!(page(&mut served, &asked).1, note);
    }
}

/// Proves: O7.
#[test]
fn a_long_output_is_shown_in_part_and_can_be_read_and_searched() {
    let mut served = Served::new();
    let result = served.sync("seq 1 200000");
    assert!(result.text.starts_with("1\n2\n3\n") && result.text.contains("\n200000\n[op_"));
    assert!(result.text.len() < 50_000, "{}", result.text.len());
    assert_eq!(result.record["truncated"], true);
    assert_eq!(result.record["output_bytes"], 1_288_895);
    let id = result.operation_id();
    let page = served.client.call(
        "read_output",
        &json!({ "operation_id": id, "offset": 588_895, "length": 14 }),
    );
    assert_eq!(
        page.text,
        "100001\n100002\n\n[bytes 588895 to 588909 of 1288895 in 200000 lines; more from offset 588909 on]"
    );
    let tail = served
        .client
        .call("read_output", &json!({ "operation_id": id, "tail": 7 }));
    assert!(tail.text.starts_with("200000\n"), "{}", tail.text);
    let found = served.client.call(
        "read_output",
        &json!({ "operation_id": id, "pattern": "^19999[89]$" }),
    );
    assert!(
        found.text.starts_with("line 199998, offset "),
        "{}",
        found.text
    );
    assert!(
        found
            .text
            .ends_with("[2 of 200000 lines match, 2 are shown]"),
        "{}",
        found.text
    );
}
