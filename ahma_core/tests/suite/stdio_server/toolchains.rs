//! Real tools at work inside the full sandbox.

use serde_json::json;

use super::Served;

/// Proves: S38.
#[test]
fn a_rust_project_is_built_and_tested() {
    let mut served = Served::new();
    served.project.write(
        "Cargo.toml",
        "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    served.project.write(
        "src/main.rs",
        "fn main() { println!(\"built\"); }\n#[test]\nfn works() {}\n",
    );
    let built = served.sync("cargo run -q --offline && cargo test -q --offline 2>&1 | tail -3");
    assert!(built.text.starts_with("built\n"), "{}", built.text);
    assert!(built.text.contains("1 passed"), "{}", built.text);
}

/// Proves: S38.
#[test]
fn credentials_beside_a_toolchain_stay_out_of_reach() {
    let home = ahma_tests::Workspace::new();
    home.write(".cargo/bin/cargo", "#!/bin/sh\necho a cargo\n");
    home.write(".cargo/credentials.toml", "the secret\n");
    home.write(".rustup/settings.toml", "a setting\n");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(home.path().join(".cargo/bin/cargo"), executable).unwrap();
    let path = format!("{}/.cargo/bin:/usr/bin:/bin", home.path().display());
    let directory = home.path().to_str().unwrap();
    let rustup = format!("{directory}/.rustup");
    let environment = [
        ("HOME", directory),
        ("PATH", path.as_str()),
        ("RUSTUP_HOME", rustup.as_str()),
    ];
    let mut served = Served::with(&[], &environment);
    let found = served.sync("cargo; echo $CARGO_HOME");
    assert!(found.text.starts_with("a cargo\n"), "{}", found.text);
    let refused = served.sync(&format!("cat {directory}/.cargo/credentials.toml"));
    assert!(
        refused.is_error && !refused.text.contains("the secret"),
        "{}",
        refused.text
    );
    let written = served.sync(&format!("echo x > {directory}/.cargo/bin/cargo"));
    assert!(written.is_error, "{}", written.text);
    let info = served.client.call("get_server_info", &json!({}));
    assert!(info.text.contains(".cargo/bin"), "{}", info.text);
}

/// Proves: S38.
#[test]
fn everyday_programs_work() {
    let mut served = Served::new();
    for script in [
        "tar cf a.tar --files-from /dev/null && tar tf a.tar",
        "printf 'b\\na\\n' | sort > s && head -1 s",
        "cat <(echo substituted) <<'X'\nhere\nX",
        "/usr/bin/python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'",
        "/usr/bin/python3 -c 'import tempfile, sqlite3; print(tempfile.gettempdir())'",
        "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline",
        "grep -r x . >/dev/null; find . -name s | xargs cat",
        "echo 'int main(){return 0;}' > m.c && cc m.c -o m && ./m",
    ] {
        let result = served.sync(script);
        assert!(!result.is_error, "{script}: {}", result.text);
    }
}
