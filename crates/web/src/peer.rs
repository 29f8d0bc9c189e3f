//! Which connections come from a command in the sandbox of a member.
//!
//! A command with `network = on` shares the network of the machine, and so reaches its loopback interface. The
//! kernel says which socket is at the other end of a connection (`/proc/net/tcp`), and which processes hold it
//! (`/proc/PID/fd`). While such a command runs, a connection of this machine is served only if a process outside
//! of every sandbox holds the socket. It is not enough to look for a holder inside: a command can hide its
//! descriptors, or hand the socket from process to process faster than anybody looks.
//!
//! A sandbox of level `full` is known by its first process: it is process 1 of a pid namespace of its own, below
//! one of our programs. It lives as long as anything in the sandbox does, and nothing leaves its namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The programs that run commands in sandboxes.
const OUR_PROGRAMS: [&str; 2] = ["teammate", "team-lead"];
/// What carries connections of other machines here, and hides its descriptors from its own user.
const TUNNEL: &str = "sshd";
const TABLES: [&str; 2] = ["tcp", "tcp6"];

/// Whether a connection that was accepted at `own` comes from a command in a sandbox, as far as can be told:
/// where it cannot, it counts as one while such a command could be the one that connects.
pub(crate) fn is_sandboxed(peer: SocketAddr, own: SocketAddr) -> bool {
    let canonical =
        |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let (peer, own) = (canonical(peer), canonical(own));
    let inode = match socket(Path::new("/proc/net"), peer, own) {
        Ok(inode) => inode,
        // Without these tables there are no sandboxes either.
        Err(_) => return false,
    };
    let processes = Processes::read();
    let sandboxes = processes.sandboxes(|network| match inode {
        Some(inode) => socket(network, peer, own).ok().flatten() == Some(inode),
        None => true,
    });
    if sandboxes.is_empty() {
        return false;
    }
    match inode {
        // The client is on another machine, or has closed its end.
        None => peer.ip().is_loopback() || peer.ip() == own.ip(),
        Some(0) => true,
        Some(inode) => !processes.has_holder_outside(inode, &sandboxes),
    }
}

/// The number of the socket that is at the other end, if it is of this machine; 0 if nobody holds it any more.
fn socket(network: &Path, peer: SocketAddr, own: SocketAddr) -> io::Result<Option<u64>> {
    for table in TABLES {
        let text = match fs::read_to_string(network.join(table)) {
            Ok(text) => text,
            // A kernel without IPv6 has one table.
            Err(error) if error.kind() == io::ErrorKind::NotFound && table != "tcp" => continue,
            Err(error) => return Err(error),
        };
        let found = text.lines().skip(1).filter_map(row);
        let mut found = found.filter(|row| row.local == peer && row.remote == own);
        if let Some(row) = found.next() {
            return Ok(Some(row.inode));
        }
    }
    Ok(None)
}

/// A line of `/proc/net/tcp`.
struct Row {
    local: SocketAddr,
    remote: SocketAddr,
    inode: u64,
}

fn row(line: &str) -> Option<Row> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (local, remote) = (address(words.next()?)?, address(words.next()?)?);
    let inode = words.nth(6)?.parse().ok()?;
    Some(Row {
        local,
        remote,
        inode,
    })
}

/// An address of the table: words of 32 bits as they are in memory, and the port. Addresses of version 4 in
/// version 6 are those of version 4.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let word = ip.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(word, 16).ok()?.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?].concat();
            let bytes: [u8; 16] = words.try_into().ok()?;
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// The processes of the machine at one moment.
#[derive(Default)]
struct Processes {
    /// The name and the parent of each.
    known: BTreeMap<u32, (String, u32)>,
    own: u32,
}

