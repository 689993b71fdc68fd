//! Standard output and standard error apart: for programs that are spoken with, and for results that are not text.

use ahma_sandbox::Layer;
use tokio::io::AsyncReadExt as _;

use crate::support::{Bench, patiently};

/// Proves: S77.
#[tokio::test]
async fn what_a_program_says_on_standard_error_comes_apart_whatever_starts_it() {
    for bench in [
        Bench::new().await,
        Bench::without(&[Layer::Namespaces]).await,
    ] {
        // Twice: a cell that is used again has forgotten the first.
        for _ in 0..2 {
            let left_open =
                "for n in 3 4 5 6 7; do if (eval \": >&$n\") 2>/dev/null; then echo $n; fi; done";
            let script = &format!("echo out; echo err >&2; {left_open}");
            let request = bench.request(&["sh", "-c", script]);
            let (mut command, mut errors) =
                patiently(bench.host.spawn_apart(request)).await.unwrap();
            let mut output = command.take_output().unwrap();
            let (mut said, mut complained) = (String::new(), String::new());
            patiently(output.read_to_string(&mut said)).await.unwrap();
            patiently(errors.read_to_string(&mut complained))
                .await
                .unwrap();
            assert_eq!((said.as_str(), complained.as_str()), ("out\n", "err\n"));
            let both = bench.run(&["sh", "-c", "echo out; echo err >&2"]).await;
            assert_eq!(both.output, "out\nerr\n");
        }
        let request = bench.request(&["/nowhere/at-all"]);
        let (mut command, _errors) = patiently(bench.host.spawn_apart(request)).await.unwrap();
        let why = patiently(command.exited()).await.unwrap_err().to_string();
        assert!(why.contains("No such file or directory"), "{why}");
    }
}
