//! What the operator decided, from arguments and environment.

use clap::Parser as _;

use super::*;

fn resolved(
    arguments: &[&str],
    variables: &[(&str, &str)],
    directory: &Path,
) -> Result<Settings, SettingsError> {
    let args = Args::parse_from([&["ahma_mcp"], arguments].concat());
    let environment = variables
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    Settings::resolve(
        &args,
        &environment,
        &UserDirectories::default(),
        directory,
        None,
    )
}

/// Proves: S5.
#[test]
fn a_flag_beats_a_variable_beats_the_working_directory() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    let [by_flag, by_variable, here] = ["flag", "variable", "here"].map(|name| root.join(name));
    for directory in [&by_flag, &by_variable, &here] {
        std::fs::create_dir(directory).unwrap();
    }
    let flag = by_flag.to_str().unwrap();
    let variable = [("AHMA_SANDBOX_SCOPE", by_variable.to_str().unwrap())];
    let scope = |arguments: &[&str], variables: &[(&str, &str)]| {
        resolved(arguments, variables, &here)
            .unwrap()
            .scope
            .directory
    };
    assert_eq!(scope(&["--sandbox-scope", flag], &variable), by_flag);
    assert_eq!(scope(&[], &variable), by_variable);
    assert_eq!(scope(&[], &[]), here);
    assert_eq!(
        scope(&["--sandbox-scope", "../flag"], &[]),
        by_flag,
        "relative to here"
    );
}

#[test]
fn the_root_and_the_home_directory_need_to_be_allowed() {
    let home = tempfile::tempdir().unwrap();
    let variables = [("HOME", home.path().to_str().unwrap())];
    let refused = resolved(&[], &variables, home.path());
    assert!(
        matches!(refused, Err(SettingsError::Scope(ScopeError::Home(_)))),
        "{refused:?}"
    );
    let refused = resolved(&[], &variables, Path::new("/")).unwrap_err();
    assert_eq!(refused, SettingsError::Scope(ScopeError::Root));
    assert!(resolved(&["--allow-wide-scope"], &variables, Path::new("/")).is_ok());
}

/// Proves: S18.
#[test]
fn network_and_sandbox_follow_flag_and_variable() {
    let here = tempfile::tempdir().unwrap();
    let settings = |arguments: &[&str], variables: &[(&str, &str)]| {
        resolved(arguments, variables, here.path()).unwrap()
    };
    assert_eq!(settings(&[], &[]).scope.network, Network::On);
    assert_eq!(
        settings(&[], &[("AHMA_NETWORK", "off")]).scope.network,
        Network::Off
    );
    assert_eq!(
        settings(&["--network", "on"], &[("AHMA_NETWORK", "off")])
            .scope
            .network,
        Network::On
    );
    assert!(!settings(&[], &[("AHMA_NO_SANDBOX", "0")]).scope.unconfined);
    assert!(settings(&[], &[("AHMA_NO_SANDBOX", "1")]).scope.unconfined);
    assert!(settings(&["--no-sandbox"], &[]).scope.unconfined);
    let wrong = resolved(&[], &[("AHMA_NETWORK", "maybe")], here.path()).unwrap_err();
    assert_eq!(wrong, SettingsError::Network("maybe".to_owned()));
}

/// Proves: S64.
#[test]
fn flags_without_effect_and_grants_of_everything_are_refused() {
    let base = tempfile::tempdir().unwrap();
    let home = base.path().canonicalize().unwrap();
    let project = home.join("project");
    std::fs::create_dir(&project).unwrap();
    let variables = [("HOME", home.to_str().unwrap())];
    for (arguments, part) in [
        (&["--http-port", "4242"][..], "--http-port needs HTTP"),
        (&["--http-token", "off"], "--http-token needs HTTP"),
        (&["--rate-limit", "1"], "--rate-limit needs HTTP"),
        (&["--sandbox-write", "/"], "--sandbox-write / would grant"),
        (&["--sandbox-read", "~"], "would grant commands everything"),
        (&["--protect", "/etc/passwd"], "is not in the scope"),
        (&["--unprotect", "../x"], "is not in the scope"),
        (&["--sandbox-scope", "/nope"], "name an existing directory"),
    ] {
        let refused = resolved(arguments, &variables, &project)
            .unwrap_err()
            .to_string();
        assert!(refused.contains(part), "{arguments:?}: {refused}");
        // Nothing helps where everything is in reach.
        let helps = refused.contains("--allow-wide-scope");
        assert_eq!(helps, arguments[1] == "~", "{arguments:?}: {refused}");
    }
    assert!(resolved(&["--protect", "keep"], &variables, &project).is_ok());
}

/// Proves: S64.
#[test]
fn the_home_directory_is_filled_in() {
    let base = tempfile::tempdir().unwrap();
    let home = base.path().canonicalize().unwrap();
    for name in ["project", "tools"] {
        std::fs::create_dir(home.join(name)).unwrap();
    }
    let variables = [("HOME", home.to_str().unwrap())];
    let arguments = [
        "--sandbox-scope",
        "~/project",
        "--sandbox-read",
        "${HOME}/tools",
    ];
    let settings = resolved(&arguments, &variables, Path::new("/")).unwrap();
    assert_eq!(settings.scope.directory, home.join("project"));
    assert_eq!(settings.scope.read, [home.join("tools")]);
}

#[test]
fn a_grant_must_exist() {
    let here = tempfile::tempdir().unwrap();
    let wrong = resolved(&["--sandbox-read", "nowhere"], &[], here.path());
    assert!(
        matches!(wrong, Err(SettingsError::Grant { .. })),
        "{wrong:?}"
    );
}

/// Proves: T4.
#[test]
fn a_relative_tools_directory_is_that_of_the_working_directory() {
    let here = tempfile::tempdir().unwrap();
    let directories = |arguments: &[&str], variables: &[(&str, &str)]| {
        let settings = resolved(arguments, variables, here.path()).unwrap();
        settings.scope.tool_files.directories
    };
    let expected = [here.path().join("my-tools")];
    assert_eq!(directories(&["--tools-dir", "my-tools"], &[]), expected);
    assert_eq!(directories(&["--tools-dir", "./my-tools"], &[]), expected);
    assert_eq!(
        directories(&[], &[("AHMA_TOOLS_DIR", "my-tools")]),
        expected
    );
}
