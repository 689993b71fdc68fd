//! Which sockets commands may make: local ones, and with a network, be it a private one, those of the internet.
//!
//! Everything else, down to the protocol, would only load code into the kernel that ordinary programs never use.

use seccompiler::{BackendError, SeccompCmpOp, SeccompRule};

use super::{Cover, Rules, condition};

/// What a call of `socket` says, in the order of its arguments.
const FAMILY: u8 = 0;
const KIND: u8 = 1;
const PROTOCOL: u8 = 2;

/// The kind of a socket without the flags that are passed along with it.
const KIND_BITS: u64 = 0xf;
/// Streams and datagrams.
const USUAL_KINDS: [i32; 2] = [libc::SOCK_STREAM, libc::SOCK_DGRAM];

/// Families with the protocols they may be used with.
const INTERNET: [(i32, &[i32]); 2] = [
    (
        libc::AF_INET,
        &[
            0,
            libc::IPPROTO_ICMP,
            libc::IPPROTO_TCP,
            libc::IPPROTO_UDP,
            libc::IPPROTO_MPTCP,
        ],
    ),
    (
        libc::AF_INET6,
        &[
            0,
            libc::IPPROTO_TCP,
            libc::IPPROTO_UDP,
            libc::IPPROTO_ICMPV6,
            libc::IPPROTO_MPTCP,
        ],
    ),
];
/// Programs ask the kernel which addresses the machine has, and which sockets.
const KERNEL_QUESTIONS: (i32, &[i32]) = (
    libc::AF_NETLINK,
    &[libc::NETLINK_ROUTE, libc::NETLINK_SOCK_DIAG],
);

pub(super) fn rules(cover: Cover) -> Result<Rules, BackendError> {
    let local = [condition(FAMILY, SeccompCmpOp::Ne, number(libc::AF_UNIX))?];
    let mut rules = Rules::new();
    rules.insert(libc::SYS_socket, refused(cover)?);
    // Pairs of other families do not exist; asking for one would only load code into the kernel.
    rules.insert(
        libc::SYS_socketpair,
        vec![SeccompRule::new(local.to_vec())?],
    );
    Ok(rules)
}

/// Without a view, local sockets reach programs outside the scope, and Landlock does not see them; with one, no foreign
/// socket exists in it.
fn refused(cover: Cover) -> Result<Vec<SeccompRule>, BackendError> {
    let mut families = Vec::new();
    if cover.namespaces {
        families.push(libc::AF_UNIX);
    }
    let mut rules = Vec::new();
    if cover.internet {
        for (family, _) in INTERNET {
            families.push(family);
            rules.extend(unusual_kinds(family)?);
        }
        families.push(KERNEL_QUESTIONS.0);
        for (family, protocols) in INTERNET.into_iter().chain([KERNEL_QUESTIONS]) {
            rules.push(other_protocols(family, protocols)?);
        }
    }
    if families.is_empty() {
        // No rule at all: refused whatever the arguments are.
        return Ok(Vec::new());
    }
    let other_families = families
        .into_iter()
        .map(|family| condition(FAMILY, SeccompCmpOp::Ne, number(family)));
    rules.push(SeccompRule::new(other_families.collect::<Result<_, _>>()?)?);
    Ok(rules)
}

/// One rule for each: the library can only ask whether bits have a value.
fn unusual_kinds(family: i32) -> Result<Vec<SeccompRule>, BackendError> {
    let unusual = (0..=KIND_BITS).filter(|kind| USUAL_KINDS.iter().all(|it| number(*it) != *kind));
    let rule = |kind| {
        SeccompRule::new(vec![
            condition(FAMILY, SeccompCmpOp::Eq, number(family))?,
            condition(KIND, SeccompCmpOp::MaskedEq(KIND_BITS), kind)?,
        ])
    };
    unusual.map(rule).collect()
}

fn other_protocols(family: i32, usual: &[i32]) -> Result<SeccompRule, BackendError> {
    let mut all = vec![condition(FAMILY, SeccompCmpOp::Eq, number(family))?];
    for protocol in usual {
        all.push(condition(PROTOCOL, SeccompCmpOp::Ne, number(*protocol))?);
    }
    SeccompRule::new(all)
}

fn number(constant: i32) -> u64 {
    u64::try_from(constant).unwrap_or_default()
}
