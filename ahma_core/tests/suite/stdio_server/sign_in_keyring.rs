//! Keyrings that cannot be used: there is none, or it never answers. What one does that can be used is in `tests/auth`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use ahma_tests::until;
use serde_json::json;

use super::behind::{info, names};
use super::sign_in_world::World;

/// A session bus that takes whoever comes, and never says a word.
struct Mute(Arc<Mutex<Vec<UnixStream>>>);

impl Mute {
    /// One that programs of a world take for theirs.
    fn of(world: &mut World) -> Self {
        let path = world.behind.place.path().join("bus");
        let listener = UnixListener::bind(&path).unwrap();
        let taken = Arc::<Mutex<Vec<UnixStream>>>::default();
        let all = Arc::clone(&taken);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                all.lock().unwrap().push(stream);
            }
        });
        let address = format!("unix:path={}", path.display());
        world.variables.insert("DBUS_SESSION_BUS_ADDRESS", address);
        Mute(taken)
    }

    /// How many have come.
    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// A command that may take its time. It ends with this.
struct Running(Child);

impl Running {
    fn start(world: &World, arguments: &[&str]) -> Self {
        let mut command = world.auth_command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Running(command.spawn().unwrap())
    }

    /// What it has said once it has ended, which it does in bounded time.
    fn said(mut self) -> String {
        until(|| self.0.try_wait().unwrap().is_some());
        assert!(self.0.wait().unwrap().success());
        let mut said = String::new();
        let mut output = self.0.stdout.take().unwrap();
        output.read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Proves: C72.
#[test]
fn a_keyring_that_cannot_be_used_is_named_and_keeps_nobody_from_signing_in_anew() {
    let world = World::new();
    world.login();
    world.have_tokens_in_keyring();
    let why = "its tokens are in the keyring, which cannot be used";
    let status = world.auth(&["status"]).stdout;
    assert!(status.contains(why), "{status}");
    let mut client = world.start();
    until(|| info(&mut client)[0]["status"] == "error");
    let error = info(&mut client)[0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains(why), "{error}");
    let again = world.auth(&["login", "notes", "--no-keyring"]);
    assert_eq!(again.code, 0, "{again:?}");
    until(|| names(&mut client).contains(&"notes_echo".to_owned()));
}

/// Proves: C72.
#[test]
fn tokens_are_kept_in_a_file_where_the_keyring_never_answers() {
    let mut world = World::new();
    let bus = Mute::of(&mut world);
    let said = Running::start(&world, &["login", "notes"]).said();
    assert!(said.contains("kept in /"), "{said}");
    assert_eq!(bus.count(), 1);
    let kept = world.auth(&["status"]).stdout;
    assert!(kept.contains("kept in /"), "{kept}");
}

/// Proves: C72.
#[test]
fn a_keyring_that_never_answers_is_waited_for_once_and_holds_up_nobody() {
    let mut world = World::new();
    world.login();
    world.have_tokens_in_keyring();
    let bus = Mute::of(&mut world);
    // One sign-in for all of them, and each asks for it.
    let beneath = |name: &str| json!({ "url": format!("{}/{name}", world.url) });
    let servers = ["a", "b", "c", "d", "e"].map(|name| (name.to_owned(), beneath(name)));
    world.behind.name(&json!(BTreeMap::from(servers)));
    let status = Running::start(&world, &["status"]);
    let mut client = world.start();
    let own = client.call("sandboxed_shell", &json!({ "command": "echo here" }));
    assert!(!own.is_error && own.text.contains("here"), "{own:?}");
    let why = "its tokens are in the keyring, which cannot be used: it does not answer; is it waiting to be unlocked?";
    let said = status.said();
    assert_eq!(
        said.lines().filter(|it| it.contains(why)).count(),
        5,
        "{said}"
    );
    until(|| {
        let told = info(&mut client);
        told.iter().all(|it| it["status"] == "error")
    });
    for told in info(&mut client) {
        let error = told["error"].as_str().unwrap();
        assert!(error.contains(why), "{error}");
    }
    // Each program has come once.
    assert_eq!(bus.count(), 2);
}
