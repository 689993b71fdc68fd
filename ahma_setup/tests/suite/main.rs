//! Files of clients, set up and put back, in temporary homes.
#![expect(clippy::disallowed_methods, reason = "tests may block")]

mod kit;
mod places;
mod refusals;
mod round_trips;
mod undoing;
mod written_json;
mod written_toml;
