//! The two streams of a connection; stdin and stdout without a thread between, where that is possible.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Where messages come from and go to.
pub struct Streams {
    pub(super) input: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) output: Box<dyn AsyncWrite + Send + Unpin>,
}

/// Restores the modes of stdin and stdout: others may share them with us.
#[derive(Debug)]
pub struct SavedModes(Vec<(OwnedFd, OFlags)>);

impl Streams {
    /// Any pair of streams, such as the two halves of a socket.
    pub fn new(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Streams {
            input: Box::new(input),
            output: Box::new(output),
        }
    }

    /// Stdin and stdout of this process, whose modes are restored when the second value is dropped. Only pipes and sockets are read and written without waiting: other programs
    /// share a terminal with us, and a file is always ready.
    pub fn of_this_process() -> io::Result<(Self, SavedModes)> {
        let (input, output) = (
            io::stdin().as_fd().try_clone_to_owned()?,
            io::stdout().as_fd().try_clone_to_owned()?,
        );
        let mut modes = Vec::new();
        for stream in [&input, &output] {
            modes.push((stream.try_clone()?, fcntl_getfl(stream)?));
        }
        let streams = Streams {
            input: ready_input(input).unwrap_or_else(|_| Box::new(tokio::io::stdin())),
            output: ready_output(output).unwrap_or_else(|_| Box::new(tokio::io::stdout())),
        };
        Ok((streams, SavedModes(modes)))
    }
}

fn ready_input(stream: OwnedFd) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    Ok(match kind(&stream)? {
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(stream)?),
        FileType::Socket => Box::new(socket(stream)?),
        _ => return Err(io::ErrorKind::Unsupported.into()),
    })
}

fn ready_output(stream: OwnedFd) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    Ok(match kind(&stream)? {
        FileType::Fifo => Box::new(pipe::Sender::from_owned_fd(stream)?),
        FileType::Socket => Box::new(socket(stream)?),
        _ => return Err(io::ErrorKind::Unsupported.into()),
    })
}

fn kind(stream: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(stream)?.st_mode))
}

fn socket(stream: OwnedFd) -> io::Result<UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(stream);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

impl Drop for SavedModes {
    fn drop(&mut self) {
        for (stream, mode) in &self.0 {
            // There is nobody left to tell.
            let _ = fcntl_setfl(stream, *mode);
        }
    }
}
