//! A machine to attack: a home folder with secrets, a workspace with control files, servers, a
//! process of the same user, and shared memory.

use std::ffi::CString;
use std::fs;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where scenes are made.
const ROOM: &str = env!("CARGO_TARGET_TMPDIR");

/// Whether every user can reach the scenes.
pub(crate) fn is_reachable() -> bool {
    let others = |folder: &Path| fs::metadata(folder).is_ok_and(|found| found.mode() & 1 == 1);
    Path::new(ROOM).ancestors().all(others)
}

pub(crate) struct Scene {
    folder: tempfile::TempDir,
    user: Option<u32>,
}

impl Scene {
    pub(crate) fn new(user: Option<u32>) -> Self {
        // Not in a folder for temporary files, of which a command gets its own.
        let folder = tempfile::tempdir_in(ROOM).expect("a folder");
        let scene = Self { folder, user };
        for (name, text) in [
            ("home/.ssh/id", "secret"),
            ("home/.cargo/credentials.toml", "secret"),
            ("home/.cargo/config.toml", ""),
            ("home/.config/program/config.toml", "secret"),
            ("home/.netrc", "secret"),
            ("home/.bashrc", "before"),
            ("outside/file", "before"),
            ("work/.team/config.json", "before"),
            ("work/team.toml", "before"),
            ("work/.env", "before"),
            ("work/.vscode/settings.json", "before"),
            ("work/mcp-settings.json", "before"),
            ("work/src/lib.rs", "before"),
            ("work/hooks-here/pre-commit", "before"),
            ("work/more-settings", ""),
        ] {
            let path = scene.path(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            fs::write(&path, text).expect("a file");
        }
        let work = scene.workspace();
        link("mcp-settings.json", &work.join(".mcp.json"));
        link(scene.path("outside/file"), &work.join("link-outside"));
        link(scene.path("home/.ssh/id"), &work.join("link-secret"));
        // By another process: a program cannot be executed while any process has it open for writing,
        // and a child that another test forks at this moment would.
        let mut copy = Command::new("cp");
        copy.arg(std::env::current_exe().expect("it is known"))
            .arg(scene.runner());
        assert!(copy.status().expect("cp is here").success());
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(scene.folder.path(), mode).expect("it is ours");
        scene.give_away();
        let mut git = scene.as_user("git");
        git.args(["init", "-q", "-b", "main"]).current_dir(&work);
        assert!(git.status().expect("git is here").success());
        for (name, text) in [
            ("index-new", "[core]"),
            ("modules/sub/HEAD", "ref: refs/heads/main"),
            ("modules/sub/config", ""),
            ("worktrees/other/HEAD", "ref: refs/heads/other"),
            ("worktrees/other/commondir", "../.."),
            // Or git removes it as one that is gone.
            ("worktrees/other/locked", ""),
            ("worktrees/other/gitdir", "/nowhere/.git"),
        ] {
            let path = work.join(".git").join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            fs::write(&path, text).expect("a file");
        }
        let settings = work.join(".git/config");
        let text = fs::read_to_string(&settings).expect("git made it");
        let more = "[core]\n\thooksPath = hooks-here\n[include]\n\tpath = ../more-settings\n";
        fs::write(&settings, text + more).expect("it is ours");
        scene.give_away();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        let root = self.folder.path().canonicalize().expect("it is there");
        root.join(name)
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("work")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.path("outside")
    }

    pub(crate) fn runner(&self) -> PathBuf {
        self.path("runner")
    }

    /// A command outside, as the user that is attacked.
    pub(crate) fn as_user(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("HOME", self.home()).env("SECRET_KEY", "secret");
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// Makes everything the user's.
    pub(crate) fn give_away(&self) {
        if let Some(user) = self.user {
            let owner = format!("{user}:{user}");
            let mut chown = Command::new("chown");
            chown.args(["-hR", &owner]).arg(self.folder.path());
            assert!(chown.status().expect("chown is here").success());
        }
    }

    /// The files that no attack may change, with their content.
    pub(crate) fn protected(&self, in_workspace: bool) -> Vec<(PathBuf, Option<String>)> {
        let outside = ["home/.bashrc", "home/.ssh/id", "outside/file"];
        let inside = [
            "work/.team/config.json",
            "work/team.toml",
            "work/.env",
            "work/.vscode/settings.json",
            "work/.git/config",
            "work/.git/modules/sub/config",
            "work/.git/worktrees/other/commondir",
            "work/hooks-here/pre-commit",
            "work/more-settings",
        ];
        let inside = inside.into_iter().filter(|_| in_workspace);
        let paths = outside
            .into_iter()
            .chain(inside)
            .map(|name| self.path(name));
        paths
            .map(|path| (path.clone(), fs::read_to_string(path).ok()))
            .collect()
    }
}

fn link(to: impl AsRef<Path>, at: &Path) {
    std::os::unix::fs::symlink(to, at).expect("a link");
}

/// Servers, a process and shared memory that an attack may try to reach.
pub(crate) struct Targets {
    tcp: TcpListener,
    udp: UdpSocket,
    _abstract: UnixListener,
    abstract_name: String,
    _local: [UnixListener; 2],
    victim: Child,
    shared: i32,
    queue: CString,
    /// A socket in `/run`, where servers have theirs. Only root can make one.
    in_run: Option<(UnixListener, PathBuf)>,
}

impl Targets {
    pub(crate) fn new(scene: &Scene) -> Self {
        // The name of the folder is the scene's alone.
        let folder = scene.folder.path().file_name().expect("it has one");
        let abstract_name = folder.display().to_string();
        let address = SocketAddr::from_abstract_name(&abstract_name).expect("it is short");
        let sockets = [scene.outside(), scene.home()].map(|folder| {
            let path = folder.join("socket");
            let listener = UnixListener::bind(&path).expect("a socket");
            let mode = fs::Permissions::from_mode(0o777);
            fs::set_permissions(&path, mode).expect("it is ours");
            listener
        });
        let mut victim = scene.as_user("sleep");
        let victim = victim
            .arg("600")
            .stdin(Stdio::null())
            .spawn()
            .expect("sleep is here");
        let mut create = scene.as_user("ipcmk");
        let created = create.args(["-M", "4096"]).output();
        let shared = created.ok().and_then(|output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.trim().rsplit(' ').next()?.parse().ok()
        });
        let queue = CString::new(format!("/{abstract_name}")).expect("no zero in it");
        // SAFETY: a constant name and numbers. The queue is removed in the end.
        unsafe {
            let flags = libc::O_CREAT | libc::O_RDWR;
            let mode: libc::c_uint = 0o666;
            let none: *mut libc::mq_attr = std::ptr::null_mut();
            libc::close(libc::mq_open(queue.as_ptr(), flags, mode, none));
        }
        Self {
            tcp: TcpListener::bind("127.0.0.1:0").expect("a port"),
            udp: UdpSocket::bind("127.0.0.1:0").expect("a port"),
            _abstract: UnixListener::bind_addr(&address).expect("a socket"),
            abstract_name: abstract_name.clone(),
            _local: sockets,
            victim,
            shared: shared.unwrap_or(-1),
            queue,
            in_run: in_run(&abstract_name),
        }
    }

    /// The arguments of the attack.
    pub(crate) fn arguments(&self, scene: &Scene) -> String {
        let port = |address: std::io::Result<std::net::SocketAddr>| address.expect("bound").port();
        format!(
            "{} {} {} {} {} {} {}",
            scene.home().display(),
            scene.outside().display(),
            self.victim.id(),
            port(self.tcp.local_addr()),
            port(self.udp.local_addr()),
            self.abstract_name,
            self.shared,
        )
    }

    /// Whether a datagram arrived.
    pub(crate) fn got_datagram(&self) -> bool {
        self.udp.set_nonblocking(true).expect("it can be set");
        self.udp.recv(&mut [0; 16]).is_ok()
    }

    pub(crate) fn victim_lives(&mut self) -> bool {
        matches!(self.victim.try_wait(), Ok(None))
    }
}

impl Drop for Targets {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        if let Some((_, path)) = &self.in_run {
            let _ = fs::remove_file(path);
        }
        // SAFETY: a name.
        unsafe {
            libc::mq_unlink(self.queue.as_ptr());
        }
        let shared = self.shared.to_string();
        let mut remove = Command::new("ipcrm");
        remove.args(["-m", &shared]).stderr(Stdio::null());
        let _ = remove.status();
    }
}

fn in_run(name: &str) -> Option<(UnixListener, PathBuf)> {
    let path = Path::new("/run").join(name);
    let listener = UnixListener::bind(&path).ok()?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).ok()?;
    Some((listener, path))
}

/// A file as the standard input of a command.
pub(crate) fn input(path: &Path) -> Stdio {
    let mut file = fs::File::open(path).expect("it is there");
    let mut byte = [0; 1];
    let _ = file.read(&mut byte);
    file.into()
}
