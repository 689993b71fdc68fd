//! Files and tokens by which the user proves who they are, and which commands do not have.

use std::path::Path;

use super::case::{Case, Named};
use super::complaints::Complaint;
use super::denied::{Denial, DenialKind};
use super::hosts::hosts_in;
use super::phrases::Class;
use super::places::shown;

/// Names below the home directory; with a slash at the end, all that is below.
const FILES: [&str; 31] = [
    ".aws/",
    ".ssh/",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".config/gh/",
    ".config/glab-cli/",
    ".config/hub",
    ".docker/config.json",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gnupg/",
    ".config/gcloud/",
    ".azure/",
    ".vault-token",
    ".pgpass",
    ".my.cnf",
    ".terraform.d/",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gem/credentials",
    ".config/rclone/",
    ".boto",
    ".s3cfg",
    ".config/op/",
    ".password-store/",
    ".config/git/credentials",
    ".databrickscfg",
];

/// Messages of programs that miss a credential without naming the file it would be in.
const KEPT: [(&str, &str); 17] = [
    ("az login", ".azure"),
    ("docker login", ".docker/config.json"),
    ("npm login", ".npmrc"),
    ("vault login", ".vault-token"),
    ("authentication agent", ".ssh"),
    ("config profile (default)", ".aws/credentials"),
    ("unable to locate credentials", ".aws/credentials"),
    ("nocredentialserror", ".aws/credentials"),
    ("could not load credentials", ".aws/credentials"),
    ("aws configure", ".aws/credentials"),
    ("gh auth login", ".config/gh/hosts.yml"),
    ("permission denied (publickey", ".ssh"),
    ("host key verification failed", ".ssh/known_hosts"),
    ("eneedauth", ".npmrc"),
    ("gpg failed to sign", ".gnupg"),
    (
        "default credentials",
        ".config/gcloud/application_default_credentials.json",
    ),
    ("no configuration has been provided", ".kube/config"),
];

/// Whether a path of the user's home holds credentials, as far as its name tells.
pub(super) fn is_credential(path: &Path, home: Option<&Path>) -> bool {
    let below = home.and_then(|home| path.strip_prefix(home).ok());
    let Some(below) = below.map(|it| it.to_string_lossy().into_owned()) else {
        return false;
    };
    let is_public = Path::new(&below).extension().is_some_and(|it| it == "pub");
    let mut files = FILES.iter();
    !is_public
        && files.any(|file| match file.strip_suffix('/') {
            Some(directory) => below == directory || below.starts_with(file),
            None => below == *file,
        })
}

pub(super) fn missing(named: &Named) -> Denial {
    let Named { name, path } = named;
    Denial {
        kind: DenialKind::CredentialMissing,
        subject: name.clone(),
        owner_can: format!(
            "--pass-env of a token, or --sandbox-read {}",
            path.display()
        ),
        text: format!(
            "{name} would hold credentials of the user, which commands do not get: trying again will not help. The \
             owner can pass a token in a variable with `--pass-env NAME`, or let commands read the file with \
             `--sandbox-read {}`.",
            shown(path)
        ),
    }
}

/// A program that asks who the user is, or says that it was not told.
pub(super) fn judge(case: &Case<'_>, complaint: &Complaint) -> Option<Denial> {
    if !complaint.says(Class::Credential) {
        return None;
    }
    let line = complaint.line.to_lowercase();
    // A program that is told to look there did not find who the user is.
    let is_netrc = line.contains("error: 401") && case.script.text.contains("netrc");
    if is_netrc {
        let path = case.view.user_home?.join(".netrc");
        return Some(missing(&Named {
            name: "~/.netrc".to_owned(),
            path,
        }));
    }
    let kept = KEPT.iter().find(|(message, _)| line.contains(message));
    if let Some((_, file)) = kept {
        let path = case.view.user_home?.join(file);
        return Some(missing(&Named {
            name: format!("~/{file}"),
            path,
        }));
    }
    let asks = line.contains("could not read username")
        || line.contains("could not read password")
        || line.contains("terminal prompts disabled");
    let host = hosts_in(&complaint.line)
        .into_iter()
        .next()
        .filter(|_| asks)?;
    Some(token(&host.name))
}

pub(super) fn token(host: &str) -> Denial {
    Denial {
        kind: DenialKind::CredentialMissing,
        subject: host.to_owned(),
        owner_can: "--pass-env of a token".to_owned(),
        text: format!(
            "{host} asked who the user is, and commands have neither the user's credentials nor anyone to ask: \
             trying again will not help. The owner can pass a token in a variable with `--pass-env NAME`."
        ),
    }
}
