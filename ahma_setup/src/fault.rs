//! Why a text is left as it is. Must not say what to do about it: the caller knows which file it is.

/// What is wrong with a text, or with changing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be read: where, and why.
    Syntax {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// In the parser's words.
        message: String,
    },
    /// It is not UTF-8.
    Encoding,
    /// A key holds something else than it should.
    WrongType {
        /// The key, with those above it.
        key: String,
        /// What it should hold.
        wanted: &'static str,
    },
    /// A key is there twice, and readers differ in which they take.
    Twice {
        /// The key, with those above it.
        key: String,
    },
    /// A table of TOML is written in braces; nothing is added to such.
    Braces {
        /// Its key.
        key: String,
    },
    /// An entry of this name starts something else.
    Foreign {
        /// Its name.
        name: String,
    },
    /// The result would not say what it should.
    Unclear,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Syntax {
                line,
                column,
                message,
            } => write!(f, "line {line}, column {column}: {message}"),
            Fault::Encoding => f.write_str("it is not UTF-8"),
            Fault::WrongType { key, wanted } => write!(f, "`{key}` is not {wanted}"),
            Fault::Twice { key } => write!(f, "`{key}` is there twice"),
            Fault::Braces { key } => write!(f, "`{key}` is a table written in braces"),
            Fault::Foreign { name } => {
                write!(
                    f,
                    "there is an entry `{name}` that does not start this program"
                )
            }
            Fault::Unclear => f.write_str("the changed file would not say what it should"),
        }
    }
}

/// A key as people write it.
pub(crate) fn dotted<S: AsRef<str>>(path: &[S]) -> String {
    let path: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
    path.join(".")
}
