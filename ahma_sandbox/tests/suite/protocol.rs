//! A host that is sent rubbish by its server: nothing runs that was not asked for, nothing breaks.
//!
//! The messages are written by hand here, byte by byte, as the other side of the connection would.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Command, Stdio};

use ahma_sandbox::{HOST_ARGUMENT, PrivateDir, SandboxPolicy};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    recv, sendmsg, socketpair,
};
use tempfile::TempDir;

use crate::support::host_program;

const VERSION: u8 = 4;
const POLICY: u8 = 1;
const RUN: u8 = 2;
const KILL: u8 = 4;
const READY: u8 = 16;
const SETUP_FAILED: u8 = 17;
const NOT_STARTED: u8 = 18;
const EXITED: u8 = 20;

struct Host {
    process: Child,
    socket: OwnedFd,
    policy: SandboxPolicy,
    _session: PrivateDir,
    _base: TempDir,
}

impl Host {
    fn start() -> Self {
        let base = TempDir::new().unwrap();
        let scope = base.path().canonicalize().unwrap().join("scope");
        std::fs::create_dir(&scope).unwrap();
        let session = PrivateDir::create(base.path()).unwrap();
        let policy = SandboxPolicy::new(scope, session.path());
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        let process = Command::new(host_program())
            .arg(HOST_ARGUMENT)
            .stdin(Stdio::from(theirs))
            .spawn()
            .unwrap();
        Host {
            process,
            socket: ours,
            policy,
            _session: session,
            _base: base,
        }
    }

    /// A host that has its policy.
    fn ready() -> Self {
        let host = Host::start();
        let accepted =
            rustix::fs::memfd_create("accepted", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        host.send(
            &message(POLICY, 0, 0, &serde_json::to_vec(&host.policy).unwrap()),
            &[&accepted],
        );
        assert_eq!(host.receive()[2], READY);
        host
    }

    fn send(&self, packet: &[u8], fds: &[&OwnedFd]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds: Vec<_> = fds.iter().map(|fd| fd.as_fd()).collect();
        assert!(fds.is_empty() || control.push(SendAncillaryMessage::ScmRights(&fds)));
        // A host that has ended cannot be sent anything; that is what some tests want.
        let _ = sendmsg(
            &self.socket,
            &[IoSlice::new(packet)],
            &mut control,
            SendFlags::NOSIGNAL,
        );
    }

    /// The next packet; empty when the host is gone.
    fn receive(&self) -> Vec<u8> {
        let mut buffer = vec![0; 100_000];
        let length = recv(
            &self.socket,
            &mut buffer[..],
            rustix::net::RecvFlags::empty(),
        );
        buffer.truncate(length.map_or(0, |(length, _)| length));
        buffer
    }

    /// Runs a command that succeeds, to show that the host still works.
    fn still_works(&self) {
        let words = format!("{}\0/bin/true\0", self.policy.scope.display());
        let null = || {
            OwnedFd::from(
                std::fs::File::options()
                    .read(true)
                    .write(true)
                    .open("/dev/null")
                    .unwrap(),
            )
        };
        self.send(&message(RUN, 1, 77, words.as_bytes()), &[&null(), &null()]);
        let answer = self.receive();
        assert_eq!(
            (answer[2], answer[9], &answer[5..9]),
            (EXITED, 77, &[0; 4][..])
        );
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Place, version, kind, a counter, a number, an identifier, and the rest.
fn message(kind: u8, number: i32, id: u64, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0, VERSION, kind, 0, 0];
    packet.extend(number.to_le_bytes());
    packet.extend(id.to_le_bytes());
    packet.extend(body);
    packet
}

/// Proves: S33.
#[test]
fn a_host_without_a_proper_policy_ends() {
    for first in [
        message(RUN, 1, 1, b"/\0true\0"),
        message(POLICY, 0, 0, b"{}"),
        message(POLICY, 0, 0, b"\xff\xff"),
        message(99, 0, 0, b""),
        vec![0, 1, 2],
    ] {
        let mut host = Host::start();
        host.send(&first, &[]);
        assert_eq!(host.receive()[2], SETUP_FAILED, "{first:?}");
        assert!(host.process.wait().is_ok());
    }
    let host = Host::start();
    host.send(&[7, 7, 7], &[]);
    assert_eq!(
        host.receive().get(2).copied().unwrap_or(SETUP_FAILED),
        SETUP_FAILED
    );
}

/// Proves: S33.
#[test]
fn messages_that_are_none_are_passed_over() {
    let host = Host::ready();
    let wrong_version = {
        let mut packet = message(KILL, 0, 1, b"");
        packet[1] = VERSION + 1;
        packet
    };
    for rubbish in [
        message(99, 0, 0, b""),
        message(KILL, 0, 12345, b""),
        message(KILL, 0, 1, b"more"),
        message(RUN, 0, 1, b"/\0true\0"),
        message(RUN, 5, 1, b"/\0true\0"),
        message(RUN, -1, 1, b"/\0true\0"),
        message(RUN, 1, 1, b"/\0true"),
        message(RUN, 1, 1, b""),
        message(POLICY, 0, 0, b"{\"scope\":\"/\"}"),
        wrong_version,
        vec![0],
        vec![0, VERSION],
    ] {
        host.send(&rubbish, &[]);
        host.still_works();
    }
}

#[test]
fn a_command_without_its_descriptors_is_not_started() {
    let host = Host::ready();
    let null = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    for fds in [&[][..], &[&null][..]] {
        host.send(&message(RUN, 1, 5, b"/\0/bin/true\0"), fds);
        let answer = host.receive();
        assert_eq!((answer[2], answer[9]), (NOT_STARTED, 5));
        host.still_works();
    }
}

/// Proves: S33.
#[test]
fn a_packet_with_too_many_descriptors_ends_the_host_and_nothing_runs() {
    let host = Host::ready();
    let null = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    let words = format!("{}\0touch\0ran\0", host.policy.scope.display());
    host.send(&message(RUN, 2, 6, words.as_bytes()), &[&null; 10]);
    assert!(host.receive().is_empty(), "the connection is closed");
    assert!(!host.policy.scope.join("ran").exists());
}
