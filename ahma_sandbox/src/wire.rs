//! The messages between server and sandbox host, as bytes.
//!
//! One message per packet of a SEQPACKET socket, a fixed header first. Decoding trusts nothing: a
//! message that is not exactly right is an error, never a panic. Descriptors travel beside the bytes
//! and are counted here; sending and receiving is [`socket`](crate::socket)'s job.

use std::ffi::CString;

/// Raised with every change of the format. Server and host are one program, so the two differ only
/// when the program was replaced while it ran.
pub(crate) const VERSION: u8 = 4;

pub(crate) const HEADER: usize = 16;

/// Packets up to this size always fit the socket's buffer; larger payloads go into a memory file.
pub(crate) const MAX_INLINE: usize = 60 * 1024;

/// The largest payload at all: arguments and environment of a command.
pub(crate) const MAX_PAYLOAD: usize = 4 * 1024 * 1024;

/// How many descriptors a command can get beside the standard ones, numbered from 3 on.
pub(crate) const FURTHER: usize = 2;

/// A message to the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToHost {
    /// The first message: the policy, as JSON.
    Policy(Vec<u8>),
    /// What can be done before the policy comes, as JSON.
    PrewarmSpec(Vec<u8>),
    /// Start a command. Standard input and output come as descriptors, the way into its cgroup if the policy says that it has
    /// one, standard error if the request says that it is apart, and up to [`FURTHER`] more.
    Run(RunRequest),
    /// Ask the processes of a command to end.
    Terminate(u64),
    /// End the processes of a command.
    Kill(u64),
}

/// A message from the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FromHost {
    /// The host is confined and waits for commands; the report, as JSON.
    Ready(Vec<u8>),
    /// The host could not be set up; the failure, as JSON. It ends itself.
    SetupFailed(Vec<u8>),
    /// The command was not started, and no process of it is left.
    NotStarted {
        /// Which command.
        id: u64,
        /// Code of the step that failed.
        step: u8,
        /// What the kernel said.
        errno: i32,
    },
    /// The command's main process has ended.
    Exited {
        /// Which command.
        id: u64,
        /// As `wait` reports it.
        status: i32,
        /// Whether it was the last process of the command; otherwise `Gone` follows.
        last: bool,
    },
    /// No process of the command is left. Without an exit before it, the command was killed.
    Gone {
        /// Which command.
        id: u64,
        /// How many processes were still there after its main one, and were killed, as far as that is counted.
        killed: i32,
    },
}

/// A command to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunRequest {
    /// Number chosen by the server.
    pub(crate) id: u64,
    /// Whether standard error is a descriptor of its own, not that of standard output.
    pub(crate) is_apart: bool,
    /// Where it runs.
    pub(crate) directory: CString,
    /// The program and its arguments; at least one.
    pub(crate) arguments: Vec<CString>,
    /// `NAME=value`.
    pub(crate) environment: Vec<CString>,
}

/// Bytes that are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    /// Shorter than its header or than its header says.
    #[error("the message is cut off")]
    Truncated,
    /// Another format version.
    #[error("the message has format version {0}")]
    Version(u8),
    /// No such kind of message.
    #[error("there is no message of kind {0}")]
    Kind(u8),
    /// More, or other, content than the header announces.
    #[error("the content of the message does not fit its header")]
    Content,
}

/// The hidden argument that makes a program a sandbox host.
pub const HOST_ARGUMENT: &str = "__sandbox-host";

const POLICY: u8 = 1;
const RUN: u8 = 2;
const TERMINATE: u8 = 3;
const KILL: u8 = 4;
const GROUNDWORK: u8 = 5;
const READY: u8 = 16;
const SETUP_FAILED: u8 = 17;
const NOT_STARTED: u8 = 18;
const EXITED: u8 = 20;
const GONE: u8 = 21;

/// `version, kind, two counters, a number, an identifier`: 16 bytes, little endian.
#[derive(Clone, Copy)]
struct Header {
    kind: u8,
    first: u16,
    number: i32,
    id: u64,
}

impl Header {
    /// Without the allocator, because the init of a cell has none.
    fn to_bytes(self) -> [u8; HEADER] {
        let [f0, f1] = self.first.to_le_bytes();
        let [n0, n1, n2, n3] = self.number.to_le_bytes();
        let [i0, i1, i2, i3, i4, i5, i6, i7] = self.id.to_le_bytes();
        [
            VERSION, self.kind, f0, f1, n0, n1, n2, n3, i0, i1, i2, i3, i4, i5, i6, i7,
        ]
    }

