//! No set-user-id and no set-group-id bits, whatever call asks for them.
//!
//! They mean nothing to a command itself, but a program left in the scope with one of them would run with the rights of
//! the operator, whoever starts it. Making a directory is not among the calls: the kernel itself drops the bits there.

use seccompiler::{BackendError, SeccompCmpOp, SeccompRule};

use super::{Rules, condition};

/// The bits.
const BITS: [libc::mode_t; 2] = [libc::S_ISUID, libc::S_ISGID];
/// Flags with which `open` takes a mode; without them what stands in its place means nothing.
const MAKING: [libc::c_int; 2] = [libc::O_CREAT, UNNAMED];
/// `O_TMPFILE` without `O_DIRECTORY`, which goes with it.
const UNNAMED: libc::c_int = libc::O_TMPFILE & !libc::O_DIRECTORY;

/// A call that opens files, with the places of its flags and its mode.
struct Opening {
    call: libc::c_long,
    flags: u8,
    mode: u8,
}

const OPENING: &[Opening] = &[
    Opening {
        call: libc::SYS_openat,
        flags: 2,
        mode: 3,
    },
    #[cfg(target_arch = "x86_64")]
    Opening {
        call: libc::SYS_open,
        flags: 1,
        mode: 2,
    },
];

/// `fchmodat2`, since Linux 6.6: the same number on every processor, which the library knows for some only.
const FCHMODAT2: libc::c_long = 452;

/// Calls that always take a mode, and its place.
const OTHERS: &[(libc::c_long, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

/// `openat2`, whose mode no filter can see, is answered in [`other_answers`](super::other_answers).
pub(super) fn rules() -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    for Opening { call, flags, mode } in OPENING {
        let mut refused = Vec::new();
        for flag in MAKING {
            let flag = u64::try_from(flag).unwrap_or_default();
            for bit in BITS {
                let makes = condition(*flags, SeccompCmpOp::MaskedEq(flag), flag)?;
                refused.push(SeccompRule::new(vec![makes, has(*mode, bit)?])?);
            }
        }
        rules.insert(*call, refused);
    }
    for (call, mode) in OTHERS {
        let refused = BITS.map(|bit| SeccompRule::new(vec![has(*mode, bit)?]));
        rules.insert(*call, refused.into_iter().collect::<Result<_, _>>()?);
    }
    Ok(rules)
}

fn has(argument: u8, bit: libc::mode_t) -> Result<seccompiler::SeccompCondition, BackendError> {
    let bit = u64::from(bit);
    condition(argument, SeccompCmpOp::MaskedEq(bit), bit)
}
