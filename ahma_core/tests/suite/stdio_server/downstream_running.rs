//! The life of other MCP servers: started, watched, given up, stopped, and what is told of it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use ahma_tests::mcp::McpProcess;
use ahma_tests::{marked, processes_marked, repository, signal, unique_mark, until};
use serde_json::{Value, json};

use super::behind::{Behind, entry, info, names};
use super::logs::file;

/// An entry of a managed server that is told to behave so.
fn managed(options: &[&str]) -> Value {
    let mut server = entry(&[&["--http=${PORT}"], options].concat());
    server["type"] = json!("managed_http");
    server
}

/// A server that the test has started, and that ends with it.
struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The same entry, for a shell that does something first.
fn after(script: &str, server: &Value) -> Value {
    let args = server["args"].as_array().unwrap().iter();
    let args: Vec<&str> = args.map(|it| it.as_str().unwrap()).collect();
    let line = format!("{script}; exec python3 {}", args.join(" "));
    let mut server = server.clone();
    server["command"] = json!("sh");
    server["args"] = json!(["-c", line]);
    server
}

fn eager(mut server: Value) -> Value {
    server["start"] = json!("eager");
    server
}

fn status(client: &mut McpProcess, server: usize) -> String {
    let told = &info(client)[server];
    told["status"].as_str().unwrap().to_owned()
}

/// What the log of a server of ours that has ended says of one behind it, without what that said itself: levels and words.
fn events(client: &McpProcess, server: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(file(client.cache(), ".log")).unwrap();
    let of_it = format!("server=\"{server}\"");
    let lines = text.lines().filter(|line| line.contains(&of_it));
    let lines = lines.filter(|line| line.contains("of_session=false"));
    lines
        .map(|line| {
            let level = line.split_whitespace().nth(3).unwrap().to_owned();
            let kinds = ["tools updated", "started", "stopped: ", "error: "];
            let found = kinds.iter().find(|it| line.contains(**it));
            (level, (*found.unwrap_or(&line)).to_owned())
        })
        .collect()
}

fn told(kinds: &[(&str, &str)]) -> Vec<(String, String)> {
    let kinds = kinds.iter();
    kinds
        .map(|(level, kind)| ((*level).to_owned(), (*kind).to_owned()))
        .collect()
}

/// Proves: C6, C31, C33.
/// Scenario: 002/3.1, 002/4.4, 002/5.4, 002/5.5, 002/6.2, 002/6.3, 002/6.4, 002/6.5.
/// Scenario: 002/7.1, 002/8.1, 002/8.3, 002/10.9.
#[test]
fn eager_servers_are_started_watched_and_stopped_and_the_log_says_so() {
    let behind = Behind::new(&json!({}));
    let log = format!("--log={}", behind.log().display());
    let mark = unique_mark();
    let option = format!("--mark={mark}");
    let web = eager(managed(&["--revision=legacy", &log, &option]));
    let (lazy, bad) = (entry(&[&option]), eager(entry(&["--exit=1"])));
    let servers = json!({ "web": web, "lazy": lazy, "bad": bad });
    behind.name(&servers);
    // From now on something is known of those that answer.
    names(&mut behind.start());
    let mut client = behind.start();
    until(|| status(&mut client, 0) == "connected" && status(&mut client, 2) == "error");
    assert_eq!(status(&mut client, 1), "stopped", "nobody has called it");
    let web = info(&mut client)[0].clone();
    assert!(web["tools"].as_u64().unwrap() > 1, "{web}");
    let stderr = web["stderr"].as_str().unwrap();
    assert!(stderr.starts_with("upstream is here\n"), "{stderr}");
    for said in ["http initialize", "http notifications/initialized"] {
        assert!(behind.count(said) >= 2, "{said}: once each time");
    }
    let log = fs::read_to_string(behind.log()).unwrap();
    let requests = log.lines().filter(|it| it.starts_with("http "));
    for request in requests {
        assert!(request.ends_with(" http://localhost"), "{request}");
    }
    let before = client.call("get_server_info", &json!({})).structured;
    let url = format!("http://127.0.0.1:{}/mcp", web["port"]);
    let running = json!({ "web": { "type": "http", "url": url } });
    assert_eq!(before["server_configs"], running);
    // An error of a tool is not one of its server.
    assert!(client.call("web_fail", &json!({})).is_error);
    assert_eq!(status(&mut client, 0), "connected");
    // Nobody calls it when it is killed; it is noticed all the same.
    let found = processes_marked(&mark);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(signal("KILL", found[0].split(' ').next().unwrap()));
    until(|| {
        let web = &info(&mut client)[0];
        let error = web["error"].as_str().unwrap_or_default();
        web["status"] == "error" && error.starts_with("it was ended by signal 9")
    });
    let after = client.call("get_server_info", &json!({})).structured;
    assert_eq!(after["server_configs"], json!({}), "it does not run");
    assert_eq!(client.call("web_echo", &json!({ "text": "x" })).text, "x");
    assert_eq!(client.call("lazy_echo", &json!({ "text": "y" })).text, "y");
    client.close();
    assert_eq!(client.wait().code(), Some(0));
    assert_eq!(marked(&mark), 0, "they are gone before it is");
    let (start, list) = (("INFO", "started"), ("INFO", "tools updated"));
    let (stop, error) = (("INFO", "stopped: "), ("WARN", "error: "));
    let all = [start, list, error, start, list, stop];
    assert_eq!(events(&client, "web"), told(&all));
    assert_eq!(events(&client, "lazy"), told(&[start, list, stop]));
    // It is tried again from time to time: nothing is known of it.
    let mut bad = events(&client, "bad");
    bad.dedup();
    assert_eq!(bad, told(&[error]));
}

