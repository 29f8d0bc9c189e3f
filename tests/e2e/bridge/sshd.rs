//! The bridge over a real server of SSH on the loopback address.

use super::{CALLED, Hosts, wait_for_mail};
use crate::harness::{LIMIT, Session, signal};
use nix::sys::signal::Signal;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use test_support::wait_for;

/// The server must be started by its whole path, and is mostly not where a user's programs are.
fn server_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    let mut files = folders.map(|folder| folder.join("sshd"));
    files.find(|file| file.is_file())
}

/// Makes a key, and returns its public half.
fn key(path: &Path) -> String {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
    assert!(command.arg(path).status().unwrap().success());
    fs::read_to_string(path.with_extension("pub")).unwrap()
}

/// Starts a server that admits the user's key, and returns its port.
fn start(hosts: &Hosts, program: &Path, folder: &Path) -> (Session, u16) {
    if nix::unistd::geteuid().is_root() {
        // A server of root locks itself into this empty folder; the service makes it when it starts.
        fs::create_dir_all("/run/sshd").unwrap();
    }
    wait_for("a server of SSH", LIMIT, || {
        // Another process may take the port before the server does: then the next one is tried.
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let lines = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {0}/host\nAuthorizedKeysFile {0}/authorized\nPidFile none\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n",
            folder.display()
        );
        fs::write(folder.join("sshd_config"), lines).unwrap();
        let mut command = Command::new(program);
        command
            .args(["-D", "-e", "-f"])
            .arg(folder.join("sshd_config"));
        let mut server = hosts.gpu.start_command(&mut command);
        let listens = wait_for("the server to listen", LIMIT, || match server.try_wait() {
            Some(_) => Some(false),
            None => TcpStream::connect(("127.0.0.1", port)).ok().map(|_| true),
        });
        assert!(
            listens || server.err().contains("in use"),
            "{}",
            server.err()
        );
        listens.then_some((server, port))
    })
}

#[test]
fn mail_crosses_over_a_real_server_of_ssh() {
    let Some(program) = server_program() else {
        eprintln!("left out: sshd is not installed; scripts/install-test-tools installs it");
        return;
    };
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let folder = hosts.scratch.path();
    let host_key = key(&folder.join("host"));
    fs::write(folder.join("authorized"), key(&folder.join("user"))).unwrap();
    fs::write(folder.join("known"), format!("{CALLED} {host_key}")).unwrap();
    let (server, port) = start(&hosts, &program, folder);
    let lines = format!(
        "Host {CALLED}\nHostName 127.0.0.1\nHostKeyAlias {CALLED}\nIdentityFile {0}/user\nIdentitiesOnly yes\n\
         UserKnownHostsFile {0}/known\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\n",
        folder.display()
    );
    fs::write(folder.join("ssh_config"), lines).unwrap();
    let ssh = format!("ssh -F {}/ssh_config", folder.display());
    let address = format!("ssh://{CALLED}:{port}{}", hosts.gpu.path().display());
    let bridge = hosts.call(&ssh, &address);
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
}
