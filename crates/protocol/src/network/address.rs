//! Addresses that are not part of the public Internet.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

/// Why an address is no public one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    Unspecified,
    Loopback,
    Private,
    LinkLocal,
    /// The range that providers share among their customers (RFC 6598).
    Shared,
    Multicast,
    Reserved,
}

impl Special {
    /// What an address is, or `None` if it is public. An address that has an IPv4 address in it is
    /// what that one is: a gateway or the kernel would deliver it there.
    #[must_use]
    pub const fn of(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// Whether no connection can be meant for such an address, whoever lists it.
    #[must_use]
    pub const fn is_unreachable(self) -> bool {
        match self {
            Self::Unspecified | Self::Multicast => true,
            Self::Loopback | Self::Private | Self::LinkLocal | Self::Shared | Self::Reserved => {
                false
            }
        }
    }
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "the unspecified address",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::LinkLocal => "a link-local address",
            Self::Shared => "an address of a provider's shared range",
            Self::Multicast => "a multicast address",
            Self::Reserved => "a reserved address",
        })
    }
}

const fn of_v4(address: Ipv4Addr) -> Option<Special> {
    match address.octets() {
        [0, ..] => Some(Special::Unspecified),
        [127, ..] => Some(Special::Loopback),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some(Special::Private),
        [169, 254, ..] => Some(Special::LinkLocal),
        [100, 64..=127, ..] => Some(Special::Shared),
        [224..=239, ..] => Some(Special::Multicast),
        // Protocols, examples, relays and benchmarks, and everything from 240 on.
        [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18..=19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => Some(Special::Reserved),
        _ => None,
    }
}

const fn of_v6(address: Ipv6Addr) -> Option<Special> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some(Special::Unspecified),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some(Special::Loopback),
        // The kernel itself, a gateway, and a relay take the IPv4 address out of these.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => of_v4(embedded(high, low)),
        [0x64, 0xff9b, 1, ..] | [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => {
            Some(Special::Private)
        }
        [0xfe80..=0xfebf, ..] => Some(Special::LinkLocal),
        [0xff00..=0xffff, ..] => Some(Special::Multicast),
        // Protocols (tunnels among them) and examples.
        [0x2001, 0..=0x01ff | 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => Some(Special::Reserved),
        // All that was ever given to networks.
        [0x2000..=0x3fff, ..] => None,
        _ => Some(Special::Reserved),
    }
}

const fn embedded(high: u16, low: u16) -> Ipv4Addr {
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    Ipv4Addr::new(a, b, c, d)
}
