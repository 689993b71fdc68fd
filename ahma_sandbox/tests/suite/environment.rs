//! The environment of a command is made, not inherited.

use std::collections::BTreeMap;
use std::ffi::OsString;

use ahma_sandbox::command_environment;

use crate::support::{Bench, finish};

/// Proves: S19.
#[tokio::test]
async fn no_secret_of_the_server_reaches_a_command() {
    let bench = Bench::new().await;
    let server: BTreeMap<OsString, OsString> = [
        ("AHMA_TEST_API_KEY", "sentinel-1"),
        ("GITHUB_TOKEN", "sentinel-2"),
        ("LD_PRELOAD", "sentinel-3"),
        ("ALLOWED", "passes"),
        ("PATH", "/usr/bin:/bin"),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value.into()))
    .collect();
    let mut request = bench.request(&["sh", "-c", "env; cat /proc/*/environ"]);
    let environment = command_environment(&bench.policy, &server, &["ALLOWED".into()]);
    request.environment = environment.into_iter().collect();
    let done = finish(bench.host.spawn(request).await.unwrap()).await;
    assert!(done.output.contains("ALLOWED=passes"), "{done:?}");
    assert!(!done.output.contains("sentinel"), "{done:?}");
}

#[tokio::test]
async fn home_and_temporary_directory_exist_and_are_writable() {
    let bench = Bench::new().await;
    let script = "for d in \"$HOME\" \"$TMPDIR\" \"$XDG_CACHE_HOME\" \"$XDG_CONFIG_HOME\" \"$XDG_RUNTIME_DIR\"; do \
                  touch \"$d/x\" || exit 1; done";
    let done = bench.sh(script).await;
    assert!(done.succeeded(), "{done:?}");
}
