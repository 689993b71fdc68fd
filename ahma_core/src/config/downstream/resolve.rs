//! From the raw form of an entry to a server: every rule of meaning checked, defaults written out.
//!
//! Works on one entry; what two of them have in common is a matter of [`load`](mod@super::load). Must not repeat a value that
//! could be a secret.

use std::time::Duration;

use super::super::checks::Checks;
use super::super::fault::{Faults, JsonLocation};
use super::super::field::Field;
use super::names::{MAX_NAME, is_name_letter};
use super::raw::{RawServer, RawStart};
use super::spec::{ServerSpec, StartMode, TransportSpec};
use super::surroundings::Surroundings;
use super::tool_rules::tool_rules;
use super::transport::transport;

const IDLE_MINUTES: std::ops::RangeInclusive<u32> = 0..=10_080;
const DEFAULT_IDLE_MINUTES: u32 = 15;
const TIMEOUT_SECONDS: std::ops::RangeInclusive<u32> = 1..=3_600;
const DEFAULT_TIMEOUT_SECONDS: u32 = 30;

/// What names of a server's tools begin with; none when it is wrong.
pub(super) fn prefix_of<'r>(raw: &'r RawServer, name: &'r str) -> Option<&'r str> {
    let prefix = match &raw.prefix {
        Field::Missing => name,
        Field::Invalid => return None,
        Field::Value(prefix) => prefix,
    };
    let is_right = prefix.chars().all(is_name_letter) && prefix.len() <= MAX_NAME;
    is_right.then_some(prefix)
}

/// Resolves an entry. The result is to be used only when `faults` stayed empty.
pub(super) fn resolve(
    raw: &RawServer,
    name: &str,
    place: &JsonLocation<'_>,
    (surroundings, faults): (Surroundings<'_>, &Faults),
) -> Option<ServerSpec> {
    let checks = Checks::new(faults);
    let prefix = prefix_of(raw, name);
    if prefix.is_none() && raw.prefix.value().is_some() {
        faults.add_with_hint(
            &place.key("prefix"),
            "this cannot begin the name of a tool",
            "use letters, digits, `_` and `-`, at most 32 of them, or none at all",
        );
    }
    let tools = tool_rules(&raw.tools, &place.key("tools"), checks);
    let idle = checks
        .in_range(&raw.idle_minutes, IDLE_MINUTES, &place.key("idle_minutes"))
        .unwrap_or(DEFAULT_IDLE_MINUTES);
    let timeout_place = place.key("timeout_seconds");
    let timeout = checks
        .in_range(&raw.timeout_seconds, TIMEOUT_SECONDS, &timeout_place)
        .unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    let transport = transport(raw, place, (surroundings, checks));
    check_confinement(raw, transport.as_ref(), place, faults);
    Some(ServerSpec {
        name: name.to_owned(),
        transport: transport?,
        start: match raw.start.copied() {
            Some(RawStart::Eager) => StartMode::Eager,
            Some(RawStart::Lazy) | None => StartMode::Lazy,
        },
        idle: (idle > 0).then(|| Duration::from_secs(u64::from(idle) * 60)),
        prefix: prefix?.to_owned(),
        tools,
        pin: raw.pin.copied().unwrap_or(true),
        timeout: Duration::from_secs(u64::from(timeout)),
        sandbox: raw.sandbox.copied().unwrap_or(false),
        network: raw.network.copied(),
        per_session: raw.per_session.copied().unwrap_or(false),
        protocol_version: raw.protocol_version.copied().map(|it| it.name().to_owned()),
    })
}

/// Settings that would promise a confinement that is not there.
fn check_confinement(
    raw: &RawServer,
    transport: Option<&TransportSpec>,
    place: &JsonLocation<'_>,
    faults: &Faults,
) {
    let is_confined = raw.sandbox.copied() == Some(true);
    let runs_elsewhere = matches!(transport, Some(TransportSpec::Http { .. }));
    if is_confined && runs_elsewhere {
        faults.add_with_hint(
            &place.key("sandbox"),
            "a server that runs elsewhere cannot be confined",
            "leave `sandbox` out; it is for servers with a `command`",
        );
    }
    if raw.network.is_present() && !is_confined && !matches!(raw.sandbox, Field::Invalid) {
        faults.add_to_key(
            &place.key("network"),
            "`network` has no effect without the sandbox",
            "add `\"sandbox\": true`, or leave `network` out".to_owned(),
        );
    }
}
