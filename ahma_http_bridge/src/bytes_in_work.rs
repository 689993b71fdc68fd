//! Bytes of requests that are being read or are in progress: of one session, and of all callers together.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;

/// Smaller requests are not counted: how many there are is limited.
const SMALL: usize = 4096;

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

/// Counts a request of so many bytes, of a session if it has one, unless it is too much.
pub(crate) fn count(
    bytes: usize,
    of_session: Option<&BytesInWork>,
    of_all: &BytesInWork,
) -> Result<InWork, Problem> {
    if bytes <= SMALL {
        return Ok(InWork::default());
    }
    let mut held = Vec::new();
    let limits = of_session.map(|it| (it, "this session"));
    for (limit, whose) in limits.into_iter().chain([(of_all, "all callers")]) {
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

impl InWork {
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
        let (one, two) = (BytesInWork::new(2 << 20), BytesInWork::new(2 << 20));
        let first = count(2 << 20, Some(&one), &all).unwrap();
        let refused = count(5000, Some(&one), &all).unwrap_err();
        assert_eq!(
            refused.into_response().status(),
            StatusCode::TOO_MANY_REQUESTS
        );
        assert!(count(SMALL, Some(&one), &all).is_ok(), "small ones are not");
        assert!(count(2 << 20, Some(&two), &all).is_err(), "too much of all");
        let second = count(1 << 20, Some(&two), &all).unwrap();
        drop(first);
        assert!(count(2 << 20, Some(&one), &all).is_ok());
        drop(second);
        assert_eq!(all.free.available_permits(), 3 << 10);
    }
}