    fn encode(self, body: &[u8]) -> Vec<u8> {
        [self.to_bytes().as_slice(), body].concat()
    }

    fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (head, body) = bytes
            .split_first_chunk::<HEADER>()
            .ok_or(WireError::Truncated)?;
        let [version, kind, f0, f1, n0, n1, n2, n3, id @ ..] = *head;
        if version != VERSION {
            return Err(WireError::Version(version));
        }
        let header = Header {
            kind,
            first: u16::from_le_bytes([f0, f1]),
            number: i32::from_le_bytes([n0, n1, n2, n3]),
            id: u64::from_le_bytes(id),
        };
        Ok((header, body))
    }
}

fn bare(kind: u8, id: u64, number: i32) -> Header {
    Header {
        kind,
        first: 0,
        number,
        id,
    }
}

/// The bytes of [`FromHost::NotStarted`].
pub(crate) fn not_started(id: u64, step: u8, errno: i32) -> [u8; HEADER] {
    let header = Header {
        kind: NOT_STARTED,
        first: u16::from(step),
        number: errno,
        id,
    };
    header.to_bytes()
}

/// The bytes of [`FromHost::Exited`].
pub(crate) fn exited(id: u64, status: i32, last: bool) -> [u8; HEADER] {
    let header = Header {
        kind: EXITED,
        first: u16::from(last),
        number: status,
        id,
    };
    header.to_bytes()
}

/// The bytes of [`FromHost::Gone`].
pub(crate) fn gone(id: u64, killed: i32) -> [u8; HEADER] {
    bare(GONE, id, killed).to_bytes()
}

impl ToHost {
    /// The bytes of the message.
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            ToHost::Policy(json) => bare(POLICY, 0, 0).encode(json),
            ToHost::PrewarmSpec(json) => bare(GROUNDWORK, 0, 0).encode(json),
            ToHost::Run(request) => request.encode(),
            ToHost::Terminate(id) => bare(TERMINATE, *id, 0).encode(&[]),
            ToHost::Kill(id) => bare(KILL, *id, 0).encode(&[]),
        }
    }

    /// Reads a message.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let (header, body) = Header::decode(bytes)?;
        match header.kind {
            POLICY => Ok(ToHost::Policy(body.to_vec())),
            GROUNDWORK => Ok(ToHost::PrewarmSpec(body.to_vec())),
            RUN => RunRequest::decode(header, body).map(ToHost::Run),
            TERMINATE => empty(body).map(|()| ToHost::Terminate(header.id)),
            KILL => empty(body).map(|()| ToHost::Kill(header.id)),
            kind => Err(WireError::Kind(kind)),
        }
    }
}

impl FromHost {
    /// The bytes of the message.
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            FromHost::Ready(json) => bare(READY, 0, 0).encode(json),
            FromHost::SetupFailed(json) => bare(SETUP_FAILED, 0, 0).encode(json),
            FromHost::NotStarted { id, step, errno } => not_started(*id, *step, *errno).to_vec(),
            FromHost::Exited { id, status, last } => exited(*id, *status, *last).to_vec(),
            FromHost::Gone { id, killed } => gone(*id, *killed).to_vec(),
        }
    }

    /// Reads a message.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let (header, body) = Header::decode(bytes)?;
        let Header {
            first, number, id, ..
        } = header;
        match header.kind {
            READY => Ok(FromHost::Ready(body.to_vec())),
            SETUP_FAILED => Ok(FromHost::SetupFailed(body.to_vec())),
            NOT_STARTED => {
                empty(body)?;
                let step = u8::try_from(first).map_err(|_| WireError::Content)?;
                Ok(FromHost::NotStarted {
                    id,
                    step,
                    errno: number,
                })
            }
            EXITED => {
                empty(body)?;
                let last = flag(first)?;
                Ok(FromHost::Exited {
                    id,
                    status: number,
                    last,
                })
            }
            GONE => empty(body).map(|()| FromHost::Gone { id, killed: number }),
            kind => Err(WireError::Kind(kind)),
        }
    }
}

fn flag(number: u16) -> Result<bool, WireError> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(WireError::Content),
    }
}

fn empty(body: &[u8]) -> Result<(), WireError> {
    if body.is_empty() {
        Ok(())
    } else {
        Err(WireError::Content)
    }
}

