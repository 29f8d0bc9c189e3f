//! The bridge over a real server of SSH on the loopback address.

use super::{CALLED, Hosts, delivered, wait_for_mail};
use crate::harness::signal;
use nix::sys::signal::Signal;
use test_support::{SshServer, report_skip};

#[test]
fn mail_crosses_over_a_real_server_of_ssh() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let server = match SshServer::start(&hosts.scratch.path().join("sshd"), CALLED) {
        Ok(server) => server,
        Err(skip) => return report_skip("mail_crosses_over_a_real_server_of_ssh", skip),
    };
    let port = server.port();
    let address = format!("ssh://{CALLED}:{port}{}", hosts.gpu.path().display());
    let bridge = hosts.call(&server.command(), &address);
    hosts.wait_linked(&bridge, "alice", "bob");
    hosts.laptop.ok(&["send", "bob", "one"]);
    hosts.gpu.ok(&["send", "lead", "two"]);
    wait_for_mail(&hosts.gpu, "bob", &["user: one"]);
    wait_for_mail(&hosts.laptop, "lead", &["user@gpu1: two"]);
    // A connection that breaks is made again.
    let called = hosts.called_process();
    signal(called.expect("mail crosses, so it runs"), Signal::SIGKILL);
    hosts.laptop.ok(&["send", "bob", "three"]);
    wait_for_mail(&hosts.gpu, "bob", &["user: one", "user: three"]);
    drop((bridge, server));
    assert_eq!(
        delivered(&hosts.gpu, "bob"),
        ["user: one", "user: three"],
        "each once, for the one who reads it"
    );
}
