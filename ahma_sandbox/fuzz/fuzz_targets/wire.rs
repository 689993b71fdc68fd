//! Arbitrary bytes as a message between server and sandbox host: read or refused, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| ahma_sandbox::fuzz_wire(bytes));
