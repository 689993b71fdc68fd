//! How programs say what went wrong, in English, German and French and by the names of errors.
//!
//! A table of phrases. Must not know what a phrase means for a sandbox.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

/// What a phrase says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Class {
    NotFound,
    ReadOnly,
    NotPermitted,
    Denied,
    Busy,
    NoSpace,
    TooLarge,
    TooManyFiles,
    NoProcess,
    NoMemory,
    NoTerminal,
    /// A name that could not be looked up, or a machine that could not be reached.
    Unreachable,
    NoCommand,
    Credential,
    Invalid,
    /// Something is wrong; the line does not say what in words that are known.
    Trouble,
}

/// The phrases of each class, in lower case.
const PHRASES: [(Class, &str); 16] = [
    (
        Class::NotFound,
        "no such file or directory|no such file|datei oder verzeichnis nicht gefunden|\
         aucun fichier ou dossier de ce type|enoent|filenotfounderror|filenotfoundexception|\
         directory nonexistent|nosuchfileexception|kind: notfound|[errno 2]|(os error 2)|\
         file not found|no module named|cannot find module|could not find or load main class|classnotfoundexception|directory not found|\
         no such device or address|bad file descriptor",
    ),
    (
        Class::ReadOnly,
        "read-only file system|read only file system|readonly file system|erofs|\
         das dateisystem ist nur lesbar|système de fichiers accessible en lecture seulement|\
         [errno 30]|(os error 30)|readonlyfilesystem",
    ),
    (
        Class::NotPermitted,
        "operation not permitted|eperm|die operation ist nicht erlaubt|\
         vorgang nicht zulässig|opération non permise|[errno 1]|(os error 1)|\
         must be superuser|you must be root|only root can|critical error - immediate abort|\
         must be run as root|are you root|no new privileges|effective uid is not 0|\
         function not implemented|bad system call|setuid bit",
    ),
    (
        Class::Denied,
        "permission denied|eacces|keine berechtigung|permission non accordée|[errno 13]|\
         (os error 13)|accessdeniedexception",
    ),
    (
        Class::Busy,
        "device or resource busy|ebusy|das gerät oder die ressource ist belegt|\
         périphérique ou ressource occupé",
    ),
    (
        Class::NoSpace,
        "no space left on device|enospc|auf dem gerät ist kein speicherplatz mehr verfügbar|\
         aucun espace disponible sur le périphérique|[errno 28]|(os error 28)|\
         disk quota exceeded",
    ),
    (
        Class::TooLarge,
        "file too large|efbig|file size limit exceeded|datei zu groß|fichier trop volumineux|\
         fichier trop grand|[errno 27]|(os error 27)",
    ),
    (
        Class::TooManyFiles,
        "too many open files|emfile|[errno 24]|zu viele offene dateien|\
         trop de fichiers ouverts",
    ),
    (
        Class::NoProcess,
        "cannot fork|can't fork|fork failed|fork: retry|resource temporarily unavailable|\
         can't start new thread|native thread|eagain|failed to create thread|\
         failed to spawn thread|pthread_create|kann nicht verzweigen|newosproc|\
         die ressource ist zur zeit nicht verfügbar|ressource temporairement non disponible|\
         can't create thread|[errno 11]|(os error 11)|new os thread",
    ),
    (
        Class::NoMemory,
        "memoryerror|cannot allocate memory|out of memory|bad_alloc|memory exhausted|enomem|\
         outofmemoryerror|memory allocation of|nicht genügend hauptspeicher|\
         nicht genug speicher|impossible d'allouer de la mémoire|failed to allocate memory|\
         could not reserve enough space|allowed memory size|memory limit exceeded|\
         failed to allocate|unable to allocate|cannot allocate|can't allocate|\
         failed to reserve|allocation failed|not enough memory|insufficient memory|\
         nomemoryerror|process oom|javascript oom|heap limit",
    ),
    (
        Class::NoTerminal,
        "inappropriate ioctl for device|not a terminal|not a tty|failed tty get|enotty|\
         not from a terminal|not to a terminal|setrawmode is not a function|\
         terminal is required|no tty present|unpassender ioctl|ioctl() inapproprié|\
         must be a terminal|error opening terminal|requires a terminal|requires a tty|\
         cbreak() returned err|setupterm: could not find terminal|could not open a new tty|\
         must be connected to a terminal|getpass|no controlling terminal|enter pem pass|\
         enter pass|getting password|unable to get passphrase|reading passphrase|\
         term environment variable not set|no value for $term|standard input is not|\
         can not control echo|eof when reading a line|_curses.error|raw() returned err|\
         noecho() returned err|stdin is not a t|pseudo-terminal will not be allocated",
    ),
    (
        Class::Unreachable,
        "could not resolve host|couldn't resolve host|temporary failure in name resolution|\
         name or service not known|getaddrinfo|eai_again|enotfound|unable to resolve|\
         aufgelöst werden|impossible de résoudre|n'a pu être résolu|unable to look up|\
         could not translate host name|nodename nor servname|failed to lookup address|\
         dns error|temporärer fehler bei der namensauflösung|\
         échec temporaire dans la résolution du nom|no address associated with hostname|\
         unknownhostexception|no such host|server misbehaving|network is unreachable|\
         enetunreach|das netzwerk ist nicht erreichbar|le réseau n'est pas accessible|\
         couldn't connect to server|failed to connect|could not connect|cannot connect|\
         can't connect|unable to connect|failed to fetch|no route to host|\
         from versions: none|temporary failure resolving|name resolution|\
         unable to access 'http|failed to establish a new connection|connection error|\
         connecterror|unable to download|failed to download|no matching distribution|\
         name does not resolve|der name oder der dienst ist nicht bekannt|\
         nom ou service inconnu|dial tcp",
    ),
    (
        Class::NoCommand,
        "command not found|kommando nicht gefunden|befehl nicht gefunden|\
         commande introuvable|: not found|executable file not found|not found in path|\
         not found in $path|not on path|not installed|nicht gefunden|introuvable|\
         no such command|is not a git command|tell me who you are|identity unknown|empty ident name|not found|couldn't find|could not find|\
         unknown command|could not execute process",
    ),
    (
        Class::Credential,
        "could not read username|could not read password|terminal prompts disabled|\
         authentication failed|permission denied (publickey|unable to locate credentials|\
         nocredentialserror|auth login|az login|docker login|npm login|npm adduser|vault login|not logged in|eneedauth|no secret key|\
         secret key not available|host key verification failed|\
         no configuration has been provided|could not find default credentials|\
         default credentials were not found|credentials not found|no credentials|\
         gpg failed to sign|no token found|unable to find credentials|\
         could not load credentials|please run 'aws configure|no identities|\
         authentication agent|no authenticator|authentication required|\
         couldn't load public key|config profile (default)|returned error: 401",
    ),
    (
        Class::Invalid,
        "invalid argument|einval|das argument ist ungültig|argument invalide",
    ),
    (
        Class::Trouble,
        "error|fatal|cannot|can't|can not|could not|couldn't|unable|failed|failure|warning|\
         does not exist|doesn't exist|missing|no such|not exist|nicht|impossible|n'existe|\
         no rule to make target|aucune règle|does not appear|no path found|no input|erreur|\
         fehler|invalid|no matching|no files|no match|is not a valid|not a valid|\
         not accessible|no configuration found|not readable|not a directory",
    ),
];

