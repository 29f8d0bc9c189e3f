//! A sandboxed command behaves towards its caller as one without a sandbox.
//!
//! Tests that need namespaces pass with a note where the machine has none.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sandbox::{Description, Layers, Level, Limits, Network, Session, Step};

fn description(folder: &Path) -> Description {
    let system = ["/bin", "/etc", "/lib", "/lib64", "/usr"];
    Description {
        readable: system.iter().map(Into::into).collect(),
        writable: vec![folder.to_owned()],
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        ..Description::new(folder)
    }
}

/// Whether this machine can run the test, or why not.
fn can_run() -> bool {
    let is_full = Layers::probe().level() == Level::Full;
    if !is_full {
        let list = Layers::probe().list();
        let _ = writeln!(std::io::stderr(), "not run: no namespaces here: {list:?}");
    }
    is_full
}

struct Sandboxed {
    child: Child,
    session: Session,
    _folder: tempfile::TempDir,
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

fn start(script: &str) -> Sandboxed {
    start_command(shell(script))
}

fn start_command(mut command: Command) -> Sandboxed {
    let folder = tempfile::tempdir().expect("it works");
    let wanted = description(&folder.path().canonicalize().expect("it works"));
    let session = sandbox::prepare(&mut command, &wanted, Layers::probe()).expect("it works");
    let child = command.spawn();
    let child = child
        .map_err(|error| session.explain(error))
        .expect("it works");
    Sandboxed {
        child,
        session,
        _folder: folder,
    }
}

impl Sandboxed {
    fn signal(&self, number: i32) {
        let pid = i32::try_from(self.child.id()).expect("it works");
        // SAFETY: the child is ours and not reaped.
        assert_eq!(unsafe { libc::kill(pid, number) }, 0);
    }

    /// Waits for a line of output.
    fn line(&mut self) -> String {
        let mut line = String::new();
        let output = self.child.stdout.as_mut().expect("it works");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("it works");
        line
    }
}

/// A number of seconds that no other process sleeps.
fn unique_sleep() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}.{next}", 100_000 + std::process::id())
}

fn is_running(argument: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("it works").flatten();
    let mut lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| {
        line.split(|byte| *byte == 0)
            .any(|part| part == argument.as_bytes())
    })
}

#[track_caller]
fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn exit_codes_signals_and_output_are_those_of_the_command() {
    if !can_run() {
        return;
    }
    let mut exited = start("echo out; exit 42");
    assert_eq!(exited.child.wait().unwrap().code(), Some(42));
    let mut output = String::new();
    exited
        .child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut output)
        .unwrap();
    assert_eq!(output, "out\n");
    for number in [libc::SIGKILL, libc::SIGTERM, libc::SIGSEGV] {
        let mut killed = start(&format!("kill -{number} $$"));
        assert_eq!(killed.child.wait().unwrap().signal(), Some(number));
    }
}

#[test]
fn a_program_that_does_not_exist_fails_as_outside() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let wanted = description(&folder.path().canonicalize().unwrap());
    let mut command = Command::new("/usr/bin/no-such-program");
    let session = sandbox::prepare(&mut command, &wanted, Layers::probe()).unwrap();
    let error = session.explain(command.spawn().unwrap_err());
    assert_eq!(error.step, None);
    assert_eq!(error.source.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn a_failing_step_is_named() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut wanted = description(&folder.path().canonicalize().unwrap());
    wanted.folder = "/nowhere".into();
    let mut command = shell(":");
    let session = sandbox::prepare(&mut command, &wanted, Layers::probe()).unwrap();
    let error = session.explain(command.spawn().unwrap_err());
    assert_eq!(error.step, Some((Step::Folder, None)));
    assert_eq!(
        error.to_string(),
        "cannot enter the working folder for the sandbox"
    );
}

#[test]
fn a_folder_that_was_exchanged_after_planning_is_refused() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (work, other) = (root.join("work"), root.join("other"));
    fs::create_dir(&work).unwrap();
    fs::create_dir(&other).unwrap();
    for exchange in ["other", "link"] {
        let mut command = shell(":");
        let wanted = description(&work);
        let session = sandbox::prepare(&mut command, &wanted, Layers::probe()).unwrap();
        fs::rename(&work, root.join("away")).unwrap();
        match exchange {
            "link" => std::os::unix::fs::symlink(&other, &work).unwrap(),
            _ => fs::create_dir(&work).unwrap(),
        }
        let error = session.explain(command.spawn().unwrap_err());
        assert_eq!(error.step, Some((Step::Path, Some(work.clone()))));
        match exchange {
            "link" => fs::remove_file(&work).unwrap(),
            _ => fs::remove_dir(&work).unwrap(),
        }
        fs::rename(root.join("away"), &work).unwrap();
    }
}

