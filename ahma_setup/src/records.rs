//! What is remembered of every file that was changed: its bytes from before the first change, what was changed, and what it
//! looked like afterwards. Kept out of reach of commands and of other users; what is not is not believed.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::client::{Client, Level};
use super::edit::Edit;
use super::file;
use super::refusal::Refusal;
use super::text::Language;

const VERSION: u32 = 1;
const RECORD: &str = "record.json";
const BEFORE: &str = "before";

/// Where records are.
#[derive(Debug, Clone)]
pub struct Records {
    directory: PathBuf,
}

/// While it lives, nobody else changes records.
pub struct Lock {
    _file: File,
}

/// What is remembered of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    /// Without links.
    pub(crate) file: PathBuf,
    pub(crate) language: Language,
    pub(crate) level: Level,
    /// Where it is one of a project.
    pub(crate) project: Option<PathBuf>,
    pub(crate) existed: bool,
    /// Directories that were made for it, the innermost first.
    pub(crate) made_directories: Vec<PathBuf>,
    /// The hash of what was written last.
    pub(crate) written: String,
    /// Whether nobody else changed it between our changes; its old bytes are all that it was then.
    pub(crate) is_whole: bool,
    pub(crate) edits: Vec<ClientEdit>,
}

/// A change for a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClientEdit {
    pub(crate) client: Client,
    pub(crate) edit: Edit,
}

impl Record {
    pub(crate) fn new(file: &Path, language: Language, level: Level, project: &Path) -> Self {
        Record {
            version: VERSION,
            file: file.to_owned(),
            language,
            level,
            project: (level == Level::Project).then(|| project.to_owned()),
            existed: false,
            made_directories: Vec::new(),
            written: String::new(),
            is_whole: true,
            edits: Vec::new(),
        }
    }
}

impl Records {
    /// Those in the user's state directory.
    pub fn in_state_directory(state: &Path) -> Self {
        Records {
            directory: state.join("setup"),
        }
    }

    /// Makes the place for them, and waits for nobody who uses it.
    pub fn lock(&self) -> Result<Lock, Refusal> {
        let failed = |error: io::Error| Refusal::of_io(&self.directory, "used", &error);
        let mut builder = DirBuilder::new();
        let builder = builder.recursive(true).mode(0o700);
        builder.create(&self.directory).map_err(failed)?;
        self.check_private()?;
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(self.directory.join("lock")).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Refusal::new(
                "another setup is at work",
                "wait until it has ended",
            )),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Whoever can write them decides what files become.
    fn check_private(&self) -> Result<(), Refusal> {
        let directory = &self.directory;
        let about = fs::symlink_metadata(directory);
        let about = about.map_err(|error| Refusal::of_io(directory, "used", &error))?;
        let is_own = about.uid() == rustix::process::geteuid().as_raw();
        if about.is_dir() && is_own && about.mode() & 0o077 == 0 {
            return Ok(());
        }
        Err(Refusal::new(
            format!("others could write the backups in {}", directory.display()),
            format!(
                "look at what is there, then: chmod 700 {}",
                directory.display()
            ),
        ))
    }

    /// The record of a file, with its bytes from before.
    pub(crate) fn of(&self, file: &Path) -> Result<Option<(Record, Vec<u8>)>, Refusal> {
        self.load(&self.place(file))
    }

    /// All of them, by the paths of their files.
    pub(crate) fn all(&self) -> Result<Vec<(Record, Vec<u8>)>, Refusal> {
        let failed = |error: io::Error| Refusal::of_io(&self.directory, "read", &error);
        let entries = match self.directory.read_dir() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        self.check_private()?;
        let mut all = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                all.extend(self.load(&path)?);
            }
        }
        all.sort_by(|(one, _), (other, _)| one.file.cmp(&other.file));
        Ok(all)
    }

    /// Where the bytes of a file are that it had before.
    pub(crate) fn backup(&self, file: &Path) -> PathBuf {
        self.place(file).join(BEFORE)
    }

    pub(crate) fn put(&self, record: &Record, before: Option<&[u8]>) -> Result<(), Refusal> {
        let place = self.place(&record.file);
        let failed = |error: io::Error| Refusal::of_io(&place, "written", &error);
        let mut builder = DirBuilder::new();
        let builder = builder.recursive(true).mode(0o700);
        builder.create(&place).map_err(failed)?;
        let write = |name: &str, bytes: &[u8]| -> io::Result<()> {
            let mut draft = tempfile::NamedTempFile::new_in(&place)?;
            draft.write_all(bytes)?;
            draft.as_file().sync_all()?;
            draft.persist(place.join(name))?;
            Ok(())
        };
        write(BEFORE, before.unwrap_or_default()).map_err(failed)?;
        let document = serde_json::to_vec_pretty(record).map_err(io::Error::other);
        write(RECORD, &document.map_err(failed)?).map_err(failed)
    }

    pub(crate) fn forget(&self, file: &Path) -> Result<(), Refusal> {
        let place = self.place(file);
        match fs::remove_dir_all(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(|error| Refusal::of_io(&place, "removed", &error)),
        }
    }

    fn load(&self, place: &Path) -> Result<Option<(Record, Vec<u8>)>, Refusal> {
        let path = place.join(RECORD);
        let Some(document) = file::read(&path)? else {
            return Ok(None);
        };
        self.check_private()?;
        let broken = || {
            Refusal::new(
                format!("the record {} cannot be read", path.display()),
                "restore the file by hand from `before` beside it, and remove that directory",
            )
        };
        let record: Record = serde_json::from_slice(&document).map_err(|_| broken())?;
        if record.version != VERSION || self.place(&record.file) != place {
            return Err(broken());
        }
        let before = file::read(&place.join(BEFORE))?.ok_or_else(broken)?;
        Ok(Some((record, before)))
    }

    fn place(&self, file: &Path) -> PathBuf {
        let name = hash(file.as_os_str().as_encoded_bytes());
        self.directory.join(&name[..32])
    }
}

/// What bytes are recognised by.
pub(crate) fn hash(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}
