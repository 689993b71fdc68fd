//! The file with the token of a project: made once, and read by nobody but its user.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use ahma_contract::{Token, random_hex};

/// More than any token has.
const MAX_FILE_LEN: u64 = 4096;

/// The token in a file, which is made when it is not there.
pub(super) fn read_or_make(file: &Path) -> Result<Token, String> {
    let failed = |error: io::Error| {
        let hint = "remove the file, or choose a token with AHMA_HTTP_TOKEN";
        format!(
            "the token file {} cannot be used: {error}\nhint: {hint}",
            file.display()
        )
    };
    match read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make(file).map_err(failed)?;
            // Another server may have been faster; its token counts.
            read(file).map_err(failed)
        }
        read => read.map_err(failed),
    }
}

/// The token in a file, where there is one.
pub(super) fn read(file: &Path) -> io::Result<Token> {
    let no_link = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(no_link)
        .open(file)?;
    let about = file.metadata()?;
    if !about.is_file() || about.mode() & 0o077 != 0 {
        return Err(io::Error::other("others than its owner can read it"));
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to somebody else"));
    }
    let mut text = String::new();
    file.take(MAX_FILE_LEN).read_to_string(&mut text)?;
    Token::new(text.trim()).map_err(io::Error::other)
}

/// Makes the file whole or not at all: it is written under another name and then given its own.
fn make(file: &Path) -> io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("/"));
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let draft = directory.join(format!(".http-token-{}", random_hex(16)?));
    let mut written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)?;
    let token = Token::random()?;
    let given = written
        .write_all(format!("{}\n", token.reveal()).as_bytes())
        .and_then(|()| match fs::hard_link(&draft, file) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        });
    let _ = fs::remove_file(&draft);
    given
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_token_is_made_once_and_is_nobody_elses() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("a/b/http-token");
        let token = read_or_make(&file).unwrap();
        assert_eq!(read_or_make(&file).unwrap(), token);
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&file), 0o600);
        assert_eq!(mode(file.parent().unwrap()), 0o700);
        let left = file.parent().unwrap().read_dir().unwrap().count();
        assert_eq!(left, 1, "no draft is left");
    }

    #[test]
    fn many_servers_that_start_at_once_agree_on_one() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("http-token");
        let tokens: Vec<Token> = std::thread::scope(|scope| {
            let starting: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| read_or_make(&file).unwrap()))
                .collect();
            starting.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert!(tokens.iter().all(|token| *token == tokens[0]));
    }

    #[test]
    fn a_file_that_others_can_read_or_that_is_a_link_is_not_trusted() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("http-token");
        read_or_make(&file).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let refused = read_or_make(&file).unwrap_err();
        assert!(refused.contains("others"), "{refused}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let link = home.path().join("link");
        symlink(&file, &link).unwrap();
        assert!(read_or_make(&link).is_err());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests may block")]
    fn what_is_no_token_is_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("http-token");
        fs::write(&file, "short").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let refused = read_or_make(&file).unwrap_err();
        assert!(refused.contains("remove the file"), "{refused}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "short");
    }
}
