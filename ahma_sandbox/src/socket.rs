//! Packets with descriptors over a SEQPACKET socket pair.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
    sendmsg, socketpair,
};

#[cfg(target_arch = "x86_64")]
use crate::wire::HEADER;
use crate::wire::{FURTHER, MAX_INLINE, MAX_PAYLOAD};

/// Descriptors in one packet: standard input and output, the way into a cgroup, those of a shell that waits, and a memory file
/// for a large payload.
const MAX_DESCRIPTORS: usize = 4 + FURTHER;

/// The first byte of a packet: whether the payload is in the packet or in the last descriptor.
const INLINE: u8 = 0;
const IN_MEMORY_FILE: u8 = 1;

/// A packet that is nothing but a header. Without the allocator, because the init of a cell has none.
#[cfg(target_arch = "x86_64")]
pub(crate) fn inline_packet(header: [u8; HEADER]) -> [u8; HEADER + 1] {
    let mut packet = [INLINE; HEADER + 1];
    let [_, rest @ ..] = &mut packet;
    *rest = header;
    packet
}

/// Two connected ends.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (one, other) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    Ok((one, other))
}

/// What arrived.
pub(crate) enum Received {
    /// A packet.
    Packet(Vec<u8>, Vec<OwnedFd>),
    /// The other side is gone.
    Closed,
}

/// Sends one packet. `WouldBlock` when the other side does not keep up and the socket is
/// non-blocking.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    payload: &[u8],
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    if payload.len() <= MAX_INLINE {
        return send_packet(socket, INLINE, payload, fds);
    }
    if payload.len() > MAX_PAYLOAD {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("arguments and environment take more than {MAX_PAYLOAD} bytes"),
        ));
    }
    let file = memfd_create("ahma-payload", MemfdFlags::CLOEXEC)?;
    let mut rest = payload;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = &rest[written..];
    }
    let mut all: Vec<BorrowedFd<'_>> = fds.to_vec();
    all.push(file.as_fd());
    send_packet(socket, IN_MEMORY_FILE, &[], &all)
}

fn send_packet(
    socket: BorrowedFd<'_>,
    place: u8,
    payload: &[u8],
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let parts = [
        IoSlice::new(std::slice::from_ref(&place)),
        IoSlice::new(payload),
    ];
    loop {
        match sendmsg(socket, &parts, &mut control, SendFlags::NOSIGNAL) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Receives one packet. A packet that does not fit, in bytes or descriptors, is an error.
pub(crate) fn receive(socket: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> io::Result<Received> {
    buffer.resize(MAX_INLINE + 1, 0);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let result = loop {
        let mut parts = [IoSliceMut::new(buffer)];
        match recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if result
        .flags
        .intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC)
    {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a packet was cut off",
        ));
    }
    let Some((place, payload)) = buffer[..result.bytes].split_first() else {
        return Ok(Received::Closed);
    };
    match *place {
        INLINE => Ok(Received::Packet(payload.to_vec(), fds)),
        IN_MEMORY_FILE => {
            let file = fds
                .pop()
                .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
            Ok(Received::Packet(read_memory_file(&file)?, fds))
        }
        _ => Err(io::Error::from(io::ErrorKind::InvalidData)),
    }
}

fn read_memory_file(file: &OwnedFd) -> io::Result<Vec<u8>> {
    let size = usize::try_from(rustix::fs::fstat(file)?.st_size)
        .ok()
        .filter(|size| *size <= MAX_PAYLOAD)
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while filled < size {
        let offset = u64::try_from(filled).map_err(io::Error::other)?;
        let read = rustix::io::pread(file, &mut bytes[filled..], offset)?;
        if read == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        filled += read;
    }
    Ok(bytes)
}
