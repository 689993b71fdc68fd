//! What a settings file may say, and how its faults are told.

use super::*;

fn file(text: &str, is_of_project: bool) -> SettingsFile {
    let source = SourceFile {
        path: "ahma.toml".into(),
        content: Ok(text.as_bytes().to_vec()),
    };
    read(source, is_of_project)
}

fn faults(text: &str, is_of_project: bool) -> Vec<String> {
    let file = file(text, is_of_project);
    let line = |it: &Fault| {
        let hint = it.hint.as_deref().unwrap_or_default();
        format!("{}:{} {}; {hint}", it.line, it.column, it.message)
    };
    file.faults.iter().map(line).collect()
}

/// Proves: P70.
#[test]
fn what_a_file_says_is_read_by_names_of_flags() {
    let text = "# mine\n[server]\nnetwork = \"off\"\ntimeout = 1_000\nsandbox-read = [\"~/data\"]\n\n\
        [scope.\"~/a\"]\nno-shell = true\n\n[profile.mine]\ndescription = \"Mine.\"\npass-env = [\"TOKEN\"]\n";
    let file = file(text, false);
    assert_eq!(file.faults, []);
    let shown = |all: &[Given]| -> Vec<String> {
        let one = |it: &Given| format!("{}: {} = {}", it.line, it.key.name, it.values.join(" "));
        all.iter().map(one).collect()
    };
    assert_eq!(
        shown(&file.server),
        [
            "3: network = off",
            "4: timeout = 1000",
            "5: sandbox-read = ~/data"
        ]
    );
    assert_eq!(shown(&file.scopes[0].1), ["8: no-shell = true"]);
    assert_eq!(shown(&file.profiles[0].1), ["12: pass-env = TOKEN"]);
}

/// Proves: P71.
#[test]
fn every_fault_is_told_with_its_place_and_what_to_do() {
    let text = "[servr]\n[server]\nnetwrok = \"off\"\nnetwork = \"of\"\ntimeout = 0\nsandbox-read = \"~/a\"\n\
        sandbox-write = [\"data\"]\nno-shell = \"yes\"\n[scope.\"/a\"]\nmode = \"http\"\n[profile.p]\ntimeout = 1\n";
    assert_eq!(
        faults(text, false),
        [
            "1:2 unknown table or setting `servr`; did you mean `server`?",
            "3:1 unknown setting `netwrok`; did you mean `network`?",
            "4:11 this is not a value of `network`; did you mean `off`? allowed: on, off",
            "5:11 this is not a value of `timeout`; write a whole number from 1 to 86400",
            "6:16 `sandbox-read` is a list; write a list: `sandbox-read = [\"…\"]`",
            "7:18 `data` does not say where it is; begin with `/`, `~` or `${HOME}`: the file is for servers that start anywhere",
            "8:12 this is not a value of `no-shell`; write `true` or `false`",
            "10:1 `mode` belongs to the server, not to one project; put it below `[server]`",
            "12:1 `timeout` is not a part of a profile; a profile has `sandbox-read`, `sandbox-write`, `pass-env` and a `description`",
        ]
    );
    assert_eq!(
        faults("network = \"off\"\n", false),
        [
            "1:1 unknown table or setting `network`; settings stand below `[server]`, or below `[scope.\"PATH\"]` for one project"
        ]
    );
    let broken = faults("[server]\nnetwork = off\n", false);
    assert!(broken[0].starts_with("2:11 not valid TOML: "), "{broken:?}");
}

/// Proves: P72.
#[test]
fn a_file_of_the_project_can_only_take_away() {
    let narrow = "[server]\nnetwork = \"off\"\nno-shell = true\nprotect = [\"Cargo.toml\"]\ntimeout = 10\ntools = [\"git\"]\n";
    assert_eq!(faults(narrow, true), Vec::<String>::new());
    let all = KEYS.iter().filter(|it| it.narrowing == Narrowing::No);
    for key in all {
        let value = match key.kind {
            Kind::Switch => "true".to_owned(),
            Kind::Number(least, _) => least.to_string(),
            Kind::Choice(all) => format!("\"{}\"", all[0]),
            Kind::Text | Kind::Path => "\"/a\"".to_owned(),
            _ => "[\"/a\"]".to_owned(),
        };
        let text = format!("[server]\n{} = {value}\n", key.name);
        assert_eq!(faults(&text, false), Vec::<String>::new(), "{text}");
        let found = faults(&text, true);
        assert!(found[0].contains("cannot set"), "{text}: {found:?}");
    }
    let wide = "[server]\nnetwork = \"on\"\nno-shell = false\nhome = \"keep\"\nuser-path = \"on\"\n[scope.\"/a\"]\n[profile.a]\n";
    let found = faults(wide, true);
    assert_eq!(found.len(), 6, "{found:?}");
}
