//! Calls that are answered otherwise than with "not permitted": instructions put before the library's, which knows one
//! answer only.

use std::env::consts::ARCH;

use seccompiler::sock_filter;

use super::Cover;

const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Where the number of the call is.
const NUMBER: u32 = 0;
/// Returns an error to the program; the number of the error is added.
const ANSWER: u32 = 0x0005_0000;
/// The x32 interface has the same architecture tag and other numbers.
const X32: u32 = 0x4000_0000;

/// Calls that the program is told the kernel does not have. It has another way then.
const NOT_THERE: [libc::c_long; 3] = [
    // Takes the mode of a new file from memory, where no filter can look; programs go back to `openat`.
    libc::SYS_openat2,
    // The kernel counts these for the whole machine.
    libc::SYS_io_setup,
    // Takes its flags from memory; programs go back to `clone`. Only where namespaces could be made with it.
    libc::SYS_clone3,
];

pub(super) fn instructions(cover: Cover) -> Vec<sock_filter> {
    let mut program = vec![instruction(LOAD, NUMBER, 0, 0)];
    if ARCH == "x86_64" {
        program.push(instruction(JUMP_BITS, X32, 0, 1));
        program.push(answer(libc::EPERM));
    }
    let absent = NOT_THERE
        .into_iter()
        .filter(|call| !cover.namespaces || *call != libc::SYS_clone3);
    for call in absent {
        program.push(instruction(JUMP_EQUAL, low(call), 0, 1));
        program.push(answer(libc::ENOSYS));
    }
    program.extend(core_limit());
    program
}

/// Nobody changes the limit of core dumps, and who tries is told that it was done: programs ask for no dumps, which is
/// what they have. The limit is 1 and has to stay that: with 0 the kernel would still start the program that the
/// administrator set up for crashes, outside and with the memory of the command.
fn core_limit() -> Vec<sock_filter> {
    let core = libc::RLIMIT_CORE;
    let mut program = Vec::new();
    // setrlimit(resource, limit)
    program.extend([
        instruction(JUMP_EQUAL, low(libc::SYS_setrlimit), 0, 4),
        instruction(LOAD, argument(0), 0, 0),
        instruction(JUMP_EQUAL, core, 0, 1),
        answer(0),
        instruction(LOAD, NUMBER, 0, 0),
    ]);
    // prlimit64(0, resource, limit, …); a limit that is not there only asks for the present one.
    program.extend([
        instruction(JUMP_EQUAL, low(libc::SYS_prlimit64), 0, 9),
        instruction(LOAD, argument(0), 0, 0),
        instruction(JUMP_EQUAL, 0, 0, 7),
        instruction(LOAD, argument(1), 0, 0),
        instruction(JUMP_EQUAL, core, 0, 5),
        instruction(LOAD, argument(2), 0, 0),
        instruction(JUMP_EQUAL, 0, 0, 2),
        instruction(LOAD, argument(2) + 4, 0, 0),
        instruction(JUMP_EQUAL, 0, 1, 0),
        answer(0),
    ]);
    program
}

/// Where the lower half of an argument is.
fn argument(index: u32) -> u32 {
    16 + 8 * index
}

/// The number of a call.
fn low(call: libc::c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

fn answer(errno: i32) -> sock_filter {
    let errno = u32::try_from(errno).unwrap_or_default();
    instruction(RETURN, ANSWER | errno, 0, 0)
}

fn instruction(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}