/// The same folder, but behind a link, or another one of its name.
#[test]
fn a_folder_above_that_was_exchanged_after_planning_is_refused() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (above, away) = (root.join("above"), root.join("away"));
    let work = above.join("work");
    fs::create_dir_all(&work).unwrap();
    for exchange in ["other", "link"] {
        let mut command = shell("echo x > made");
        let wanted = description(&work);
        let session = sandbox::prepare(&mut command, &wanted, Layers::probe()).unwrap();
        fs::rename(&above, &away).unwrap();
        match exchange {
            "link" => std::os::unix::fs::symlink("away", &above).unwrap(),
            _ => fs::create_dir_all(&work).unwrap(),
        }
        let error = session.explain(command.spawn().unwrap_err());
        assert_eq!(error.step, Some((Step::Path, Some(work.clone()))));
        match exchange {
            "link" => fs::remove_file(&above).unwrap(),
            _ => fs::remove_dir_all(&above).unwrap(),
        }
        fs::rename(&away, &above).unwrap();
        assert!(!work.join("made").exists());
    }
}

/// A link as a writable folder stands for what it leads to, wherever it leads later.
#[test]
fn a_link_that_leads_elsewhere_after_planning_changes_nothing() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["work", "real", "other"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    let link = root.join("link");
    std::os::unix::fs::symlink("real", &link).unwrap();
    let mut wanted = description(&root.join("work"));
    wanted.writable.push(link.clone());
    let mut command = shell(&format!(
        "echo x > {}/made; echo x > {}/other/made",
        link.display(),
        root.display()
    ));
    command.stderr(Stdio::null());
    let session = sandbox::prepare(&mut command, &wanted, Layers::probe()).unwrap();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("other", &link).unwrap();
    let status = command.status().map_err(|error| session.explain(error));
    assert!(!status.unwrap().success(), "the second file cannot be made");
    assert!(root.join("real/made").exists());
    assert!(!root.join("other/made").exists());
}