impl Processes {
    fn read() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let known = pids.filter_map(|pid: u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, name_and_parent(&stat)?))
        });
        Self {
            known: known.collect(),
            own: std::process::id(),
        }
    }

    /// The first processes of sandboxes whose network is meant.
    fn sandboxes(&self, is_meant: impl Fn(&Path) -> bool) -> BTreeSet<u32> {
        let own_depth = depth(Path::new("/proc/self"));
        let is_first = |pid: &u32| {
            let folder = PathBuf::from(format!("/proc/{pid}"));
            let numbers = numbers(&folder);
            self.has_ancestor(*pid, |pid| self.is_ours(pid))
                && numbers.len() > own_depth
                && numbers.last() == Some(&1)
                && is_meant(&folder.join("net"))
        };
        self.known.keys().copied().filter(is_first).collect()
    }

    /// Whether a process is one of our programs, but not this server: it may have started the browser.
    fn is_ours(&self, pid: u32) -> bool {
        let name = self.known.get(&pid).map(|(name, _)| name.as_str());
        pid != self.own && name.is_some_and(|name| OUR_PROGRAMS.contains(&name))
    }

    fn has_ancestor(&self, pid: u32, is_wanted: impl Fn(u32) -> bool) -> bool {
        let mut at = pid;
        // A process that ended meanwhile may have given its number to a descendant.
        for _ in 0..self.known.len() {
            let Some((_, parent)) = self.known.get(&at) else {
                return false;
            };
            at = *parent;
            if is_wanted(at) {
                return true;
            }
        }
        false
    }

    /// Whether a process outside of the sandboxes holds the socket.
    fn has_holder_outside(&self, inode: u64, sandboxes: &BTreeSet<u32>) -> bool {
        let own_depth = depth(Path::new("/proc/self"));
        let wanted = format!("socket:[{inode}]");
        self.known.iter().any(|(pid, (name, _))| {
            let Some(process) = Process::open(*pid) else {
                return false;
            };
            let is_holder = match process.holds(&wanted) {
                Ok(is_holder) => is_holder,
                Err(_) => name.starts_with(TUNNEL),
            };
            is_holder && !sandboxes.contains(pid) && self.is_outside(&process, own_depth, sandboxes)
        })
    }

    /// Whether a process is in none of the sandboxes. Browsers may be in namespaces of their own.
    fn is_outside(&self, process: &Process, own_depth: usize, sandboxes: &BTreeSet<u32>) -> bool {
        let Some((_, parent)) = process.name_and_parent() else {
            return false;
        };
        let is_known = parent == 0 || self.known.contains_key(&parent);
        let is_below = || {
            sandboxes.contains(&parent) || self.has_ancestor(parent, |pid| sandboxes.contains(&pid))
        };
        depth(&process.path) <= own_depth || (is_known && !is_below())
    }
}

/// One process, whatever becomes of its number.
struct Process {
    path: PathBuf,
    _folder: File,
}

impl Process {
    fn open(pid: u32) -> Option<Self> {
        let folder = File::open(format!("/proc/{pid}")).ok()?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        Some(Self {
            path,
            _folder: folder,
        })
    }

    fn name_and_parent(&self) -> Option<(String, u32)> {
        name_and_parent(&fs::read_to_string(self.path.join("stat")).ok()?)
    }

    fn holds(&self, wanted: &str) -> io::Result<bool> {
        for entry in fs::read_dir(self.path.join("fd"))? {
            let target = entry.and_then(|entry| fs::read_link(entry.path()));
            if target.is_ok_and(|target| target.as_os_str() == wanted) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The name and the parent of a process. The name may contain anything.
fn name_and_parent(stat: &str) -> Option<(String, u32)> {
    let (start, rest) = stat.rsplit_once(") ")?;
    let name = start.split_once('(')?.1.to_owned();
    Some((name, rest.split(' ').nth(1)?.parse().ok()?))
}

/// The numbers of a process in the pid namespaces that it is in, ours first.
fn numbers(process: &Path) -> Vec<u32> {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let numbers = line.unwrap_or_default().split_ascii_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// In how many pid namespaces a process is.
fn depth(process: &Path) -> usize {
    numbers(process).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_line_of_the_table_is_read_in_both_versions() {
        let four = "   1: 0100007F:9C40 0100007F:0050 01 00000000:00000000 00:00000000 00000000  1000 0 4711 1 0";
        let found = row(four).unwrap();
        assert_eq!(found.local, "127.0.0.1:40000".parse().unwrap());
        assert_eq!(found.remote, "127.0.0.1:80".parse().unwrap());
        assert_eq!(found.inode, 4711);
        let mapped = "0000000000000000FFFF00000100007F:0050";
        assert_eq!(address(mapped), Some("127.0.0.1:80".parse().unwrap()));
        let six = "00000000000000000000000001000000:0050";
        assert_eq!(address(six), Some("[::1]:80".parse().unwrap()));
        assert_eq!(address("0100007F"), None);
        assert!(row("").is_none());
    }

    #[test]
    fn the_name_of_a_process_cannot_change_its_parent() {
        let stat = "12 (a) S 1 (b) R 7 12 12 0";
        assert_eq!(name_and_parent(stat), Some(("a) S 1 (b".to_owned(), 7)));
    }

    #[test]
    fn the_socket_at_the_other_end_is_found_and_its_holder_is_outside() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let own = server.local_addr().unwrap();
        let inode = socket(Path::new("/proc/net"), peer, own).unwrap().unwrap();
        let link = fs::read_link(format!("/proc/self/fd/{}", client.as_raw_fd())).unwrap();
        assert_eq!(link.to_str(), Some(format!("socket:[{inode}]").as_str()));
        let processes = Processes::read();
        let nobody = BTreeSet::new();
        assert!(processes.has_holder_outside(inode, &nobody));
        let this = BTreeSet::from([std::process::id()]);
        assert!(!processes.has_holder_outside(inode, &this));
        assert!(!is_sandboxed(peer, own));
    }
}
