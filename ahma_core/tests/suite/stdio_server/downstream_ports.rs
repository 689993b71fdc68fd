//! Ports of servers that we start: whoever was there first is not taken for the server.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use ahma_tests::until;
use serde_json::json;

use super::behind::{Behind, entry, names};

/// A server of somebody else. It ends with this.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Other {
    fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

fn other(port: u16, log: &Path) -> Other {
    let words = entry(&[
        "--name=impostor",
        &format!("--http={port}"),
        &format!("--log={}", log.display()),
    ]);
    let args = words["args"].as_array().unwrap().iter();
    let child = Command::new("python3")
        .args(args.map(|it| it.as_str().unwrap()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Other(child.unwrap())
}

fn is_listened_on(port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let address = format!(":{port:04X} 00000000:0000 0A");
    table.lines().any(|line| line.contains(&address))
}

/// Proves: C39.
#[test]
fn whoever_listens_on_a_port_already_is_not_spoken_to_in_the_place_of_the_server() {
    let entry = {
        let mut entry = entry(&["--http=${PORT}"]);
        entry["type"] = json!("managed_http");
        entry
    };
    let behind = Behind::new(&json!({ "up": entry }));
    // Where another test was faster, somebody else listens as well, or has just gone.
    let mut others: Vec<(u16, Other)> = (50_000..50_005)
        .map(|port| (port, other(port, &behind.log())))
        .collect();
    until(|| {
        let mut is_there = others.iter_mut();
        is_there.all(|(port, it)| is_listened_on(*port) || it.has_ended())
    });
    others.retain_mut(|(_, it)| !it.has_ended());
    assert!(!others.is_empty(), "all of these ports were taken");
    let mut client = behind.start();
    let names = names(&mut client);
    assert!(names.contains(&"up_echo".to_owned()), "{names:?}");
    assert!(!names.contains(&"up_impostor".to_owned()), "{names:?}");
    let info = client.call("get_server_info", &json!({})).structured;
    let port = info["downstream"][0]["port"].as_u64().unwrap();
    let is_theirs = |(taken, _): &(u16, Other)| u64::from(*taken) == port;
    assert!(!others.iter().any(is_theirs), "{port}");
    assert_eq!(behind.count("http "), 0, "nobody else was told anything");
    drop(others);
}
