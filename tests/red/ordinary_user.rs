//! The same attempts, made by and against an ordinary user.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use ahma_tests::served::ahma_mcp;
use ahma_tests::{Workspace, copy_program};

/// A user who owns nothing on the machine.
const NOBODY: u32 = 65534;

/// Proves: S57.
#[test]
#[ignore = "needs root, to become another user; CI runs it"]
fn every_attempt_fails_against_an_ordinary_user_too() {
    let place = Workspace::new();
    for name in ["deps", "home", "tmp"] {
        place.make_directory(name);
        chown(place.path().join(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let suite = place.path().join("deps/red");
    copy_program(std::env::current_exe().unwrap(), &suite);
    copy_program(ahma_mcp(), place.path().join("ahma_mcp"));
    let ran = Command::new(suite)
        .current_dir(place.path().join("home"))
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", place.path().join("home"))
        .env("TMPDIR", place.path().join("tmp"))
        .gid(NOBODY)
        .uid(NOBODY)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}");
    assert!(
        said.contains("0 failed") && !said.contains(" 0 passed"),
        "{said}"
    );
}
