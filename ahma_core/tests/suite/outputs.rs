//! Outputs of any size: exact counts, nothing lost below the limit, and an honest word above it.

use std::sync::Arc;

use ahma_core::internal::{INLINE_LIMIT, Output, PageRequest, SearchHit, SpoolBudget, SpoolPlace};
use regex::Regex;
use tempfile::TempDir;

fn numbered_lines(count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|number| format!("line {number}\n").into_bytes())
        .collect()
}

async fn filled(directory: &TempDir, limit: u64, bytes: &[u8]) -> Output {
    let place = SpoolPlace::new(directory.path(), Arc::default());
    let output = Output::new(place.with_limit(limit));
    for chunk in bytes.chunks(10_000) {
        output.append(chunk.to_vec()).await.unwrap();
    }
    output
}

/// Proves: O13.
#[tokio::test]
async fn a_large_output_can_be_read_back_page_by_page() {
    let directory = TempDir::new().unwrap();
    let text = "grüße 工具 🦀\n".repeat(20_000);
    let output = filled(&directory, u64::MAX, text.as_bytes()).await;
    assert_eq!(output.totals().bytes, text.len() as u64);
    assert_eq!(output.totals().lines, 20_000);
    let mut read = String::new();
    let mut offset = 0;
    loop {
        let page = output
            .page(PageRequest::From {
                offset,
                length: 7_001,
            })
            .await
            .unwrap();
        assert_eq!(page.offset, offset);
        assert!(!page.lost_before);
        if page.text.is_empty() {
            break;
        }
        read.push_str(&page.text);
        offset = page.end;
    }
    assert_eq!(read, text);
}

#[tokio::test]
async fn nothing_is_left_on_disk() {
    let directory = TempDir::new().unwrap();
    let output = filled(&directory, u64::MAX, &numbered_lines(50_000)).await;
    assert_eq!(
        std::fs::read_dir(directory.path()).unwrap().count(),
        0,
        "the file has no name"
    );
    assert!(
        output
            .page(PageRequest::Tail { length: 10 })
            .await
            .unwrap()
            .text
            .ends_with("49999\n")
    );
}

/// Proves: O11.
#[tokio::test]
async fn beyond_the_limit_the_end_stays_readable_and_the_middle_is_named_lost() {
    let directory = TempDir::new().unwrap();
    let bytes = numbered_lines(50_000);
    let limit = 100_000;
    let output = filled(&directory, limit, &bytes).await;
    assert_eq!(output.totals().bytes, bytes.len() as u64);
    let kept = output
        .page(PageRequest::From {
            offset: limit - 20,
            length: 1000,
        })
        .await
        .unwrap();
    assert_eq!((kept.end, kept.lost_before), (limit, false));
    let lost = output
        .page(PageRequest::From {
            offset: limit,
            length: 1000,
        })
        .await
        .unwrap();
    assert!(lost.lost_before && lost.offset > limit, "{lost:?}");
    let tail = output
        .page(PageRequest::Tail { length: 1000 })
        .await
        .unwrap();
    assert_eq!((tail.lost_before, tail.end), (false, bytes.len() as u64));
    assert_eq!(tail.text.as_bytes(), &bytes[bytes.len() - 1000..]);
}

/// Proves: O13.
#[tokio::test]
async fn lines_are_found_with_their_numbers_and_offsets() {
    let directory = TempDir::new().unwrap();
    let bytes = numbered_lines(50_000);
    let output = filled(&directory, u64::MAX, &bytes).await;
    let (hits, count) = output
        .search(&Regex::new("^line 4999[89]$").unwrap())
        .await
        .unwrap();
    let offset = |number: usize| numbered_lines(number).len() as u64;
    assert_eq!(
        hits,
        [
            SearchHit {
                line: 49_999,
                offset: offset(49_998),
                text: "line 49998".to_owned()
            },
            SearchHit {
                line: 50_000,
                offset: offset(49_999),
                text: "line 49999".to_owned()
            },
        ]
    );
    assert_eq!(count, 2);
    let (hits, count) = output.search(&Regex::new("line").unwrap()).await.unwrap();
    assert_eq!(
        (hits.len(), count),
        (200, 50_000),
        "listed up to a limit, counted to the end"
    );
}