/// None of them goes on before all of them have begun: one after the other, none would ever be ready.
///
/// Proves: C6, C36.
/// Scenario: 002/6.1, 002/6.8.
#[test]
fn twenty_servers_start_side_by_side() {
    const COUNT: usize = 20;
    let behind = Behind::new(&json!({}));
    let barrier = behind.log().with_file_name("begun");
    fs::create_dir(&barrier).unwrap();
    let servers: serde_json::Map<String, Value> = (0..COUNT)
        .map(|number| {
            let begun = barrier.display();
            let wait = format!(
                "touch {begun}/{number}; while [ $(ls {begun} | wc -l) -lt {COUNT} ]; do sleep 0.02; done"
            );
            let server = eager(after(&wait, &entry(&["--only-tools"])));
            (format!("s{number}"), server)
        })
        .collect();
    behind.name(&Value::Object(servers));
    // Of which nothing is known, and then those that are started because their entries say so.
    for _ in 0..2 {
        let mut client = behind.start();
        until(|| {
            let told = info(&mut client);
            told.iter().all(|it| it["status"] == "connected")
        });
        assert_eq!(fs::read_dir(&barrier).unwrap().count(), COUNT);
        drop(client);
        fs::remove_dir_all(&barrier).unwrap();
        fs::create_dir(&barrier).unwrap();
    }
}

/// Proves: C6.
/// Scenario: 002/4.5, 002/4.8, 002/5.1, 002/5.2, 002/10.7.
#[test]
fn a_managed_server_that_does_not_answer_or_refuses_is_ended() {
    let behind = Behind::new(&json!({}));
    let mark = unique_mark();
    let option = format!("--mark={mark}");
    let mut refusing = managed(&["--revision=stateless", &option]);
    refusing["protocol_version"] = json!("2025-11-25");
    let listens = "import socket, sys, time\ntry: s = socket.create_server(('127.0.0.1', int(sys.argv[1])))\nexcept OSError: sys.exit(2)\ntime.sleep(600)";
    let silent = json!({ "type": "managed_http", "command": "python3", "args": ["-c", listens, "${PORT}", option] });
    behind.name(&json!({ "silent": silent, "refusing": refusing }));
    let mut client = behind.start();
    until(|| status(&mut client, 0) == "error" && status(&mut client, 1) == "error");
    let errors: Vec<String> = info(&mut client)
        .iter()
        .map(|it| it["error"].as_str().unwrap().to_owned())
        .collect();
    let port = errors[0].strip_prefix("it did not answer on port ");
    let port = port.and_then(|it| it.strip_suffix(" within 5 s"));
    let port: u16 = port
        .unwrap_or_else(|| panic!("{errors:?}"))
        .parse()
        .unwrap();
    assert!(errors[1].contains("no handshake here"), "{errors:?}");
    assert_eq!(marked(&mark), 0);
    until(|| TcpListener::bind(("127.0.0.1", port)).is_ok());
}