static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let all = PHRASES.iter().flat_map(|(_, phrases)| phrases.split('|'));
    let mut all: Vec<&str> = all.collect();
    // The alternatives are tried in their order, and a longer one says more.
    all.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
    let escaped: Vec<String> = all.into_iter().map(regex::escape).collect();
    Regex::new(&escaped.join("|")).ok()
});

static CLASSES: LazyLock<HashMap<&str, Class>> = LazyLock::new(|| {
    let all = PHRASES
        .iter()
        .rev()
        .flat_map(|(class, phrases)| phrases.split('|').map(|phrase| (phrase, *class)));
    // Those that come first are the more telling ones.
    all.collect()
});

/// A phrase in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) class: Class,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The phrases in a line, which is in lower case.
pub(super) fn phrases(line: &str) -> Vec<Found> {
    let Some(pattern) = PATTERN.as_ref() else {
        return Vec::new();
    };
    let all = pattern.find_iter(line).take(20);
    let found = all.filter_map(|hit| {
        let class = *CLASSES.get(hit.as_str())?;
        // The names of errors are words of their own.
        let is_name =
            hit.as_str().starts_with('e') && !hit.as_str().contains(' ') && class != Class::Trouble;
        let before = line[..hit.start()].chars().next_back();
        let after = line[hit.end()..].chars().next();
        let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        let is_part = is_name && (is_letter(before) || is_letter(after));
        (!is_part).then_some(Found {
            class,
            start: hit.start(),
            end: hit.end(),
        })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(line: &str) -> Vec<Class> {
        phrases(&line.to_lowercase())
            .iter()
            .map(|found| found.class)
            .collect()
    }

    #[test]
    fn the_table_can_be_searched_for() {
        assert!(PATTERN.is_some());
        assert_eq!(
            classes("cat: x: No such file or directory"),
            [Class::NotFound]
        );
        assert_eq!(
            classes("Datei oder Verzeichnis nicht gefunden"),
            [Class::NotFound]
        );
        assert_eq!(classes("sh: 1: rg: not found"), [Class::NoCommand]);
        assert_eq!(
            classes("Error: EROFS: read-only file system, open"),
            [Class::Trouble, Class::ReadOnly, Class::ReadOnly]
        );
        assert_eq!(classes("the Xenoent and all"), []);
    }
}
