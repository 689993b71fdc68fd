//! What a sandbox really enforces, found out by trying, and which gap a missing layer leaves.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::policy::Layer;

/// The layers of a running host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// How it is done on this platform.
    pub backend: String,
    /// Version of the kernel's Landlock interface; none where there is none.
    pub landlock_abi: Option<u32>,
    /// Every layer, enforced or not.
    pub layers: Vec<LayerReport>,
    /// Paths that commands really cannot write, of those the policy protects.
    pub protected: Vec<PathBuf>,
    /// Private caches that begin with what the user's hold, of those the policy names.
    pub seeded: Vec<PathBuf>,
    /// What commands reach by the network.
    pub network: NetworkReach,
}

/// What commands reach by the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkReach {
    /// What the machine reaches.
    Machine,
    /// Each other, over a loopback that only commands of their scope have.
    Loopback,
    /// Nothing: a policy without network, on a machine that allows no loopback of one's own.
    Nothing,
}

/// One layer of a running host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerReport {
    /// Which one.
    pub layer: Layer,
    /// Whether commands are under it.
    pub enforced: bool,
    /// What commands can do that the layer would have kept them from; none when nothing.
    pub gap: Option<String>,
}

impl SandboxReport {
    /// Whether commands are under this layer.
    pub fn enforces(&self, layer: Layer) -> bool {
        self.layers
            .iter()
            .any(|report| report.layer == layer && report.enforced)
    }
}

impl SandboxReport {
    /// Layers that `other` enforces and this does not.
    pub fn lacks(&self, other: &SandboxReport) -> Vec<Layer> {
        let enforced = other.layers.iter().filter(|report| report.enforced);
        enforced
            .map(|report| report.layer)
            .filter(|layer| !self.enforces(*layer))
            .collect()
    }
}

impl LayerReport {
    pub(crate) fn enforced(layer: Layer) -> Self {
        LayerReport {
            layer,
            enforced: true,
            gap: None,
        }
    }

    pub(crate) fn with_gap(layer: Layer, enforced: bool, gap: impl Into<String>) -> Self {
        LayerReport {
            layer,
            enforced,
            gap: Some(gap.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: S35.
    #[test]
    fn what_is_lacking_is_what_the_other_enforces() {
        let report = |layers: &[(Layer, bool)]| SandboxReport {
            backend: "landlock".to_owned(),
            landlock_abi: Some(7),
            layers: layers
                .iter()
                .map(|(layer, enforced)| LayerReport {
                    layer: *layer,
                    enforced: *enforced,
                    gap: None,
                })
                .collect(),
            protected: Vec::new(),
            seeded: Vec::new(),
            network: NetworkReach::Machine,
        };
        let all = report(&[(Layer::Landlock, true), (Layer::Namespaces, true)]);
        let less = report(&[(Layer::Landlock, true), (Layer::Namespaces, false)]);
        assert_eq!(less.lacks(&all), [Layer::Namespaces]);
        assert_eq!(all.lacks(&less), []);
    }
}
