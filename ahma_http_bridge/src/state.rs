//! What every request may need: shared by all routes, made once.

use std::ops::Deref;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

use ahma_contract::ServerAddress;
use ahma_transport::MessageTrace;
use tokio_util::sync::CancellationToken;

use crate::admission::Admission;
use crate::bytes_in_work::BytesInWork;
use crate::config::{Backend, BridgeConfig, Hints, Limits};
use crate::endpoint::Endpoints;
use crate::log_throttle::LogThrottle;
use crate::origin::OriginGuard;

/// A handle on the shared state.
#[derive(Clone)]
pub(crate) struct BridgeState(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) endpoints: Endpoints,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) admission: Admission,
    /// Of requests that are in progress.
    pub(crate) bytes: BytesInWork,
    pub(crate) limits: Limits,
    pub(crate) hints: Hints,
    pub(crate) trace: Option<MessageTrace>,
    pub(crate) address: ServerAddress,
    pub(crate) origin: OriginGuard,
    pub(crate) last_request: AtomicU64,
    /// Refusals in the log.
    pub(crate) refusals: LogThrottle,
    /// No request is taken any more.
    pub(crate) stopping: CancellationToken,
}

impl Deref for BridgeState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl BridgeState {
    pub(crate) fn new(
        config: BridgeConfig,
        address: ServerAddress,
        is_localhost: bool,
        endpoints: Endpoints,
    ) -> Self {
        let hints = config.hints;
        BridgeState(Arc::new(Shared {
            origin: OriginGuard::new(&address, is_localhost, &config.origins, hints.allow_origin),
            admission: Admission::new(
                config.token,
                &config.workspaces,
                &config.limits,
                hints.raise_rate,
            ),
            bytes: BytesInWork::new(config.limits.all_bytes),
            limits: config.limits,
            trace: config.trace,
            backend: config.backend,
            stopping: CancellationToken::new(),
            last_request: AtomicU64::new(0),
            refusals: LogThrottle::default(),
            endpoints,
            address,
            hints,
        }))
    }

    pub(crate) fn downgrade(&self) -> Weak<Shared> {
        Arc::downgrade(&self.0)
    }
}
