//! What is tried against the server beside the kernel's sandbox: plants, keys, freezes, floods, oracles.
//!
//! Each test does what an attacker would, with a real server and real commands, and pairs what must not work with the
//! same thing where it does. The attacks on the kernel's sandbox are in `ahma_sandbox/tests/attacks`.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests block, start programs, and fail by panicking"
)]

mod before_a_call;
mod flood;
mod freezing;
mod full_disk;
mod heavy;
mod keys;
mod loopback;
mod neighbours;
mod oracle;
mod ordinary_user;
mod planted;
mod planted_deep;
mod planted_hidden;
mod planted_in_nested;
mod races;
mod smuggling;
mod socket;
