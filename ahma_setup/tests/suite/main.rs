//! Files of clients, set up and put back, in temporary homes.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests may block, and fail by panicking"
)]

mod kit;
mod places;
mod refusals;
mod round_trips;
mod undoing;
mod written_json;
mod written_toml;
