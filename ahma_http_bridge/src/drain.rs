//! The rest of a request that was refused, read and dropped.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use tokio::time::timeout;

const MAX_DRAINED: usize = 32 * 1024 * 1024;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Reads what is left, as far as that goes quickly: a client that still sends when its connection is closed never sees
/// why it was refused.
pub(crate) async fn drain(mut body: Body) {
    let reading = async {
        let mut read = 0;
        while let Some(Ok(frame)) = body.frame().await
            && read < MAX_DRAINED
        {
            read += frame.data_ref().map_or(0, Bytes::len);
        }
    };
    let _ = timeout(DRAIN_TIMEOUT, reading).await;
}
