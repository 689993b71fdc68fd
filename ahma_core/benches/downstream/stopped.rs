//! What servers cost that are known and do not run: memory, processes, and time until the first list.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use ahma_tests::processes_below;
use serde_json::{Map, Value, json};

use super::client::Server;
use super::{AHMA_MCP, middle, timed};

/// As many as a file can name: a hundred in each of its two lists.
const SERVERS: usize = 200;
/// As many as a zealous user has.
const FEW: usize = 25;
const ROUNDS: usize = 15;
/// What was used for the start is given back within this time.
const REST: Duration = Duration::from_millis(1500);

/// Some entries of the server in Python, in a file of their own, and what is kept of them.
struct Known<'p> {
    place: &'p Path,
    count: usize,
}

impl Known<'_> {
    fn write(&self, script: &Path) {
        let entry = json!({ "command": "python3", "args": [script] });
        let names = (0..self.count).map(|number| format!("s{number}"));
        let mut lists = [Map::new(), Map::new()];
        for (number, name) in names.enumerate() {
            lists[number / 100].insert(name, entry.clone());
        }
        let [servers, further] = lists.map(Value::Object);
        let config = json!({ "servers": servers, "mcpServers": further });
        fs::write(self.config(), config.to_string()).unwrap();
    }

    fn config(&self) -> std::path::PathBuf {
        self.place.join(format!("{}.json", self.count))
    }

    /// A server of ours that has listed its tools.
    fn start(&self, scope: &Path) -> Server {
        let mut server = self.begin(scope);
        server.list();
        server
    }

    /// The same before it has.
    fn begin(&self, scope: &Path) -> Server {
        let mut command = Command::new(AHMA_MCP);
        command.args(["--audit-log", "off", "--mcp-config"]);
        command.arg(self.config());
        command.env("XDG_STATE_HOME", self.place.join("state"));
        Server::begun(command, scope, ("status", "filter"), json!({}))
    }
}

pub(crate) fn measure(script: &Path) {
    let (scope, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let [none, few, all] = [0, FEW, SERVERS].map(|count| Known {
        place: place.path(),
        count,
    });
    for known in [&none, &few, &all] {
        known.write(script);
    }
    learn(&all, scope.path(), place.path());
    memory(scope.path(), [&none, &all]);
    first_list(scope.path(), [&none, &few]);
}

/// Has every server started once, so that something is known of it.
fn learn(all: &Known<'_>, scope: &Path, place: &Path) {
    let server = all.start(scope);
    let records = || {
        let found = files_below(&place.join("state"));
        found.iter().filter(|it| it.ends_with(".json")).count()
    };
    while records() < SERVERS {
        sleep(Duration::from_millis(100));
    }
    server.end();
}

/// Names of all files below a directory.
fn files_below(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let below = entries.flat_map(|entry| match entry.path().is_dir() {
        true => files_below(&entry.path()),
        false => vec![entry.file_name().to_string_lossy().into_owned()],
    });
    below.collect()
}

fn memory(scope: &Path, ways: [&Known<'_>; 2]) {
    let mut used: [Vec<f64>; 2] = Default::default();
    let mut after_list: [Vec<f64>; 2] = Default::default();
    let mut processes = [0, 0];
    for _ in 0..5 {
        for (at, known) in ways.iter().enumerate() {
            let mut server = known.begin(scope);
            sleep(REST);
            used[at].push(anonymous_kib(server.pid()));
            server.list();
            sleep(REST);
            after_list[at].push(anonymous_kib(server.pid()));
            processes[at] = processes_below(server.pid()).len();
            server.end();
        }
    }
    let each = |used: [Vec<f64>; 2]| {
        let [without, with] = used.map(middle);
        (with - without) / SERVERS as f64
    };
    println!(
        "{SERVERS} stopped servers of 13 tools: {:.1} KiB each, {:.1} with what the allocator keeps after all were listed; {} \
         processes more",
        each(used),
        each(after_list),
        processes[1] - processes[0]
    );
}

fn anonymous_kib(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find(|it| it.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// From the start of the program to its list of tools.
fn first_list(scope: &Path, ways: [&Known<'_>; 2]) {
    let mut times: [Vec<f64>; 2] = Default::default();
    for _ in 0..ROUNDS {
        for (known, times) in ways.iter().zip(&mut times) {
            let mut server = None;
            times.push(timed(|| server = Some(known.start(scope))));
            server.unwrap().end();
        }
    }
    let [without, with] = times.map(middle);
    println!(
        "start to first list: {without:.1} ms without other servers, {with:.1} ms with {FEW} that are known: +{:.1} ms",
        with - without
    );
}
