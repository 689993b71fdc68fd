//! Pages of long lists. A cursor says where it points to, so that nothing has to be remembered for a client, and a list that changes
//! between two pages loses nothing that was there before. Must not know what is listed.

use std::ops::Range;

use data_encoding::BASE64URL_NOPAD;
use rmcp::ErrorData;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Elements of one page: more than most clients ever have, since some of them read one page only.
const PAGE: usize = 500;
/// Bytes of a cursor.
const MAX_CURSOR_LEN: usize = 8 * 1024;

/// What a cursor says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cursor {
    /// The list it belongs to.
    list: String,
    /// The element before the page.
    after: String,
    /// Where the page began when the cursor was made.
    at: usize,
}

/// A page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// Which elements.
    pub(super) range: Range<usize>,
    /// The cursor of the next page.
    pub(super) next: Option<String>,
}

/// The page that a cursor names, or the first one.
pub(super) fn page<T>(
    list: &str,
    items: &[T],
    name: impl Fn(&T) -> String,
    cursor: Option<&str>,
) -> Result<Page, ErrorData> {
    let start = match cursor {
        None => 0,
        Some(text) => {
            let cursor = read(text).filter(|it| it.list == list);
            let Some(cursor) = cursor else {
                let why = format!(
                    "this cursor is none of {list}; leave it out to begin with the first page"
                );
                return Err(ErrorData::invalid_params(why, None));
            };
            let is_before = |at: usize| {
                let before = at.checked_sub(1).and_then(|it| items.get(it));
                before.is_some_and(|it| name(it) == cursor.after)
            };
            match is_before(cursor.at) {
                true => cursor.at,
                // Elements have come or gone meanwhile.
                false => {
                    let found = items.iter().position(|it| name(it) == cursor.after);
                    found.map_or(cursor.at.min(items.len()), |it| it + 1)
                }
            }
        }
    };
    let end = (start + PAGE).min(items.len());
    let last = items.get(start..end).and_then(<[T]>::last);
    let next = last.filter(|_| end < items.len()).map(|last| {
        let cursor = json!(Cursor {
            list: list.to_owned(),
            after: name(last),
            at: end,
        });
        BASE64URL_NOPAD.encode(cursor.to_string().as_bytes())
    });
    Ok(Page {
        range: start..end,
        next,
    })
}

/// Says in a list where the next page begins.
pub(super) fn name_next(list: &mut Value, next: Option<&str>) {
    if let Some(next) = next {
        list["nextCursor"] = json!(next);
    }
}

fn read(cursor: &str) -> Option<Cursor> {
    if cursor.len() > MAX_CURSOR_LEN {
        return None;
    }
    let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use rmcp::model::ErrorCode;

    use super::*;

    fn first(items: &[String], cursor: Option<&str>) -> Page {
        page("tools", items, String::clone, cursor).unwrap()
    }

    fn items(count: usize) -> Vec<String> {
        (0..count).map(|it| format!("t{it}")).collect()
    }

    /// Proves: P27.
    #[test]
    fn pages_follow_each_other_until_the_end() {
        let all = items(2 * PAGE + 1);
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = first(&all, cursor.as_deref());
            seen.extend_from_slice(&all[page.range]);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, all);
        assert_eq!(first(&items(PAGE), None).next, None);
        assert_eq!(first(&[], None).range, 0..0);
    }

    /// Proves: P27.
    #[test]
    fn a_list_that_changes_between_two_pages_loses_nothing() {
        let all = items(PAGE + 10);
        let cursor = first(&all, None).next.unwrap();
        let mut longer = all.clone();
        longer.insert(0, "new".to_owned());
        assert_eq!(first(&longer, Some(&cursor)).range, PAGE + 1..PAGE + 11);
        let mut shorter = all.clone();
        shorter.drain(..20);
        assert_eq!(first(&shorter, Some(&cursor)).range, PAGE - 20..PAGE - 10);
        let none = Vec::new();
        assert_eq!(first(&none, Some(&cursor)).range, 0..0);
    }

    /// Proves: P27.
    #[test]
    fn a_cursor_that_is_none_is_refused() {
        let all = items(PAGE + 10);
        let of_tools = first(&all, None).next.unwrap();
        let long = "A".repeat(MAX_CURSOR_LEN + 1);
        for (list, cursor) in [
            ("prompts", of_tools.as_str()),
            ("tools", "rubbish!"),
            ("tools", ""),
            ("tools", "e30"),
            ("tools", &long),
        ] {
            let refused = page(list, &all, String::clone, Some(cursor)).unwrap_err();
            assert_eq!(refused.code, ErrorCode::INVALID_PARAMS, "{cursor}");
        }
    }
}
