//! Programs whose output is a picture or a sound: its bytes, or the path of a file.

use std::fs;
use std::os::unix::fs::symlink;

use ahma_tests::Workspace;
use data_encoding::BASE64;
use serde_json::{Value, json};

use super::Served;
use super::scripted::{add_python, texts, whole};

/// What a picture begins with.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde";
const GIF: &[u8] = b"GIF89a\x01\0\x01\0\x80\x01\0\0\0\0\xff\xff\xff;";
const WAV: &[u8] = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0";
const SVG: &[u8] = b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>";

/// A project with these files and a tool, called `run`, that writes what is in the file `out`.
fn showing(kind: &str, files: &[(&str, &[u8])]) -> Workspace {
    let project = Workspace::new();
    let program = "import shutil, sys; shutil.copyfileobj(open('out', 'rb'), sys.stdout.buffer)";
    add_python(&project, "run", &json!({ "output": kind }), program);
    for (name, content) in files {
        project.write(name, content);
    }
    project
}

fn result_of(project: Workspace) -> Value {
    let mut served = Served::of(project, &[]);
    whole(&mut served.client, "run")
}

/// What a tool of this kind says of these bytes.
fn refusal(kind: &str, out: &[u8]) -> String {
    let result = result_of(showing(kind, &[("out", out)]));
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
    texts(&result)[0].to_owned()
}

/// Proves: T58.
#[test]
fn bytes_on_standard_output_are_a_picture_or_sound_of_the_type_that_they_have() {
    let long = [PNG, &vec![7; 500_000]].concat();
    for (kind, out, mime_type) in [
        ("image", PNG, "image/png"),
        ("image", GIF, "image/gif"),
        ("image", SVG, "image/svg+xml"),
        ("image", &long, "image/png"),
        ("audio", WAV, "audio/wav"),
    ] {
        let result = result_of(showing(kind, &[("out", out)]));
        let block = json!({ "type": kind, "data": BASE64.encode(out), "mimeType": mime_type });
        assert!(result["content"][0] == block, "{mime_type}");
        let text = result["content"][1]["text"].as_str().unwrap();
        assert!(text.starts_with("[op_"), "{text}");
        assert_eq!(result["isError"], false);
    }
}

/// Proves: T58.
#[test]
fn a_path_on_standard_output_stands_for_the_file() {
    for (path, name) in [
        ("shots/one.png\n", "shots/one.png"),
        ("./shots/../one two.png", "one two.png"),
        // Names that begin as pictures do.
        ("GIF/BM.gif\r\n", "GIF/BM.gif"),
    ] {
        let result = result_of(showing("image", &[("out", path.as_bytes()), (name, PNG)]));
        let expected =
            json!({ "type": "image", "data": BASE64.encode(PNG), "mimeType": "image/png" });
        assert_eq!(result["content"][0], expected, "{path}");
    }
    let project = showing("audio", &[("beep.wav", WAV)]);
    let whole_path = project.path().canonicalize().unwrap().join("beep.wav");
    project.write("out", whole_path.to_str().unwrap());
    assert_eq!(result_of(project)["content"][0]["mimeType"], "audio/wav");
}

/// The server, which reads the file, is not confined itself.
///
/// Proves: T58.
#[test]
fn nothing_but_an_ordinary_file_of_the_scope_is_read() {
    let outside = Workspace::new();
    outside.write("secret.png", PNG);
    let secret = outside.path().join("secret.png");
    let refused = |prepare: &dyn Fn(&Workspace), named: &str| {
        let project = showing("image", &[("out", named.as_bytes())]);
        prepare(&project);
        let result = result_of(project);
        assert_eq!(result["isError"], true, "{named}: {result}");
        assert!(!result.to_string().contains("iVBOR"), "{named}: {result}");
        texts(&result)[0].to_owned()
    };
    let not_in_scope = "is not in the scope; the command has to write it below ";
    let named = secret.to_str().unwrap();
    assert!(refused(&|_| {}, named).contains(not_in_scope));
    let directory = outside.path().file_name().unwrap().to_str().unwrap();
    let up = format!("../{directory}/secret.png");
    assert!(refused(&|_| {}, &up).contains(not_in_scope), "{up}");
    let not_read = ", which the command names, cannot be read: ";
    let link = |project: &Workspace| symlink(&secret, project.path().join("a.png")).unwrap();
    assert!(refused(&link, "a.png").contains(not_read));
    let inner = |project: &Workspace| {
        symlink(outside.path(), project.path().join("linked")).unwrap();
    };
    assert!(refused(&inner, "linked/secret.png").contains(not_read));
    let pipe = |project: &Workspace| {
        assert_eq!(project.run("mkfifo", &["a.png"]).code, 0);
    };
    assert!(refused(&pipe, "a.png").contains("it is no ordinary file"));
    let directory = |project: &Workspace| project.make_directory("a.png");
    assert!(refused(&directory, "a.png").contains("it is no ordinary file"));
    assert!(refused(&|_| {}, "a.png").contains("a.png, which the command names, cannot be read"));
    // The same picture in the scope is read.
    let project = showing("image", &[("out", b"a.png")]);
    fs::copy(&secret, project.path().join("a.png")).unwrap();
    assert_eq!(result_of(project)["content"][0]["type"], "image");
}

