//! Files: everything inside the scope, nothing outside it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::PathBuf;

use crate::support::{Bench, Done, exists};

/// The act fails inside; unconfined it succeeds, so it is the sandbox that refused it.
async fn denied(bench: &Bench, script: &str) -> Done {
    let done = bench.sh(script).await;
    assert!(!done.succeeded(), "{script} worked inside: {done:?}");
    let control = bench.unconfined(script);
    assert!(
        control.status.success(),
        "the control failed: {script}: {control:?}"
    );
    done
}

/// Proves: S3.
#[tokio::test]
async fn the_scope_can_be_read_written_and_executed() {
    let bench = Bench::new().await;
    let script = "mkdir -p a/b && echo '#!/bin/sh\necho ran' > a/b/p && chmod +x a/b/p && ./a/b/p && \
                  ln a/b/p a/hard && ln -s b/p a/soft && mv a/hard a/b/moved && rm a/b/moved && cat a/soft";
    let done = bench.sh(script).await;
    assert!(done.succeeded(), "{done:?}");
    assert_eq!(done.output, "ran\n#!/bin/sh\necho ran\n");
    let made = fs::metadata(bench.scope.join("a/b/p")).unwrap();
    let owner = fs::metadata(&bench.scope).unwrap();
    assert_eq!((made.uid(), made.gid()), (owner.uid(), owner.gid()));
}

/// Proves: S9.
#[tokio::test]
async fn nothing_outside_can_be_read_or_listed() {
    let bench = Bench::new().await;
    let secret = bench.outside("secret");
    denied(&bench, &format!("cat {secret}")).await;
    denied(&bench, &format!("ls {}", bench.outside.display())).await;
    denied(&bench, &format!("head -c 1 {secret}")).await;
    denied(&bench, &format!("exec 3<{secret}")).await;
    let done = bench.sh("cat /etc/shadow; ls /root /home").await;
    assert!(
        !done.succeeded() && !done.output.contains(':'.to_string().repeat(3).as_str()),
        "{done:?}"
    );
}

/// Proves: S9.
#[tokio::test]
async fn nothing_outside_can_be_written_made_or_removed() {
    let bench = Bench::new().await;
    let secret = bench.outside.join("secret");
    let path = secret.display();
    let new = bench.outside.join("new");
    for script in [
        format!("echo x > {path}"),
        format!("echo x >> {path}"),
        format!("truncate -s 0 {path}"),
        format!("touch {}", new.display()),
        format!("mkdir {}", new.display()),
        format!("rm {path}"),
        format!("ln -s x {}", new.display()),
    ] {
        let done = bench.sh(&script).await;
        assert!(!done.succeeded(), "{script}: {done:?}");
        assert_eq!(
            fs::read_to_string(&secret).unwrap(),
            "the secret\n",
            "{script}"
        );
        assert!(!exists(&new), "{script}");
    }
    assert!(
        bench
            .unconfined(&format!("echo x >> {path} && touch {}", new.display()))
            .status
            .success()
    );
}

#[tokio::test]
async fn attributes_outside_cannot_be_changed_or_seen() {
    let bench = Bench::new().await;
    let secret = bench.outside.join("secret");
    let before = fs::metadata(&secret).unwrap();
    let path = secret.display();
    for script in [
        format!("chmod 777 {path}"),
        format!("touch -d 2000-01-01 {path}"),
        format!("stat {path}"),
        format!("test -e {path}"),
        format!("readlink -e {path}"),
        format!("cd {}", bench.outside.display()),
    ] {
        denied(&bench, &script).await;
        let restored = fs::File::options().append(true).open(&secret).unwrap();
        restored.set_modified(before.modified().unwrap()).unwrap();
        fs::set_permissions(&secret, before.permissions()).unwrap();
    }
}

#[tokio::test]
async fn links_lead_nowhere_outside() {
    let bench = Bench::new().await;
    symlink(bench.outside.join("secret"), bench.scope.join("soft")).unwrap();
    denied(&bench, "cat soft").await;
    denied(&bench, "echo x >> soft").await;
    let hard = format!("ln {} hard", bench.outside("secret"));
    assert!(!bench.sh(&hard).await.succeeded());
    let moved = format!("mv {} here", bench.outside("secret"));
    assert!(!bench.sh(&moved).await.succeeded());
    let out = format!("echo x > mine; mv mine {}", bench.outside("mine"));
    assert!(!bench.sh(&out).await.succeeded());
    assert!(!exists(&bench.outside.join("mine")));
    assert!(bench.unconfined(&hard).status.success());
}

#[tokio::test]
async fn hard_links_inside_the_scope_work() {
    let bench = Bench::new().await;
    let done = bench
        .sh("mkdir a b; echo x > a/f; ln a/f b/g && mv b/g a/h && cat a/h")
        .await;
    assert_eq!(done.output, "x\n");
}

