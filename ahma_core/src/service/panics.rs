//! A mistake of ours costs the call that met it, and nothing else.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use rmcp::ErrorData;

/// Answers a call; when that panics, with an error.
pub(super) async fn answered<T>(
    call: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    // What calls share is behind locks whose contents are whole after a panic.
    let outcome = AssertUnwindSafe(call).catch_unwind().await;
    outcome.unwrap_or_else(|panic| {
        tracing::error!(
            "a call met a mistake of the server: {}",
            text(panic.as_ref())
        );
        let why = "the server made a mistake with this call; its log says more";
        Err(ErrorData::internal_error(why, None))
    })
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it did not say what")
}

#[cfg(test)]
mod tests {
    use rmcp::model::ErrorCode;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_answered_with_an_error() {
        let call = async {
            tokio::task::yield_now().await;
            panic!("oh no");
        };
        let answer: Result<(), ErrorData> = answered(call).await;
        let error = answer.unwrap_err();
        assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
        assert!(error.message.contains("its log"), "{}", error.message);
    }

    #[tokio::test]
    async fn what_does_not_panic_is_answered_as_it_is() {
        assert_eq!(answered(async { Ok(5) }).await, Ok(5));
    }
}
