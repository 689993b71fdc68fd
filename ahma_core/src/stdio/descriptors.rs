//! Stdin and stdout without a thread between, where that is possible.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// The two streams of a server. Their modes are what they were when it is gone.
pub struct StandardStreams {
    pub(super) input: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) output: Box<dyn AsyncWrite + Send + Unpin>,
}

/// Puts the modes of stdin and stdout back: others may share them with us.
#[derive(Debug)]
pub struct ModesBefore(Vec<(OwnedFd, OFlags)>);

impl StandardStreams {
    /// Those of this process. Only pipes and sockets are read and written without waiting: other programs
    /// share a terminal with us, and a file is always ready.
    pub fn of_this_process() -> io::Result<(Self, ModesBefore)> {
        let (input, output) = (
            io::stdin().as_fd().try_clone_to_owned()?,
            io::stdout().as_fd().try_clone_to_owned()?,
        );
        let mut modes = Vec::new();
        for stream in [&input, &output] {
            modes.push((stream.try_clone()?, fcntl_getfl(stream)?));
        }
        let streams = StandardStreams {
            input: ready_input(input).unwrap_or_else(|_| Box::new(tokio::io::stdin())),
            output: ready_output(output).unwrap_or_else(|_| Box::new(tokio::io::stdout())),
        };
        Ok((streams, ModesBefore(modes)))
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

impl Drop for ModesBefore {
    fn drop(&mut self) {
        for (stream, mode) in &self.0 {
            // There is nobody left to tell.
            let _ = fcntl_setfl(stream, *mode);
        }
    }
}
