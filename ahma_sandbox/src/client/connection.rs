//! The connection to a host: packets out, packets in, both without blocking the runtime.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::socket::{self, Received};
use crate::wire::{FromHost, ToHost, WireError};

pub(super) struct Connection {
    socket: AsyncFd<OwnedFd>,
}

impl Connection {
    #[expect(
        unsafe_code,
        reason = "the runtime wants a promise about the descriptor"
    )]
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        let flags = fcntl_getfl(&socket)?;
        fcntl_setfl(&socket, flags | OFlags::NONBLOCK)?;
        let both = Interest::READABLE | Interest::WRITABLE;
        // SAFETY: an OwnedFd is the same open descriptor from here until it is dropped with the
        // AsyncFd that owns it.
        let socket = unsafe { AsyncFd::register_with_interest(socket, both) }?;
        Ok(Connection { socket })
    }

    pub(super) async fn send(&self, message: &ToHost, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let bytes = message.encode();
        self.socket
            .async_io(Interest::WRITABLE, |socket| {
                socket::send(socket.as_fd(), &bytes, fds)
            })
            .await
    }

    /// Sends without waiting. A host that does not read any more is being ended anyway.
    pub(super) fn try_send(&self, message: &ToHost) -> io::Result<()> {
        socket::send(self.socket.get_ref().as_fd(), &message.encode(), &[])
    }

    /// The next message; `None` when the host is gone.
    pub(super) async fn receive(
        &self,
        buffer: &mut Vec<u8>,
    ) -> Option<Result<FromHost, WireError>> {
        let (message, _) = self.receive_with_descriptors(buffer).await?;
        Some(message)
    }

    /// The same, with the descriptors that came along.
    pub(super) async fn receive_with_descriptors(
        &self,
        buffer: &mut Vec<u8>,
    ) -> Option<(Result<FromHost, WireError>, Vec<OwnedFd>)> {
        let received = self
            .socket
            .async_io(Interest::READABLE, |socket| {
                socket::receive(socket.as_fd(), buffer)
            })
            .await;
        match received {
            Ok(Received::Packet(bytes, fds)) => Some((FromHost::decode(&bytes), fds)),
            Ok(Received::Closed) | Err(_) => None,
        }
    }

    /// Ends the host: it sees the connection closed, whoever still holds a copy of this end.
    pub(super) fn close(&self) {
        let _ = rustix::net::shutdown(self.socket.get_ref(), rustix::net::Shutdown::Both);
    }
}
