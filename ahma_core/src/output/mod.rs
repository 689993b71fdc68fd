//! What a command writes: all of it counted, the beginning and the end at hand, the rest on disk.
//!
//! ```text
//! pipe ─append─► Output ─► Capture (counts, head, tail)
//!                       └► Spool   (everything, once it is too much to hold)
//! readers ─render, page, search─► text
//! ```
//!
//! Text is cleaned when it is read, never when it is stored: offsets are those of the raw bytes.
//! Knows nothing of operations or of MCP.

mod capture;
mod clean;
mod lines;
mod media_type;
mod page;
mod spool;
mod spool_budget;
mod store;
mod watch;

pub use capture::INLINE_LIMIT;
pub(crate) use clean::clean;
pub(crate) use media_type::media_type;
pub(crate) use page::MAX_PAGE_LEN;
pub use page::{Page, PageRequest, SearchHit};
pub use spool::SPOOL_LIMIT;
pub(crate) use spool_budget::SPOOL_TOTAL;
pub use spool_budget::SpoolBudget;
pub use store::{Output, SpoolPlace};