/// Proves: C5, C6.
/// Scenario: 002/4.10.
#[test]
fn a_server_that_finds_no_port_free_is_given_up_after_ten() {
    let behind = Behind::new(&json!({}));
    let log = format!("--log={}", behind.log().display());
    behind.name(&json!({ "web": managed(&["--exit=2", &log]) }));
    let mut client = behind.start();
    until(|| status(&mut client, 0) == "error");
    let error = info(&mut client)[0]["error"].clone();
    assert_eq!(error, "it found none of 10 ports free");
    assert_eq!(behind.count("start"), 10);
}

/// Another server of the machine takes the port while ours is being started, and answers on it.
///
/// Proves: C20.
/// Scenario: 002/10.5.
#[test]
fn a_server_of_somebody_else_on_the_port_is_not_taken_for_ours() {
    let behind = Behind::new(&json!({}));
    let place = behind.log().with_file_name("");
    let (go, log) = (place.join("go"), place.join("other"));
    // It does not listen, and another one does; only the next one listens.
    let slow = format!(
        "cd {}; if [ ! -e go ]; then touch at.${{PORT}}; until [ -e next.${{PORT}} ]; do sleep 0.01; done; exit 2; fi",
        place.display(),
    );
    behind.name(&json!({ "web": after(&slow, &managed(&["--describe=Mine"])) }));
    let mut client = behind.start();
    let mut others = Vec::new();
    let mut port = 50_000_u16;
    // A port that a server of another test has taken meanwhile is passed over.
    let taken = loop {
        until(|| {
            let found = (50_000..50_100).find(|it| {
                let is_there = |what: &str| place.join(format!("{what}.{it}")).exists();
                is_there("at") && !is_there("next")
            });
            port = found.unwrap_or(port);
            found.is_some()
        });
        let other = Command::new("python3")
            .arg(repository().join("tests/fixtures/upstream/server.py"))
            .arg(format!("--http={port}"))
            .arg(format!("--log={}", log.display()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut other = Listening(other.unwrap());
        // It says where it listens, or ends.
        let mut line = String::new();
        let mut said = BufReader::new(other.0.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        others.push(other);
        if line.trim() == port.to_string() {
            fs::write(&go, "").unwrap();
            break port;
        }
        fs::write(place.join(format!("next.{port}")), "").unwrap();
    };
    // The process that does not listen is given up, and the next one has another port.
    until(|| names(&mut client).contains(&"web_echo".to_owned()));
    let listed = client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let echo = tools.iter().find(|it| it["name"] == "web_echo").unwrap();
    assert_eq!(echo["description"], "Mine");
    assert_ne!(info(&mut client)[0]["port"], taken);
    assert_eq!(client.call("web_echo", &json!({ "text": "x" })).text, "x");
    let said = fs::read_to_string(&log).unwrap();
    assert!(!said.contains("http "), "nobody spoke to it: {said}");
}

/// Proves: C5, C19.
#[test]
fn a_managed_server_can_be_confined() {
    let behind = Behind::new(&json!({}));
    let script = behind.project().join("server.py");
    fs::copy(
        repository().join("tests/fixtures/upstream/server.py"),
        &script,
    )
    .unwrap();
    let mut server = managed(&[]);
    server["args"][0] = json!(script);
    server["sandbox"] = json!(true);
    behind.name(&json!({ "web": server }));
    let mut client = behind.start();
    assert_eq!(client.call("web_echo", &json!({ "text": "x" })).text, "x");
    let outside = json!({ "path": behind.log().with_file_name("mcp.json") });
    let refused = client.call("web_read", &outside);
    assert!(refused.is_error, "{refused:?}");
}

/// Proves: C4, C15.
/// Scenario: 002/5.3, 002/10.8.
#[test]
fn a_call_that_takes_too_long_is_given_up_and_its_server_is_not() {
    let behind = Behind::new(&json!({}));
    let log = format!("--log={}", behind.log().display());
    let mut servers = json!({ "up": entry(&[&log]), "web": managed(&[&log]) });
    for server in ["up", "web"] {
        servers[server]["timeout_seconds"] = json!(1);
    }
    behind.name(&servers);
    let mut client = behind.start();
    names(&mut client);
    let starts = behind.count("start");
    for server in ["up", "web"] {
        let slow = json!({ "seconds": 60, "steps": 1 });
        let late = client.call(&format!("{server}_slow"), &slow);
        assert!(late.is_error, "{late:?}");
        assert_ne!(late.record["state"], "completed", "{late:?}");
        let next = client.call(&format!("{server}_echo"), &json!({ "text": "next" }));
        assert_eq!(next.text, "next");
    }
    assert_eq!(behind.count("start"), starts, "they are the same processes");
}

/// Proves: C6.
/// Scenario: 002/4.11, 002/10.6, 002/11.1, 002/11.2, 002/11.3, 002/11.4, 002/11.5, 002/11.6.
#[test]
fn a_server_that_does_not_stop_by_itself_is_killed_and_keeps_no_other() {
    for name in ["TERM", "INT"] {
        let behind = Behind::new(&json!({}));
        let (mark, stubborn) = (unique_mark(), unique_mark());
        let [good, bad] = [&mark, &stubborn].map(|mark| managed(&[&format!("--mark={mark}")]));
        // What is ignored stays ignored in the program that takes the shell's place.
        let bad = after("trap '' TERM", &bad);
        behind.name(&json!({ "good": good, "bad": bad }));
        let mut client = behind.start();
        names(&mut client);
        let ports: Vec<u16> = info(&mut client)
            .iter()
            .map(|it| u16::try_from(it["port"].as_u64().unwrap()).unwrap())
            .collect();
        assert_ne!(ports[0], ports[1]);
        for server in ["good", "bad"] {
            let said = client.call(&format!("{server}_echo"), &json!({ "text": server }));
            assert_eq!(said.text, server);
        }
        assert_eq!((marked(&mark), marked(&stubborn)), (1, 1));
        assert!(signal(name, client.pid()));
        assert_eq!(client.wait().code(), Some(0), "{name}");
        assert_eq!((marked(&mark), marked(&stubborn)), (0, 0), "{name}");
        for port in ports {
            until(|| TcpListener::bind(("127.0.0.1", port)).is_ok());
        }
        for server in ["good", "bad"] {
            let all = events(&client, server);
            let expected = ("INFO".to_owned(), "stopped: ".to_owned());
            assert_eq!(all.last(), Some(&expected), "{name} {server}");
        }
    }
}

/// Proves: C6.
#[test]
fn a_server_that_has_forgotten_the_session_is_begun_with_anew() {
    let script = repository().join("tests/fixtures/upstream/forgetful.py");
    let server = Command::new("python3")
        .args([script.to_str().unwrap(), "0"])
        .stdout(Stdio::piped())
        .spawn();
    let (mut server, mut port) = (Listening(server.unwrap()), String::new());
    BufReader::new(server.0.stdout.take().unwrap())
        .read_line(&mut port)
        .unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", port.trim());
    let behind = Behind::new(&json!({ "web": { "type": "http", "url": url } }));
    let mut client = behind.start();
    assert_eq!(client.call("web_sessions", &json!({})).text, "1");
    assert_eq!(client.call("web_sessions", &json!({})).text, "1");
    client.call("web_forget", &json!({}));
    let next = client.call("web_sessions", &json!({}));
    assert_eq!(next.text, "2", "{next:?}");
}
