//! Hosts follow one another for the same scope; commands of one must not prepare the ground for the
//! next.

use std::fs;

use ahma_sandbox::SandboxHost;

use crate::support::{Bench, Done, finish};

async fn in_host(bench: &Bench, host: &SandboxHost, script: &str) -> Done {
    let request = bench.request(&["sh", "-c", script]);
    finish(host.spawn(request).await.unwrap()).await
}

/// What a command would leave behind so that the paths of the next view lead elsewhere: the private
/// directories and the scope moved away, and links in their places.
fn traps(bench: &Bench) -> String {
    let session = bench.policy.private_dir.display();
    let scope = bench.scope.display();
    let around = bench.scope.parent().unwrap().display();
    let name = bench.scope.file_name().unwrap().display();
    format!(
        "exec 2>/dev/null; top=/tmp/$(echo {session} | cut -d/ -f3); \
         mv $top /tmp/old; mv {session} {session}.old; mkdir -p {session}; \
         rmdir {session}/home {session}/tmp; \
         ln -s {around} {session}/home; ln -s /tmp {session}/tmp; ln -s {around} {session}/root; \
         mkdir -p $HOME{scope}; rmdir $HOME{scope}; ln -s / $HOME/{name}; mkdir -p $HOME/proc; \
         mkdir -p $HOME{session}; ln -s /tmp $HOME{session}/tmp; \
         for d in usr bin sbin lib lib64 etc dev; do ln -s {scope}/$d $HOME/$d; done; \
         mkdir -p $TMPDIR$top; ln -s / $TMPDIR/{name}; ln -s / $TMPDIR$top/scope; touch {session}; \
         ln -s {around} $TMPDIR/home; rm -rf {scope}/*; true"
    )
}

/// Proves: S35.
#[tokio::test]
async fn what_commands_leave_behind_does_not_lead_the_next_host_astray() {
    let bench = Bench::new().await;
    let traps = traps(&bench);
    in_host(&bench, &bench.host, &traps).await;
    for round in 0..3 {
        let next = bench.another_host().await;
        assert_eq!(
            next.report(),
            bench.host.report(),
            "every layer, round {round}"
        );
        let attempt = format!(
            "ls {scope}; cat {secret} {scope}{secret}; echo x > {scope}{outside}/new; \
             echo x > {outside}/new; chmod 777 {secret}; true",
            scope = bench.scope.display(),
            secret = bench.outside("secret"),
            outside = bench.outside.display()
        );
        let done = in_host(&bench, &next, &attempt).await;
        assert!(!done.output.contains("the secret"), "{done:?}");
        assert!(!done.output.contains("etc\n"), "{done:?}");
        assert!(!bench.outside.join("new").exists(), "{done:?}");
        let works = in_host(
            &bench,
            &next,
            "echo x > f && cat f && echo y > $HOME/f && echo z > $TMPDIR/f && echo z > /tmp/f",
        )
        .await;
        assert!(works.succeeded(), "{works:?}");
        assert_eq!(fs::read_to_string(bench.scope.join("f")).unwrap(), "x\n");
        in_host(&bench, &next, &traps).await;
    }
}

/// Proves: S35.
#[tokio::test]
async fn private_directories_cannot_be_moved_away() {
    let bench = Bench::new().await;
    let session = bench.policy.private_dir.display();
    let around = bench.scope.parent().unwrap().display();
    for act in [
        format!("mv {session} {session}.old"),
        format!("mv {around} /tmp/elsewhere"),
        format!("rmdir {session}/home"),
        format!("mv {session}/tmp {session}/other"),
    ] {
        assert!(!bench.sh(&act).await.succeeded(), "{act}");
    }
    assert!(
        bench
            .sh("test -d $HOME && test -d $TMPDIR && mkdir /tmp/new && rmdir /tmp/new")
            .await
            .succeeded()
    );
}

/// Proves: S35.
#[tokio::test]
async fn private_directories_in_reach_of_commands_are_refused() {
    let bench = Bench::new().await;
    let mut policy = bench.policy.clone();
    policy.scope = policy.private_dir.parent().unwrap().to_owned();
    let sandbox = ahma_sandbox::Sandbox::new(crate::support::host_program()).unwrap();
    let refused = sandbox.start(&policy).await.err().unwrap();
    assert!(
        refused.to_string().contains("which commands can write"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_link_in_place_of_a_grant_is_not_followed_by_the_next_host() {
    for without in [vec![], vec![ahma_sandbox::Layer::Namespaces]] {
        let bench = Bench::with(|policy| {
            policy.without = without.clone();
            let sub = policy.scope.join("sub");
            fs::create_dir(&sub).unwrap();
            policy.write.push(sub);
        })
        .await;
        let outside = bench.outside.display();
        assert!(
            bench
                .sh(&format!("rmdir sub && ln -s {outside} sub"))
                .await
                .succeeded()
        );
        let sandbox = ahma_sandbox::Sandbox::new(crate::support::host_program()).unwrap();
        match sandbox.start(&bench.policy).await {
            Err(refused) => assert!(refused.to_string().contains("sub"), "{refused}"),
            Ok(next) => {
                let done = in_host(&bench, &next, "cat sub/secret; echo x > sub/new").await;
                assert!(!done.output.contains("the secret"), "{done:?}");
                assert!(!bench.outside.join("new").exists());
            }
        }
    }
}
