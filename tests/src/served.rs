//! The server of the package under test, serving a project of its own.

pub mod over_http;
pub mod over_stdio;

/// Arguments of a server whose calls do not wait for a moment, unless these say otherwise: most tests are about what goes
/// on in the background, with commands that end at once. What that moment is for has tests of its own.
pub fn in_background<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let mut all = arguments.to_vec();
    if !arguments.contains(&"--inline-ms") {
        all.extend(["--inline-ms", "0"]);
    }
    all
}

/// The server; `cargo test` builds it with the tests of its package.
pub fn ahma_mcp() -> String {
    let test = std::env::current_exe().expect("a test has a path");
    let built = test.ancestors().nth(2).expect("tests are in `deps`");
    let program = built.join("ahma_mcp");
    assert!(program.exists(), "{} is missing", program.display());
    program.to_str().expect("a path in UTF-8").to_owned()
}
