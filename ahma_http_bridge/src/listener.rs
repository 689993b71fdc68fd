//! Listeners and their connections, at ports and at Unix sockets alike.

use std::io;
use std::net::TcpListener as StdTcpListener;
use std::os::unix::net::UnixListener as StdUnixListener;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_util::either::Either;

/// A listener that takes nothing yet: it needs a runtime for that.
#[derive(Debug)]
pub(crate) enum BoundListener {
    Tcp(StdTcpListener),
    Unix(StdUnixListener),
}

/// A connection.
pub(crate) type Stream = Either<TcpStream, UnixStream>;

pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl BoundListener {
    pub(crate) fn start(self) -> io::Result<Listener> {
        Ok(match self {
            BoundListener::Tcp(listener) => {
                listener.set_nonblocking(true)?;
                Listener::Tcp(TcpListener::from_std(listener)?)
            }
            BoundListener::Unix(listener) => {
                listener.set_nonblocking(true)?;
                Listener::Unix(UnixListener::from_std(listener)?)
            }
        })
    }
}

impl Listener {
    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // Answers are small and whole; waiting for more to send would only delay them.
                let _ = stream.set_nodelay(true);
                Ok(Either::Left(stream))
            }
            Listener::Unix(listener) => Ok(Either::Right(listener.accept().await?.0)),
        }
    }
}

/// Says something to a client and hangs up, as far as that works without waiting.
pub(crate) fn refuse(stream: &Stream, answer: &[u8]) {
    let mut request = [0; 8192];
    // What was sent and not read would make the system take the answer back.
    match stream {
        Either::Left(stream) => {
            let _ = stream.try_read(&mut request);
            let _ = stream.try_write(answer);
        }
        Either::Right(stream) => {
            let _ = stream.try_read(&mut request);
            let _ = stream.try_write(answer);
        }
    }
}
