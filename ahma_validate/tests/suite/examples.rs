//! The example projects, checked by the command that their READMEs name.

use std::fs;

use ahma_tests::{Workspace, repository};

use crate::AHMA_VALIDATE;

/// Proves: P84.
#[test]
fn the_example_projects_are_without_faults_and_warnings() {
    for name in ["rust_project", "node_project", "python_project"] {
        let project = repository().join("examples").join(name);
        let readme = fs::read_to_string(project.join("README.md")).unwrap();
        assert!(readme.contains("```sh\nahma_validate "), "{name}");
        let directory = project.to_str().unwrap();
        let words = ["-c", "cd \"$1\" && exec \"$0\"", AHMA_VALIDATE, directory];
        let finished = Workspace::new().run("sh", &words);
        assert_eq!(finished.code, 0, "{name}: {finished:?}");
        assert!(!finished.stdout.contains("warning"), "{name}: {finished:?}");
        assert_eq!(finished.stderr, "", "{name}");
    }
}
