//! Where a browser comes back to after a sign-in: a loopback port that waits for one answer, and the page it shows.

mod listener;
mod page;

pub(super) use listener::CallbackListener;
pub(super) use page::Page;
