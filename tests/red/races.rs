//! Paths that are exchanged for links to the outside while commands and sandbox hosts are being started.

use std::fs;

use ahma_tests::served::over_stdio::Served;
use ahma_tests::{Workspace, until};
use serde_json::json;

/// Exchanges three directories with links, as often as it can, until it is ended.
const EXCHANGER: &str = r#"python3 - "$OUTSIDE" <<'END'
import ctypes, os, sys
libc = ctypes.CDLL(None)
names = [".vscode", ".git", "sub"]
for name in names:
    os.makedirs(name + "/hooks", exist_ok=True)
    os.symlink(sys.argv[1], name + ".link")
open("racing", "w").close()
while True:
    for name in names:
        libc.renameat2(-100, name.encode(), -100, (name + ".link").encode(), 2)
END"#;

/// Proves: S61.
#[test]
fn what_is_exchanged_for_a_link_leads_nobody_outside() {
    let outside = Workspace::new();
    outside.write("secret", "the secret\n");
    fs::create_dir(outside.path().join("hooks")).unwrap();
    let mut served = Served::new();
    let script = EXCHANGER.replace("$OUTSIDE", outside.path().to_str().unwrap());
    let racing = served.start(&script);
    served.until_exists("racing");
    let mut seen = Vec::new();
    for name in [".vscode", ".git", "sub"].iter().cycle().take(60) {
        let arguments = json!({
            "command": "cat secret; echo planted > hooks/x; echo planted > x; pwd", "execution_mode": "sync",
            "working_directory": name
        });
        seen.push(served.client.call("sandboxed_shell", &arguments).text);
        let look = format!("cat {name}/secret; echo planted > {name}/hooks/x");
        seen.push(served.sync(&look).text);
    }
    served
        .client
        .call("cancel", &json!({ "operation_id": racing }));
    let all = seen.join("");
    assert!(!all.contains("the secret"), "{all}");
    let left: Vec<_> = fs::read_dir(outside.path().join("hooks"))
        .unwrap()
        .collect();
    assert!(left.is_empty() && !outside.path().join("x").exists());
    // The same link does lead there from outside.
    let project = served.project.path();
    let link = ["sub", "sub.link"].map(|it| project.join(it));
    until(|| link.iter().any(|it| it.is_symlink()));
    let link = link.iter().find(|it| it.is_symlink()).unwrap();
    assert_eq!(
        fs::read_to_string(link.join("secret")).unwrap(),
        "the secret\n"
    );
}