impl RunRequest {
    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let words = std::iter::once(&self.directory)
            .chain(&self.arguments)
            .chain(&self.environment);
        for word in words {
            body.extend(word.as_bytes_with_nul());
        }
        // The split between arguments and environment; both are bounded by MAX_PAYLOAD.
        let header = Header {
            kind: RUN,
            first: u16::from(self.is_apart),
            number: i32::try_from(self.arguments.len()).unwrap_or(i32::MAX),
            id: self.id,
        };
        header.encode(&body)
    }

    fn decode(header: Header, body: &[u8]) -> Result<Self, WireError> {
        let argument_count = usize::try_from(header.number).map_err(|_| WireError::Content)?;
        let is_apart = flag(header.first)?;
        let Some((0, words)) = body.split_last() else {
            return Err(WireError::Truncated);
        };
        let mut words = words.split(|byte| *byte == 0).map(|word| {
            // `split` leaves no NUL inside a word, so this cannot fail.
            CString::new(word).map_err(|_| WireError::Content)
        });
        let directory = words.next().ok_or(WireError::Truncated)??;
        let rest: Vec<CString> = words.collect::<Result<_, _>>()?;
        if argument_count == 0 || argument_count > rest.len() {
            return Err(WireError::Content);
        }
        let mut arguments = rest;
        let environment = arguments.split_off(argument_count);
        Ok(RunRequest {
            id: header.id,
            is_apart,
            directory,
            arguments,
            environment,
        })
    }
}

/// Reads arbitrary bytes as a message of either direction; what was read must mean the same when it
/// is written and read again.
#[cfg(fuzzing)]
pub fn fuzz(bytes: &[u8]) {
    if let Ok(message) = ToHost::decode(bytes) {
        assert_eq!(ToHost::decode(&message.encode()), Ok(message));
    }
    if let Ok(message) = FromHost::decode(bytes) {
        assert_eq!(FromHost::decode(&message.encode()), Ok(message));
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn words(range: std::ops::Range<usize>) -> impl Strategy<Value = Vec<CString>> {
        vec(vec(1..=255_u8, 0..20), range).prop_map(|words| {
            words
                .into_iter()
                .map(|word| CString::new(word).unwrap())
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_request_survives_the_way(
            id: u64,
            is_apart: bool,
            directory in words(1..2),
            arguments in words(1..6),
            environment in words(0..6),
        ) {
            let directory = directory[0].clone();
            let message = ToHost::Run(RunRequest { id, is_apart, directory, arguments, environment });
            prop_assert_eq!(ToHost::decode(&message.encode()), Ok(message));
        }

        #[test]
        fn arbitrary_bytes_are_a_message_or_an_error(bytes in vec(any::<u8>(), 0..80)) {
            if let Ok(message) = ToHost::decode(&bytes) {
                prop_assert_eq!(ToHost::decode(&message.encode()), Ok(message));
            }
            if let Ok(message) = FromHost::decode(&bytes) {
                prop_assert_eq!(FromHost::decode(&message.encode()), Ok(message));
            }
        }

        #[test]
        fn rubbish_behind_a_right_header_is_a_message_or_an_error(
            kind in 0..25_u8, count: i32, bytes in vec(any::<u8>(), 0..60)
        ) {
            let header = Header { kind, first: 0, number: count, id: 7 };
            let bytes = header.encode(&bytes);
            if let Ok(message) = ToHost::decode(&bytes) {
                prop_assert_eq!(ToHost::decode(&message.encode()), Ok(message));
            }
            let _ = FromHost::decode(&bytes);
        }
    }

    #[test]
    fn every_answer_survives_the_way() {
        for message in [
            FromHost::Ready(b"{}".to_vec()),
            FromHost::SetupFailed(b"{}".to_vec()),
            FromHost::NotStarted {
                id: u64::MAX,
                step: 13,
                errno: 2,
            },
            FromHost::Exited {
                id: 3,
                status: 0x8b,
                last: false,
            },
            FromHost::Exited {
                id: 4,
                status: 0,
                last: true,
            },
            FromHost::Gone { id: 3, killed: 7 },
        ] {
            assert_eq!(FromHost::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn another_version_is_refused() {
        let mut bytes = ToHost::Kill(1).encode();
        bytes[0] = VERSION + 1;
        assert_eq!(ToHost::decode(&bytes), Err(WireError::Version(VERSION + 1)));
    }
}
