//! Which addresses may be reached on behalf of a server: none that it could not reach itself.
//!
//! What a server's metadata names is asked by this machine, from within its networks. A public server may therefore name public
//! addresses only, one in a private network also private ones, one on this machine all of these. Link-local addresses, where
//! clouds keep the keys of a machine, nobody may name. The names that a stranger can choose never make it more:
//! whether a server is on this machine is decided by what the operator wrote, not by what a name leads to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

/// What kind of network an address is in, the nearest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AddressClass {
    Public,
    Private,
    Loopback,
    /// Nobody's: link-local, multicast, reserved, and those where clouds answer.
    Never,
}

/// Where clouds answer with the keys of a machine, outside of the link-local addresses.
const METADATA: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

impl AddressClass {
    pub(super) fn of(address: IpAddr) -> Self {
        if METADATA.contains(&address) {
            return AddressClass::Never;
        }
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => match embedded(address) {
                Some(address) => Self::of(IpAddr::V4(address)),
                None => Self::of_v6(address),
            },
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        let [a, b, c, _] = address.octets();
        match (a, b, c) {
            (127, ..) => AddressClass::Loopback,
            (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => {
                AddressClass::Private
            }
            (0 | 224.., ..) | (169, 254, _) | (192, 0, 0) | (198, 18..=19, _) => {
                AddressClass::Never
            }
            _ => AddressClass::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        if address.is_loopback() {
            return AddressClass::Loopback;
        }
        let [a, b, c, ..] = address.segments();
        match (a, b, c) {
            (0xfc00..=0xfdff, ..) => AddressClass::Private,
            // Unspecified, link-local, site-local, multicast, Teredo, and local translation.
            (0 | 0xfe80.., ..) | (0x2001, 0, _) | (0x64, 0xff9b, 1) => AddressClass::Never,
            _ => AddressClass::Public,
        }
    }
}

/// The address that one of the newer kind stands for.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let of = |high: u16, low: u16| Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => of(g, h),
        [0, 0, 0, 0, 0, 0] if g != 0 => of(g, h),
        [0x2002, ..] => of(b, c),
        _ => None,
    }
}

/// What may be reached on behalf of one server.
#[derive(Debug)]
pub(super) struct Reach {
    server: Url,
    class: AddressClass,
}

impl Reach {
    /// Of a server that somebody has configured, at these addresses.
    pub(super) fn of(server: &Url, addresses: &[IpAddr]) -> Self {
        let is_private = |it: &IpAddr| AddressClass::of(*it) == AddressClass::Private;
        let class = match literal(server).map(AddressClass::of) {
            Some(AddressClass::Never) => AddressClass::Public,
            Some(class) => class,
            None if is_localhost(server) => AddressClass::Loopback,
            None if !addresses.is_empty() && addresses.iter().all(is_private) => {
                AddressClass::Private
            }
            None => AddressClass::Public,
        };
        Reach {
            server: server.clone(),
            class,
        }
    }

    /// Whether a URL at these addresses may be reached; if not, why.
    pub(super) fn admits(&self, url: &Url, addresses: &[IpAddr]) -> Result<(), String> {
        if addresses.is_empty() {
            return Err("its name leads nowhere".to_owned());
        }
        let is_own = url.origin() == self.server.origin();
        for address in addresses {
            let class = AddressClass::of(*address);
            let is_reached = class <= self.class || (is_own && class != AddressClass::Never);
            if class == AddressClass::Never || !is_reached {
                let place = match class {
                    AddressClass::Loopback => "on this machine",
                    AddressClass::Private => "in a private network",
                    _ => "an address that nobody may name",
                };
                return Err(format!("it is {place} ({address}), and the server is not"));
            }
            if url.scheme() != "https" && class != AddressClass::Loopback {
                return Err("it is not https".to_owned());
            }
        }
        Ok(())
    }
}

/// The address that stands in a URL instead of a name.
pub(super) fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_matches(['[', ']']).parse().ok()
}

fn is_localhost(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    host == "localhost" || host.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(address: &str) -> AddressClass {
        AddressClass::of(address.parse().unwrap())
    }

    #[test]
    fn addresses_are_told_apart_in_all_their_spellings() {
        use AddressClass::{Loopback, Never, Private, Public};
        for (address, expected) in [
            ("93.184.216.34", Public),
            ("2606:2800:220:1::1", Public),
            ("10.1.2.3", Private),
            ("172.31.0.1", Private),
            ("172.32.0.1", Public),
            ("192.168.0.1", Private),
            ("100.64.0.1", Private),
            ("fd12::1", Private),
            ("127.8.8.8", Loopback),
            ("::1", Loopback),
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:10.0.0.1", Private),
            ("64:ff9b::a9fe:a9fe", Never),
            ("2002:7f00:1::", Loopback),
            ("169.254.169.254", Never),
            ("100.100.100.200", Never),
            ("168.63.129.16", Never),
            ("fd00:ec2::254", Never),
            ("fe80::1", Never),
            ("0.0.0.0", Never),
            ("::", Never),
            ("255.255.255.255", Never),
            ("224.0.0.1", Never),
            ("ff02::1", Never),
            ("2001::1", Never),
        ] {
            assert_eq!(class(address), expected, "{address}");
        }
    }

    /// Proves: C63.
    #[test]
    fn a_server_reaches_what_is_not_nearer_than_itself() {
        let admits = |server: &str, at: &str, url: &str, leads_to: &str| {
            let reach = Reach::of(&server.parse().unwrap(), &[at.parse().unwrap()]);
            let addresses = [leads_to.parse().unwrap()];
            reach.admits(&url.parse().unwrap(), &addresses).is_ok()
        };
        let public = |url: &str, at: &str| admits("https://mcp.test/mcp", "93.184.216.34", url, at);
        assert!(public("https://as.test/", "93.184.216.35"));
        assert!(!public("http://as.test/", "93.184.216.35"));
        assert!(!public("https://as.test/", "10.0.0.1"));
        assert!(!public("https://as.test/", "127.0.0.1"));
        assert!(!public("https://as.test/", "169.254.169.254"));
        assert!(!public("https://mcp.test/", "169.254.169.254"));
        let corporate = |url: &str, at: &str| admits("https://mcp.corp/mcp", "10.0.0.4", url, at);
        assert!(corporate("https://sso.corp/", "10.0.0.9"));
        assert!(!corporate("https://sso.corp/", "127.0.0.1"));
        let local = |url: &str, at: &str| admits("http://localhost:1/mcp", "127.0.0.1", url, at);
        assert!(local("http://127.0.0.1:2/", "127.0.0.1"));
        assert!(local("https://sso.corp/", "10.0.0.9"));
        assert!(!local("https://x.test/", "169.254.169.254"));
        // A name does not make a server local, wherever it leads.
        let rebound = |url: &str| admits("http://evil.test:1/mcp", "127.0.0.1", url, "127.0.0.1");
        assert!(rebound("http://evil.test:1/x"));
        assert!(!rebound("http://evil.test:2/x"));
        assert!(!rebound("http://127.0.0.1:1/x"));
    }
}