#[tokio::test]
async fn one_endless_line_is_searched_without_being_held() {
    let directory = TempDir::new().unwrap();
    let mut bytes = vec![b'x'; 5 << 20];
    bytes.extend(b"needle");
    let output = filled(&directory, u64::MAX, &bytes).await;
    assert_eq!(output.totals().lines, 1);
    let (hits, count) = output.search(&Regex::new("needle").unwrap()).await.unwrap();
    assert_eq!((hits.len(), count), (1, 1));
    assert_eq!(hits[0].line, 1);
}

#[tokio::test]
async fn what_is_shown_and_what_is_left_out_make_up_the_whole() {
    let directory = TempDir::new().unwrap();
    let bytes = numbered_lines(50_000);
    let output = filled(&directory, u64::MAX, &bytes).await;
    let rendered = output.render(|offset, length| format!("offset {offset} length {length}"));
    let gap = rendered.left_out.unwrap();
    assert!(rendered.text.len() < INLINE_LIMIT + 200);
    let (before, rest) = rendered.text.split_once("[…").unwrap();
    let (_, after) = rest.split_once("…]\n").unwrap();
    let from = usize::try_from(gap.start).unwrap();
    let to = usize::try_from(gap.end).unwrap();
    assert_eq!(
        before.trim_end_matches('\n').as_bytes(),
        bytes[..from].strip_suffix(b"\n").unwrap_or(&bytes[..from])
    );
    assert_eq!(after.as_bytes(), &bytes[to..]);
}

#[tokio::test]
async fn a_page_beyond_the_end_is_empty() {
    let directory = TempDir::new().unwrap();
    let output = filled(&directory, u64::MAX, b"abc").await;
    let page = output
        .page(PageRequest::From {
            offset: 99,
            length: 10,
        })
        .await
        .unwrap();
    assert_eq!((page.text.as_str(), page.offset, page.end), ("", 3, 3));
}

async fn appended(output: &Output, bytes: &[u8]) {
    for chunk in bytes.chunks(10_000) {
        output.append(chunk.to_vec()).await.unwrap();
    }
}

async fn page_at(output: &Output, offset: u64) -> (u64, bool, String) {
    let page = PageRequest::From { offset, length: 12 };
    let page = output.page(page).await.unwrap();
    (page.offset, page.lost_before, page.text)
}

/// Proves: O12.
#[tokio::test]
async fn when_the_disk_is_used_up_the_oldest_finished_output_gives_way() {
    let directory = TempDir::new().unwrap();
    let text = numbered_lines(100_000);
    let size = text.len() as u64;
    let budget = Arc::new(SpoolBudget::new(size * 5 / 2));
    let output = || Output::new(SpoolPlace::new(directory.path(), Arc::clone(&budget)));
    let (first, second, third) = (output(), output(), output());
    for output in [&first, &second] {
        appended(output, &text).await;
        output.finish();
    }
    assert_eq!(budget.used(), size * 2);
    let middle = size / 2;
    assert!(!page_at(&first, middle).await.1);

    appended(&third, &text).await;
    assert_eq!(budget.used(), size * 2, "never more than the limit");
    let (offset, lost, _) = page_at(&first, middle).await;
    assert!(lost && offset > middle, "the first gave way, and says so");
    assert_eq!(
        page_at(&first, 0).await,
        (0, false, "line 0\nline ".to_owned())
    );
    assert_eq!(first.totals().bytes, size, "its counts stay");
    assert!(
        !page_at(&second, middle).await.1,
        "the second was not needed"
    );
    assert!(!page_at(&third, middle).await.1);

    drop((first, second, third));
    assert_eq!(budget.used(), 0);
}

/// Proves: O12.
#[tokio::test]
async fn what_is_still_being_written_never_gives_way() {
    let directory = TempDir::new().unwrap();
    let text = numbered_lines(100_000);
    let size = text.len() as u64;
    let budget = Arc::new(SpoolBudget::new(size * 3 / 2));
    let output = || Output::new(SpoolPlace::new(directory.path(), Arc::clone(&budget)));
    let (running, late) = (output(), output());
    appended(&running, &text).await;
    appended(&late, &text).await;
    assert!(budget.used() <= size * 3 / 2);
    assert!(!page_at(&running, size / 2).await.1);
    assert!(
        !page_at(&late, size / 3).await.1,
        "as much as there was room for"
    );
    assert!(page_at(&late, size * 2 / 3).await.1);
    let shown = late.render(|_, _| String::new()).text;
    assert!(shown.starts_with("line 0\n") && shown.ends_with("line 99999\n"));
}
