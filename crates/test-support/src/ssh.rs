//! A real server of SSH on the loopback address.

use crate::disk::Skip;
use crate::process::Worker;
use crate::wait::wait_for;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a server may take to listen on a busy machine.
const START: Duration = Duration::from_secs(60);

/// A server of SSH that admits one key. It is killed when the value is dropped.
#[derive(Debug)]
pub struct SshServer {
    folder: PathBuf,
    port: u16,
    _process: Worker,
}

impl SshServer {
    /// Starts a server with its keys in `folder`, which the configuration of [`Self::command`] calls `host`.
    pub fn start(folder: &Path, host: &str) -> Result<Self, Skip> {
        let program = program().ok_or_else(|| {
            Skip::new("sshd is not installed; scripts/install-test-tools installs it")
        })?;
        if nix::unistd::geteuid().is_root() {
            // A server of root locks itself into this empty folder; the service makes it when it starts.
            fs::create_dir_all("/run/sshd").map_err(|error| Skip::new(error.to_string()))?;
        }
        fs::create_dir_all(folder).expect("a folder for a server of SSH");
        let host_key = key(&folder.join("host"));
        fs::write(folder.join("authorized"), key(&folder.join("user"))).expect("a file");
        fs::write(folder.join("known"), format!("{host} {host_key}")).expect("a file");
        let (process, port) = listen(&program, folder);
        let lines = format!(
            "Host {host}\nHostName 127.0.0.1\nPort {port}\nHostKeyAlias {host}\nIdentityFile {0}/user\nIdentitiesOnly yes\n\
             UserKnownHostsFile {0}/known\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\n",
            folder.display()
        );
        fs::write(folder.join("ssh_config"), lines).expect("a file");
        Ok(Self {
            folder: folder.to_path_buf(),
            port,
            _process: process,
        })
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The client that may log in.
    pub fn command(&self) -> String {
        format!("ssh -F {}/ssh_config", self.folder.display())
    }
}

/// The server must be started by its whole path, and is mostly not where a user's programs are.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    let mut files = folders.map(|folder| folder.join("sshd"));
    files.find(|file| file.is_file())
}

/// Makes a key, and returns its public half.
fn key(path: &Path) -> String {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
    let made = command.arg(path).status().expect("ssh-keygen");
    assert!(made.success(), "ssh-keygen made no key");
    fs::read_to_string(path.with_extension("pub")).expect("the public half of a key")
}

fn listen(program: &Path, folder: &Path) -> (Worker, u16) {
    wait_for("a server of SSH", START, || {
        // Another process may take the port before the server does: then the next one is tried.
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("a port").port();
        drop(free);
        let lines = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {0}/host\nAuthorizedKeysFile {0}/authorized\nPidFile none\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n",
            folder.display()
        );
        fs::write(folder.join("sshd_config"), lines).expect("a file");
        let mut command = Command::new(program);
        command.arg("-D").arg("-E").arg(folder.join("log"));
        command.arg("-f").arg(folder.join("sshd_config"));
        let mut server = Worker::spawn(command.stderr(Stdio::null())).expect("sshd");
        let listens = wait_for("the server to listen", START, || match server.try_wait() {
            Some(_) => Some(false),
            None => TcpStream::connect(("127.0.0.1", port)).ok().map(|_| true),
        });
        listens.then_some((server, port))
    })
}
