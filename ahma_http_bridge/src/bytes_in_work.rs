//! Bytes of requests that are being read or are in progress: of one session, and of all callers together.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;

/// Smaller requests are not counted: how many there are is limited.
pub(crate) const SMALL: usize = 4096;

/// A number of bytes, counted in KiB.
#[derive(Debug, Clone)]
pub(crate) struct BytesInWork {
    free: Arc<Semaphore>,
    most: usize,
}

/// Bytes that are in work, until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct InWork(Vec<OwnedSemaphorePermit>);

impl BytesInWork {
    pub(crate) fn new(most: usize) -> Self {
        BytesInWork {
            free: Arc::new(Semaphore::new(most >> 10)),
            most,
        }
    }

    fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let count = u32::try_from(bytes.div_ceil(1024)).ok()?;
        Arc::clone(&self.free).try_acquire_many_owned(count).ok()
    }
}

/// Whose bytes are counted: those of a session, if there is one, of an endpoint, and of all callers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted<'c> {
    pub(crate) session: Option<&'c BytesInWork>,
    pub(crate) endpoint: &'c BytesInWork,
    pub(crate) all: &'c BytesInWork,
}

impl Counted<'_> {
    /// Counts a request of so many bytes, unless it is too much.
    pub(crate) fn count(self, bytes: usize) -> Result<InWork, Problem> {
        if bytes <= SMALL {
            return Ok(InWork::default());
        }
        let mut held = Vec::new();
        let session = self.session.map(|it| (it, "this session"));
        let others = [(self.endpoint, "this endpoint"), (self.all, "all callers")];
        for (limit, whose) in session.into_iter().chain(others) {
            let taken = limit.take(bytes).ok_or_else(|| {
                let why = format!(
                    "requests of {whose} that are in progress have {} MiB together already; wait for some of them to be \
                     answered",
                    limit.most >> 20
                );
                Problem::new(StatusCode::TOO_MANY_REQUESTS, why).retry_after(1)
            })?;
            held.push(taken);
        }
        Ok(InWork(held))
    }
}

impl InWork {
    /// Whether nothing is counted.
    pub(crate) fn is_nothing(&self) -> bool {
        self.0.is_empty()
    }

    /// It has turned out to be smaller.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        if bytes <= SMALL {
            self.0.clear();
        }
        for held in &mut self.0 {
            let unused = held.num_permits().saturating_sub(bytes.div_ceil(1024));
            drop(held.split(unused));
        }
    }

    /// The same response, at whose end the bytes are in work no more.
    pub(crate) fn until_the_end_of(self, response: Response) -> Response {
        if self.0.is_empty() {
            return response;
        }
        response.map(|body| {
            Body::new(body.map_frame(move |frame| {
                let _in_work = &self;
                frame
            }))
        })
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;

    use super::*;

    /// Proves: H25.
    #[test]
    fn bytes_are_counted_for_a_session_and_for_all() {
        let all = BytesInWork::new(3 << 20);
        let endpoint = BytesInWork::new(100 << 20);
        let (one, two) = (BytesInWork::new(2 << 20), BytesInWork::new(2 << 20));
        let count = |bytes: usize, session: &BytesInWork| {
            let session = Some(session);
            let (endpoint, all) = (&endpoint, &all);
            Counted {
                session,
                endpoint,
                all,
            }
            .count(bytes)
        };
        let first = count(2 << 20, &one).unwrap();
        let refused = count(5000, &one).unwrap_err();
        assert_eq!(
            refused.into_response().status(),
            StatusCode::TOO_MANY_REQUESTS
        );
        assert!(count(SMALL, &one).is_ok(), "small ones are not");
        assert!(count(2 << 20, &two).is_err(), "too much of all");
        let mut second = count(1 << 20, &two).unwrap();
        second.shrink_to(300 << 10);
        let _third = count(700 << 10, &two).unwrap();
        drop(first);
        assert!(count(2 << 20, &one).is_ok());
        second.shrink_to(10);
        drop(_third);
        assert_eq!(all.free.available_permits(), 3 << 10);
    }
}
