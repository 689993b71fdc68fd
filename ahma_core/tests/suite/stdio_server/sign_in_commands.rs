//! `ahma_mcp auth`, run as a program: signing in with a browser and without, who is signed in where, and signing out.

use std::net::TcpListener;
use std::os::unix::fs::symlink;

use ahma_tests::{Workspace, until};
use serde_json::{Value, json};

use super::behind::{info, names};
use super::sign_in_world::{Pasting, World, is_secret_free, sent_to};

/// Proves: C2, C69.
#[test]
fn an_owner_signs_in_with_a_browser_and_every_server_of_ours_has_the_token() {
    let world = World::new();
    let mut client = world.start();
    until(|| info(&mut client)[0]["status"] == "needs_sign_in");
    let described = &info(&mut client)[0];
    let error = described["error"].as_str().unwrap();
    assert!(error.contains("ahma_mcp auth login notes"), "{error}");
    let done = world.auth(&["login", "notes"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(
        done.stdout.contains("signed in with http://127.0.0.1:"),
        "{done:?}"
    );
    assert!(
        is_secret_free(&done.stdout) && is_secret_free(&done.stderr),
        "{done:?}"
    );
    // One that runs already finds it by itself.
    until(|| names(&mut client).contains(&"notes_echo".to_owned()));
    let echoed = client.call("notes_echo", &json!({ "text": "hello" }));
    assert!(
        !echoed.is_error && echoed.text.contains("hello"),
        "{echoed:?}"
    );
    assert_eq!(info(&mut client)[0]["status"], "connected");
    let told = client
        .call("get_server_info", &json!({}))
        .structured
        .to_string();
    assert!(is_secret_free(&told), "{told}");
    // So does the next one, without anybody.
    client.close();
    let mut client = world.start();
    assert!(
        !client
            .call("notes_echo", &json!({ "text": "again" }))
            .is_error
    );
    assert_eq!(world.sign_ins(), 1);
}

/// Proves: C2, C67.
#[test]
fn without_a_browser_the_url_is_one_line_and_the_answer_can_be_pasted() {
    let world = World::new();
    let login = Pasting::begin(&world);
    assert!(
        login.url.starts_with("http://127.0.0.1:") && login.url.contains("/authorize?"),
        "{}",
        login.url
    );
    let sent = sent_to(&login.url);
    assert!(sent.contains("/callback?code="), "{sent}");
    // A line that is not the answer costs nothing.
    let (said, complaints) = login.paste(&format!("https://example.com/\n{sent}"));
    assert!(complaints.contains("paste the whole URL"), "{complaints}");
    assert!(said.contains("signed in with"), "{said}");
}

/// Proves: C2, C67.
#[test]
fn where_no_browser_can_be_opened_that_is_said_and_the_url_is_there_all_the_same() {
    let mut world = World::new();
    let place = Workspace::new();
    // One of a terminal, which ends without having shown anything.
    let failing = place.path().join("lynx");
    symlink("/bin/false", &failing).unwrap();
    place.make_directory("nothing");
    let nothing = place.path().join("nothing").to_str().unwrap().to_owned();
    world.variables.insert("PATH", nothing);
    for browser in ["", "no-such-browser", failing.to_str().unwrap()] {
        world.variables.insert("BROWSER", browser.to_owned());
        let login = Pasting::begin_with(&world, &[]);
        until(|| login.complaints().contains("no browser could be opened\n"));
        let sent = sent_to(&login.url);
        let (said, _) = login.paste(&sent);
        assert!(said.contains("signed in with"), "{browser}: {said}");
    }
    assert_eq!(world.sign_ins(), 3);
}

/// Proves: C71.
#[test]
fn the_owner_sees_who_is_signed_in_where_and_signs_out() {
    let world = World::new();
    let token = json!({ "Authorization": "Bearer x" });
    world.behind.name(&json!({
        "notes": { "url": world.url },
        "other": { "url": "http://127.0.0.1:1/mcp", "headers": token },
        "local": { "command": "true" }
    }));
    let shown = |world: &World| world.auth(&["status"]).stdout;
    let expected = format!(
        "notes ({}): nobody is signed in\nother (http://127.0.0.1:1/mcp): has a token in `headers`\n",
        world.url
    );
    assert_eq!(shown(&world), expected);
    world.login();
    let text = shown(&world);
    for part in [
        "signed in with http",
        "for notes:read",
        "renewed by itself",
        "kept in /",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json: Value =
        serde_json::from_str(&world.auth(&["status", "--format", "json"]).stdout).unwrap();
    let notes = &json["servers"][0];
    assert_eq!(notes["signed_in"], true, "{json}");
    assert_eq!(notes["scopes"], json!(["notes:read"]));
    assert!(is_secret_free(&json.to_string()) && is_secret_free(&text));
    let out = world.auth(&["logout", "notes"]);
    assert_eq!((out.code, out.stderr.as_str()), (0, ""), "{out:?}");
    assert_eq!(shown(&world), expected);
    let again = world.auth(&["logout", "notes"]);
    assert_eq!(again.stdout, "notes: nobody was signed in\n");
    // Names that there are not, and servers that nobody signs in to.
    for (name, why) in [
        ("nothing", "there is no usable server `nothing`"),
        ("local", "it is not reached over HTTP"),
        ("other", "has a token in `headers`"),
    ] {
        let refused = world.auth(&["login", name]);
        assert!(
            refused.code != 0 && refused.stderr.contains(why),
            "{refused:?}"
        );
    }
}

/// Proves: C71.
#[test]
fn with_a_redirect_uri_whose_port_is_taken_the_answer_is_pasted() {
    let world = World::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let redirect = format!("http://127.0.0.1:{port}/callback");
    world.name(json!({ "oauth": { "redirect_uri": redirect } }));
    let login = Pasting::begin(&world);
    let sent = sent_to(&login.url);
    assert!(sent.starts_with(&redirect), "{sent}");
    let (said, _) = login.paste(&sent);
    assert!(said.contains("signed in with"), "{said}");
}