/// Proves: T58.
#[test]
fn a_path_is_resolved_where_the_command_runs() {
    let project = showing(
        "image",
        &[("sub/out", b"a.png"), ("sub/a.png", GIF), ("a.png", PNG)],
    );
    let program = fs::read(project.path().join("run.py")).unwrap();
    project.write("sub/run.py", program);
    let mut served = Served::of(project, &[]);
    let params = json!({ "name": "run", "arguments": { "working_directory": "sub" } });
    let answer = served.client.request("tools/call", &params);
    let block = &answer["result"]["content"][0];
    assert_eq!(block["mimeType"], "image/gif", "{answer}");
}

/// Proves: T58.
#[test]
fn what_is_no_picture_is_refused_and_the_type_can_be_given() {
    assert!(refusal("image", b"").starts_with("the command wrote no picture\n"));
    assert!(refusal("audio", b"").starts_with("the command wrote no sound\n"));
    let unknown = "what the command wrote is not a picture of a known type; `mime_type` of its tool file can say";
    assert!(refusal("image", b"\x01\x02\x03").starts_with(unknown));
    assert!(refusal("image", b"two\nlines\n").starts_with(unknown));
    let other = "what the command wrote is of the type audio/wav, and not a picture\n";
    assert!(refusal("image", WAV).starts_with(other));
    let other = "what the command wrote is of the type image/png, and not a sound\n";
    assert!(refusal("audio", PNG).starts_with(other));

    let project = showing("image", &[("out", b"\x01\x02\x03")]);
    let fields = json!({ "output": "image", "mime_type": "image/x-own" });
    let program = fs::read_to_string(project.path().join("run.py")).unwrap();
    add_python(&project, "run", &fields, &program);
    let block = json!({ "type": "image", "data": "AQID", "mimeType": "image/x-own" });
    assert_eq!(result_of(project)["content"][0], block);
}

/// Proves: T58.
#[test]
fn what_is_larger_than_10_mib_is_refused_from_a_pipe_and_from_a_file() {
    let most = [PNG, &vec![1; (10 << 20) - PNG.len()]].concat();
    let more = [most.as_slice(), b"\x01"].concat();
    let expected =
        "the picture has 10485761 bytes or more; at most 10 MiB are passed on. Make it smaller";
    assert!(refusal("image", &more).starts_with(expected));
    let project = showing("image", &[("out", b"a.png"), ("a.png", &more)]);
    let result = result_of(project);
    assert!(
        texts(&result)[0].starts_with(expected),
        "{:?}",
        texts(&result)
    );
    let result = result_of(showing("image", &[("out", &most)]));
    let data = result["content"][0]["data"].as_str().unwrap();
    assert!(data == BASE64.encode(&most));
}

/// Proves: T58.
#[test]
fn a_command_that_fails_shows_what_it_wrote_and_no_picture() {
    let project = Workspace::new();
    let program = "import sys; sys.stderr.write('no display\\n'); sys.stderr.flush(); print('usage: run'); sys.exit(1)";
    add_python(&project, "run", &json!({ "output": "image" }), program);
    let result = result_of(project);
    assert_eq!(result["isError"], true);
    let texts = texts(&result);
    assert!(
        texts[0].starts_with("no display\nusage: run\n[op_"),
        "{texts:?}"
    );
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
}
