//! Explanations of failed commands: whether the sandbox was in the way, of what, and what the owner can do about it.
//!
//! Reads what a command wrote, what it was, and what commands can see; guesses from that. Must not look at the machine: the
//! kernel tells the command and not us why something failed, and what an agent reads here must not depend on whether
//! something outside exists.
//!
//! `explain` decides and asks the judges (`files`, `programs`, `network`, …) one complaint after the other; `complaints`
//! finds what was complained about, `data` leaves out what was only printed, `script` reads the command, `places` knows
//! where a path lies.

mod candidates;
mod case;
mod complaints;
mod credentials;
mod data;
mod denied;
mod explain;
mod failure;
mod files;
mod home;
mod hosts;
mod intent;
mod limits;
mod network;
mod packages;
mod phrases;
mod places;
mod programs;
mod refused;
mod script;
mod silent;
mod sockets;
mod system_calls;
mod temporary;
mod terminal;
mod view;

pub use denied::{Denial, DenialKind};
pub use explain::explain;
pub use failure::{Command, Ended, Failure, ReachedLimit};
pub use view::{Limits, Lookup, Network, Presence, View};