#[test]
fn a_signal_for_the_child_reaches_the_command_once() {
    if !can_run() {
        return;
    }
    let script = "trap 'echo term; n=$((n+1))' TERM; echo ready; while [ -z \"$n\" ]; do sleep 0.01; done; sleep 0.2; exit $n";
    let mut running = start(script);
    assert_eq!(running.line(), "ready\n");
    running.signal(libc::SIGTERM);
    assert_eq!(running.child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_signal_for_the_group_of_the_child_reaches_the_command_once() {
    if !can_run() {
        return;
    }
    let mut command = shell(
        "trap 'n=$((n+1))' USR1; echo ready; while [ -z \"$n\" ]; do sleep 0.01; done; sleep 0.2; exit $n",
    );
    command.process_group(0);
    let mut running = start_command(command);
    assert_eq!(running.line(), "ready\n");
    let group = i32::try_from(running.child.id()).unwrap();
    // SAFETY: the child leads the group and is not reaped.
    assert_eq!(unsafe { libc::kill(-group, libc::SIGUSR1) }, 0);
    // The sleeping children of the shell get it as well, as they would outside.
    assert_eq!(running.child.wait().unwrap().code(), Some(1));
}

#[test]
fn the_command_cannot_signal_itself_through_the_first_process() {
    if !can_run() {
        return;
    }
    let script = "trap 'exit 7' TERM; kill -TERM 1; kill -KILL 1; kill -STOP 1; sleep 0.2; exit 3";
    assert_eq!(start(script).child.wait().unwrap().code(), Some(3));
}

#[test]
fn nothing_is_left_when_the_command_has_ended() {
    if !can_run() {
        return;
    }
    let sleep = unique_sleep();
    let script = format!(
        "setsid sh -c 'setsid sleep {sleep} & sleep {sleep}' & nohup sleep {sleep} & sleep 0.1"
    );
    let mut running = start(&script);
    eventually("the sleeps start", || is_running(&sleep));
    running.child.wait().unwrap();
    assert!(!is_running(&sleep));
}

#[test]
fn dropping_the_session_ends_everything() {
    if !can_run() {
        return;
    }
    let sleep = unique_sleep();
    let mut running = start(&format!(
        "setsid sleep {sleep} & trap '' TERM; sleep {sleep}"
    ));
    eventually("the sleeps start", || is_running(&sleep));
    drop(running.session);
    assert_eq!(running.child.wait().unwrap().signal(), Some(libc::SIGKILL));
    assert!(!is_running(&sleep));
}

#[test]
fn killing_the_child_ends_everything() {
    if !can_run() {
        return;
    }
    let sleep = unique_sleep();
    let mut running = start(&format!("setsid sleep {sleep} & sleep {sleep}"));
    eventually("the sleeps start", || is_running(&sleep));
    running.child.kill().unwrap();
    assert_eq!(running.child.wait().unwrap().signal(), Some(libc::SIGKILL));
    eventually("everything dies", || !is_running(&sleep));
}

#[test]
fn the_command_outlives_the_thread_that_started_it() {
    if !can_run() {
        return;
    }
    let starter = std::thread::spawn(|| start("sleep 0.3; exit 5"));
    let mut running = starter.join().unwrap();
    assert_eq!(running.child.wait().unwrap().code(), Some(5));
}

/// The form in which a supervisor that forks before exec puts itself above the sandbox.
#[test]
fn a_caller_may_fork_before_the_sandbox_is_entered() {
    if !can_run() {
        return;
    }
    let mut command = shell("exit 9");
    let between = || {
        // SAFETY: the closure runs between fork and exec. The parent's side only waits and exits.
        match unsafe { libc::fork() } {
            0 => Ok(()),
            // SAFETY: plain system calls on values on the stack.
            pid => unsafe {
                libc::syscall(libc::SYS_close_range, 3, libc::c_int::MAX, 0);
                let mut status = 0;
                libc::waitpid(pid, &raw mut status, 0);
                libc::_exit(libc::WEXITSTATUS(status) + 1)
            },
        }
    };
    // SAFETY: as the closure says.
    unsafe {
        command.pre_exec(between);
    }
    let mut running = start_command(command);
    assert_eq!(running.child.wait().unwrap().code(), Some(10));
}

/// A lock of the caller is free as soon as the caller is gone, though a sandbox is being built meanwhile.
#[test]
fn files_of_the_caller_are_closed_before_the_sandbox_is_built() {
    if !can_run() {
        return;
    }
    let lock = tempfile::tempfile().unwrap();
    lock.lock().unwrap();
    let number = lock.as_raw_fd();
    let mut command = shell("exit 4");
    let folder = tempfile::tempdir().unwrap();
    let wanted = description(&folder.path().canonicalize().unwrap());
    let session = sandbox::prepare(&mut command, &wanted, Layers::probe()).unwrap();
    let is_closed = move || {
        // SAFETY: a plain system call between fork and exec. Exec, which closes the rest, comes later.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        match flags < 0 {
            true => Ok(()),
            false => Err(std::io::ErrorKind::AlreadyExists.into()),
        }
    };
    // SAFETY: as the closure says.
    unsafe {
        command.pre_exec(is_closed);
    }
    let mut child = command.spawn().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    drop(session);
    assert!(
        !lock.metadata().unwrap().is_dir(),
        "it is open here until now"
    );
}

/// The socket is the caller's; the command finds it and has no descriptor of it.
#[test]
fn the_socket_of_a_proxy_is_passed_out() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut wanted = description(&folder.path().canonicalize().unwrap());
    wanted.network = Network::Proxy;
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let script = format!(
        "exec 2>/dev/null; (exec 3<>/dev/tcp/127.0.0.1/{port}) && exit 3; \
         exec 3<>/dev/tcp/{}/{}; read line <&3; echo \"got $line\"; exec 3<&-; ls /proc/self/fd",
        sandbox::PROXY.ip(),
        sandbox::PROXY.port()
    );
    let mut command = Command::new("/bin/bash");
    command.args(["-c", &script]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let session = sandbox::prepare(&mut command, &wanted, Layers::probe()).unwrap();
    let early = session.listener().unwrap_err();
    assert_eq!(early.kind(), std::io::ErrorKind::WouldBlock);
    let child = command.spawn().map_err(|error| session.explain(error));
    let listener = session.listener().unwrap().expect("there is one");
    assert_eq!(listener.local_addr().unwrap(), sandbox::PROXY.into());
    let (mut connection, _) = listener.accept().unwrap();
    connection.write_all(b"hello\n").unwrap();
    let output = child.unwrap().wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    // The list of its own descriptors has the three standard ones and that of the listing itself.
    let expected = ["got hello", "0", "1", "2", "3"];
    assert_eq!(lines, expected, "{text}");
}

#[test]
fn without_a_proxy_there_is_no_socket() {
    if !can_run() {
        return;
    }
    let mut running = start("exit 0");
    assert!(running.session.listener().unwrap().is_none());
    running.child.wait().unwrap();
}

#[test]
fn limits_hold() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut wanted = description(&folder.path().canonicalize().unwrap());
    wanted.limits = Limits {
        processes: Some(20),
        open_files: Some(12),
        file_bytes: Some(1 << 20),
        memory_bytes: None,
        tmp_bytes: Some(1 << 16),
    };
    let run = |script: &str| {
        let mut command = shell(script);
        command.stderr(Stdio::null());
        let session = sandbox::prepare(&mut command, &wanted, Layers::probe()).unwrap();
        let status = command.status();
        status.map_err(|error| session.explain(error)).unwrap()
    };
    let script = "[ $(ulimit -n) = 12 ] || exit 1; [ $(ulimit -c) = 0 ] || exit 2; \
         head -c 2000000 /dev/zero > big; [ $(stat -c %s big) = 1048576 ] || exit 3; \
         head -c 200000 /dev/zero > /tmp/big; [ $(stat -c %s /tmp/big) -le 65536 ] || exit 4";
    assert_eq!(run(script).code(), Some(0));
    let sleeps = |count| format!("for i in $(seq {count}); do sleep 1 & done; exit 0");
    assert_eq!(run(&sleeps(10)).code(), Some(0));
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } == 0 {
        let _ = writeln!(
            std::io::stderr(),
            "not run: no limit of processes holds for root"
        );
        return;
    }
    let failed = run(&sleeps(40));
    assert!(
        !failed.success(),
        "the shell cannot fork any more: {failed}"
    );
}
