//! Hosts with a network of their own: network namespaces that are joined by a switch. Their links can be cut, and
//! can lose and delay packets where the kernel has netem.

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use test_support::Skip;

/// The namespaces of one test. They are deleted when the value is dropped; a test that is killed leaves them.
pub(crate) struct Network {
    /// Of the switch.
    switch: String,
    hosts: Vec<String>,
    has_netem: bool,
}

/// What a link does to packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    Clear,
    /// A tenth is lost, and the others are late.
    Lossy,
    Cut,
}

impl Network {
    /// So many hosts, unless namespaces cannot be made here.
    pub(crate) fn new(count: u8) -> Result<Self, Skip> {
        let pid = std::process::id();
        let mut network = Self {
            switch: format!("tl{pid}s"),
            hosts: Vec::new(),
            has_netem: false,
        };
        let switch = network.switch.clone();
        ip(&["netns", "add", &switch])?;
        ip(&["-n", &switch, "link", "add", "br0", "type", "bridge"])?;
        ip(&["-n", &switch, "link", "set", "br0", "up"])?;
        for number in 0..count {
            let host = format!("tl{pid}h{number}");
            ip(&["netns", "add", &host])?;
            network.hosts.push(host.clone());
            let port = format!("port{number}");
            let cable = ["link", "add", "eth0", "netns", &host, "type", "veth"];
            let peer = ["peer", "name", &port, "netns", &switch];
            ip(&[&cable[..], &peer].concat())?;
            ip(&["-n", &switch, "link", "set", &port, "master", "br0", "up"])?;
            let address = format!("{}/24", network.address(number));
            ip(&["-n", &host, "address", "add", &address, "dev", "eth0"])?;
            ip(&["-n", &host, "link", "set", "eth0", "up"])?;
            ip(&["-n", &host, "link", "set", "lo", "up"])?;
        }
        network.has_netem = network.delay(0, "delay 0ms").is_ok();
        Ok(network)
    }

    pub(crate) fn address(&self, host: u8) -> IpAddr {
        Ipv4Addr::new(10, 99, 0, host + 1).into()
    }

    /// What runs a command on a host.
    pub(crate) fn wrapper(&self, host: u8) -> Vec<String> {
        let words = ["ip", "netns", "exec", &self.hosts[usize::from(host)]];
        words.map(str::to_owned).to_vec()
    }

    /// Changes the link of a host, both ways.
    pub(crate) fn set(&self, host: u8, link: Link) -> Result<(), Skip> {
        let port = format!("port{host}");
        let state = if link == Link::Cut { "down" } else { "up" };
        ip(&["-n", &self.switch, "link", "set", &port, state])?;
        match link {
            Link::Lossy if self.has_netem => self.delay(host, "delay 20ms 10ms loss 10%"),
            Link::Clear if self.has_netem => self.delay(host, "delay 0ms"),
            Link::Lossy | Link::Clear | Link::Cut => Ok(()),
        }
    }

    fn delay(&self, host: u8, netem: &str) -> Result<(), Skip> {
        let (place, port) = (&self.hosts[usize::from(host)], format!("port{host}"));
        for (place, device) in [(place, "eth0"), (&self.switch, port.as_str())] {
            let words = [
                "-n", place, "qdisc", "replace", "dev", device, "root", "netem",
            ];
            run("tc", words.into_iter().chain(netem.split(' ')))?;
        }
        Ok(())
    }

    pub(crate) const fn has_netem(&self) -> bool {
        self.has_netem
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in self.hosts.iter().chain([&self.switch]) {
            // What is left over harms nobody.
            let _ = ip(&["netns", "delete", name]);
        }
    }
}

fn ip(words: &[&str]) -> Result<(), Skip> {
    run("ip", words.iter().copied())
}

fn run<'a>(program: &str, words: impl Iterator<Item = &'a str>) -> Result<(), Skip> {
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| Skip::new(format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(Skip::new(format!("{program}: {}", why.trim())))
}
