//! A machine whose `/etc` is a copy, into which a test puts what it wants: in a mount namespace of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Whether both a server and what it is to be kept from can be in it as they are outside: without root, only with other ids.
pub(crate) fn is_possible() -> bool {
    rustix::process::geteuid().is_root()
}

/// Copies the machine's, as far as it can be read.
pub(crate) fn copy_into(etc: &Path) {
    fs::create_dir(etc).unwrap();
    fs::set_permissions(etc, fs::Permissions::from_mode(0o755)).unwrap();
    // What cannot be read is not there then.
    let _ = Command::new("cp")
        .args(["-a", "/etc/."])
        .arg(etc)
        .output()
        .unwrap();
    assert!(etc.join("passwd").exists());
}

/// Puts a file there, in the place of whatever there is.
pub(crate) fn plant(etc: &Path, name: &str, mode: u32, content: &str) {
    let path = etc.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(&path);
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}

/// What starts a program, whose words are still to be added, where `/etc` is that copy.
pub(crate) fn command(etc: &Path) -> Command {
    let namespaces = if is_possible() { "-m" } else { "-Urm" };
    let mut command = Command::new("unshare");
    let mount = "mount --bind \"$0\" /etc && exec \"$@\"";
    command.args([namespaces, "sh", "-c", mount]).arg(etc);
    command
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command.stdin(std::process::Stdio::null());
    command
}