#[tokio::test]
async fn no_device_file_can_be_made() {
    let bench = Bench::new().await;
    assert!(!bench.sh("mknod null c 1 3").await.succeeded());
    assert!(!bench.sh("mknod disk b 253 0").await.succeeded());
    assert!(bench.sh("mkfifo pipe && test -p pipe").await.succeeded());
}

/// Proves: S3, S9.
#[tokio::test]
async fn grants_of_the_operator_are_the_only_way_to_more() {
    let bench = Bench::with(|policy| {
        let base = policy.scope.parent().unwrap().to_owned();
        for name in ["readable", "writable"] {
            fs::create_dir(base.join(name)).unwrap();
            fs::write(base.join(name).join("file"), name).unwrap();
        }
        policy.read.push(base.join("readable"));
        policy.write.push(base.join("writable"));
    })
    .await;
    let readable: PathBuf = bench.policy.read[0].join("file");
    let writable: PathBuf = bench.policy.write[0].join("file");
    let done = bench
        .sh(&format!(
            "cat {} {}",
            readable.display(),
            writable.display()
        ))
        .await;
    assert_eq!(done.output, "readablewritable");
    assert!(
        bench
            .sh(&format!("echo more >> {}", writable.display()))
            .await
            .succeeded()
    );
    assert!(
        !bench
            .sh(&format!("echo more >> {}", readable.display()))
            .await
            .succeeded()
    );
    assert_eq!(fs::read_to_string(readable).unwrap(), "readable");
    assert_eq!(fs::read_to_string(writable).unwrap(), "writablemore\n");
}

#[tokio::test]
async fn a_scope_with_an_odd_name_works() {
    for name in [
        "with blank",
        "with\"quote'",
        "with\nnewline",
        "ünïcödé",
        "--dashes",
        "$(id)",
    ] {
        let bench = Bench::with(|policy| {
            let scope = policy.scope.parent().unwrap().join(name);
            fs::create_dir(&scope).unwrap();
            policy.scope = scope;
        })
        .await;
        let mut request = bench.request(&["sh", "-c", "echo x > file && cat file"]);
        request.directory = bench.policy.scope.clone();
        let done = crate::support::finish(bench.host.spawn(request).await.unwrap()).await;
        assert_eq!(done.output, "x\n", "{name:?}");
        assert!(bench.policy.scope.join("file").exists(), "{name:?}");
    }
}

/// Proves: S26.
#[tokio::test]
async fn temporary_files_are_private() {
    let bench = Bench::new().await;
    let mark = bench.outside.parent().unwrap().join("visible");
    fs::write(&mark, "x").unwrap();
    let done = bench
        .sh("t=$(mktemp) && echo x > $t && test -s $t && echo y > /tmp/z && ls /tmp")
        .await;
    assert!(done.succeeded(), "{done:?}");
    assert!(!std::path::Path::new("/tmp/z").exists());
    let home = bench.sh("echo x > $HOME/f && cat $HOME/f").await;
    assert_eq!(home.output, "x\n");
}

#[tokio::test]
async fn ordinary_devices_work() {
    let bench = Bench::new().await;
    let script = "echo x > /dev/null && head -c 4 /dev/urandom | wc -c && echo e > /dev/stderr && \
                  cat /dev/null && echo o | tee /dev/stdout > /dev/null";
    let done = bench.sh(script).await;
    assert!(done.succeeded(), "{done:?}");
    assert!(
        !bench
            .sh("cat /dev/kmsg || cat /dev/mem || head -c 1 /dev/vda")
            .await
            .succeeded()
    );
}

#[tokio::test]
async fn a_scope_that_was_replaced_gives_nothing_away() {
    let bench = Bench::new().await;
    fs::rename(&bench.scope, bench.scope.with_extension("old")).unwrap();
    symlink(&bench.outside, &bench.scope).unwrap();
    let mut command = bench.spawn(&["sh", "-c", "cat secret"]).await.unwrap();
    let output = crate::support::read_output(&mut command).await;
    assert!(!output.contains("the secret"), "{output}");
}

/// What is written beside a scope below `/tmp` would go into the private `/tmp`, and nowhere else.
///
/// Proves: S60.
#[tokio::test]
async fn nothing_can_be_written_beside_a_scope_that_only_seems_to_be_on_the_disk() {
    let bench = Bench::new().await;
    assert!(bench.scope.starts_with("/tmp"), "{:?}", bench.scope);
    for act in ["touch ../sibling", "mkdir ../wt", "mv ../scope ../moved"] {
        assert!(!bench.sh(act).await.succeeded(), "{act}");
    }
    let inside = bench.sh("touch sibling /tmp/own && mkdir wt && mv wt moved");
    assert!(inside.await.succeeded());
    assert!(bench.scope.join("moved").exists());
}
