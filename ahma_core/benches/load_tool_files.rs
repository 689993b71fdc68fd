//! Loading and judging 1,000 tool files, beside the least anyone could do with them: reading the
//! files and parsing them to plain JSON values.
//!
//! `cargo bench -p ahma_core --bench load_tool_files` prints both times and their ratio.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark may block, print and fail"
)]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use ahma_core::config::files::{Selection, read_directory};
use ahma_core::config::load;
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::Value;

const FILES: usize = 1_000;

/// A directory of tool files: the shipped ones over and over, each tool under a name of its own.
fn tool_files() -> tempfile::TempDir {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools");
    let mut originals: Vec<Value> = Vec::new();
    for entry in fs::read_dir(shipped).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        originals.push(serde_json::from_str(&text).unwrap());
    }
    let directory = tempfile::tempdir().unwrap();
    for number in 0..FILES {
        let mut tool = originals[number % originals.len()].clone();
        tool["name"] = format!("t{number}").into();
        let path = directory.path().join(format!("t{number}.json"));
        fs::write(path, format!("{tool:#}")).unwrap();
    }
    directory
}

fn load_all(directory: &Path) {
    let catalog = load(
        read_directory(directory, Selection::Every).unwrap(),
        &ahma_core::server_facts(),
    );
    assert_eq!((catalog.files.len(), catalog.rejected.len()), (FILES, 0));
    black_box(catalog);
}

fn parse_all(directory: &Path) {
    let mut values = Vec::with_capacity(FILES);
    for entry in fs::read_dir(directory).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        values.push(serde_json::from_slice::<Value>(&bytes).unwrap());
    }
    black_box(values);
}

fn benchmark(criterion: &mut Criterion) {
    let directory = tool_files();
    let mut group = criterion.benchmark_group("1000 tool files");
    group.sample_size(20);
    group.bench_function("read and parse to values", |bencher| {
        bencher.iter(|| parse_all(directory.path()));
    });
    group.bench_function("load and check", |bencher| {
        bencher.iter(|| load_all(directory.path()));
    });
    group.finish();
    print_ratio(directory.path());
}

/// The ratio the project promises, from runs taken in turn so that noise hits both alike.
fn print_ratio(directory: &Path) {
    let mut loads = Vec::new();
    let mut parses = Vec::new();
    for _ in 0..15 {
        loads.push(time(|| load_all(directory)));
        parses.push(time(|| parse_all(directory)));
    }
    let (load, parse) = (median(loads), median(parses));
    let ratio = load.as_secs_f64() / parse.as_secs_f64();
    println!(
        "load and check {load:.1?}, read and parse {parse:.1?}: {ratio:.2} times (promised: at most 5)"
    );
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

criterion_group!(benches, benchmark);
criterion_main!(benches);
