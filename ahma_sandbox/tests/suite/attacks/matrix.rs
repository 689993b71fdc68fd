//! The table of the documents, made by making every attack in every sandbox.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use super::{Sandbox, User, battlefield};

const SANDBOXES: [(Sandbox, &str); 9] = [
    (Sandbox::Full, "all layers"),
    (Sandbox::FullByFork, "all, by fork"),
    (Sandbox::FullFromAWarmShell, "all, warm shell"),
    (Sandbox::FullInAStandbyHost, "all, standby host"),
    (Sandbox::FullWithoutNetwork, "all, network off"),
    (Sandbox::NoSeccomp, "no seccomp"),
    (Sandbox::FirstLandlock, "first Landlock"),
    (Sandbox::NoUserNamespaces, "no user namespaces"),
    (
        Sandbox::FirstLandlockNoUserNamespaces,
        "first Landlock, no user namespaces",
    ),
];

const DOCUMENT: &str = "docs/attack-matrix.md";

/// Who reaches something by each attack in each sandbox.
#[derive(Default)]
struct Matrix {
    by_attack: BTreeMap<String, BTreeMap<&'static str, BTreeSet<&'static str>>>,
    attacks: usize,
}

impl Matrix {
    fn add(&mut self, user: User, sandbox: (Sandbox, &'static str)) {
        let name = match user {
            User::Tester => "root",
            User::Nobody => "user",
        };
        let outcome = battlefield::confined(user, sandbox.0);
        self.attacks = outcome.results.len();
        for attack in outcome.reached() {
            let of_attack = self.by_attack.entry(attack.replace('_', " ")).or_default();
            of_attack.entry(sandbox.1).or_default().insert(name);
        }
    }

    fn table(&self) -> String {
        let names: Vec<&str> = SANDBOXES.iter().map(|(_, name)| *name).collect();
        let mut table = format!("| attack | {} |\n", names.join(" | "));
        let _ = writeln!(table, "|---|{}", "---|".repeat(names.len()));
        for (attack, by_sandbox) in &self.by_attack {
            let cells = names.iter().map(|name| match by_sandbox.get(name) {
                Some(users) if users.len() == 2 => "yes".to_owned(),
                Some(users) => users.iter().copied().collect::<Vec<_>>().join(", "),
                None => String::new(),
            });
            let cells: Vec<String> = cells.collect();
            let _ = writeln!(table, "| {attack} | {} |", cells.join(" | "));
        }
        let _ = writeln!(
            table,
            "| the other {} | {}",
            self.attacks - self.by_attack.len(),
            " |".repeat(names.len())
        );
        table
    }
}

/// Proves: S45.
#[test]
#[ignore = "needs root, to be two users; CI runs it"]
fn the_documents_show_what_the_attacks_reach() {
    let mut matrix = Matrix::default();
    for user in [User::Tester, User::Nobody] {
        for sandbox in SANDBOXES {
            matrix.add(user, sandbox);
        }
    }
    let table = matrix.table();
    println!("{table}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let document = std::fs::read_to_string(root.join(DOCUMENT)).unwrap();
    assert!(
        document.contains(&table),
        "{DOCUMENT} does not hold this table:\n{table}"
    );
}
