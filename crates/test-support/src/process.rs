//! A child process under test.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

use crate::wait::wait_for;

/// How long a process may take to vanish after SIGKILL.
const KILL_LIMIT: Duration = Duration::from_secs(30);

/// How long the last lines of a process that has ended are waited for.
const REST_LIMIT: Duration = Duration::from_secs(10);

/// A child process whose output lines can be read with a limit. It is killed
/// with SIGKILL and reaped when the value is dropped.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    incoming: Receiver<String>,
    lines: Vec<String>,
    /// How many of `lines` have been handed out.
    taken: usize,
    /// Everything that was read, before it was split into lines.
    output: Arc<Mutex<Vec<u8>>>,
}

impl Worker {
    /// Starts the command with its standard input and output as pipes to this
    /// value. Standard error goes where the command says, by default to that
    /// of the test.
    pub fn spawn(cmd: &mut Command) -> io::Result<Self> {
        let mut child = cmd.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        let (sender, incoming) = mpsc::channel();
        let output = Arc::default();
        if let Some(stdout) = child.stdout.take() {
            let output = Arc::clone(&output);
            // The thread ends with the output. It is not joined, because a
            // grandchild may hold the pipe open for longer than the test.
            thread::spawn(move || read_lines(stdout, &sender, &output));
        }
        Ok(Self {
            child,
            stdin,
            incoming,
            lines: Vec::new(),
            taken: 0,
            output,
        })
    }

    /// The process id. After the process was reaped it may belong to another.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line of the output, without its line end; bytes that are not
    /// UTF-8 are replaced. Panics, showing the lines so far, if none comes
    /// within the limit or the output ended.
    #[track_caller]
    pub fn line(&mut self, limit: Duration) -> String {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(line) = self.try_line() {
                return line;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.incoming.recv_timeout(left) {
                Ok(line) => self.lines.push(line),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("no line within {limit:?}; so far: {:?}", self.lines)
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the output ended; so far: {:?}", self.lines)
                }
            }
        }
    }

    /// The next line of the output if it is already there.
    pub fn try_line(&mut self) -> Option<String> {
        self.lines.extend(self.incoming.try_iter());
        let line = self.lines.get(self.taken)?.clone();
        self.taken += 1;
        Some(line)
    }

    /// All lines that have arrived since the start, those already handed out
    /// as well. Hands out none.
    pub fn lines_so_far(&mut self) -> &[String] {
        self.lines.extend(self.incoming.try_iter());
        &self.lines
    }

    /// All output so far as it was written; bytes that are not UTF-8 are
    /// replaced. Hands out no lines.
    pub fn output(&self) -> String {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&output).into_owned()
    }

    /// Writes one line to the standard input of the process. It fails with `BrokenPipe` if the process has
    /// ended or its input was closed.
    pub fn send_line(&mut self, line: &str) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        // One write, so that a kill cannot leave half of the line.
        stdin.write_all(format!("{line}\n").as_bytes())
    }

    /// The standard input of the process, until it is closed.
    pub fn stdin(&mut self) -> Option<&mut ChildStdin> {
        self.stdin.as_mut()
    }

    /// Closes the standard input: the process reads its end.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Kills the process with SIGKILL and reaps it. Returns how it ended, which may be another way if it
    /// had already ended.
    #[track_caller]
    pub fn kill9(&mut self) -> ExitStatus {
        self.child.kill().expect("SIGKILL reaches a child");
        self.wait(KILL_LIMIT)
    }

    /// Asks the process to end with SIGTERM and does not wait for it. Does
    /// nothing if it is known to have ended.
    #[track_caller]
    pub fn terminate(&mut self) {
        if self.try_wait().is_none() {
            // Not reaped, so the number still belongs to this child.
            let pid = Pid::from_raw(self.child.id().cast_signed());
            kill(pid, Signal::SIGTERM).expect("SIGTERM reaches a child");
        }
    }

    /// How the process ended, or `None` while it runs.
    #[track_caller]
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be waited for")
    }

    /// Waits until the process ends. Panics, showing the lines so far, if it
    /// still runs when the limit has passed. All that it has written can be
    /// read after the end.
    #[track_caller]
    pub fn wait(&mut self, limit: Duration) -> ExitStatus {
        let what = format!(
            "the end of process {}; its lines so far: {:?}",
            self.id(),
            self.lines_so_far()
        );
        let status = wait_for(&what, limit, || self.try_wait());
        self.take_rest();
        status
    }

    /// Takes the lines from before the end of the process that the reading thread has not handed over yet.
    /// A grandchild may keep the output open, so there is a limit.
    fn take_rest(&mut self) {
        let deadline = Instant::now() + REST_LIMIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.incoming.recv_timeout(left) {
                Ok(line) => self.lines.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Nothing useful can be done about a failure in a drop.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_lines(stdout: ChildStdout, sender: &mpsc::Sender<String>, output: &Mutex<Vec<u8>>) {
    let mut reader = BufReader::new(stdout);
    let mut bytes = Vec::new();
    while matches!(reader.read_until(b'\n', &mut bytes), Ok(count) if count > 0) {
        let mut whole = output.lock().unwrap_or_else(PoisonError::into_inner);
        whole.extend_from_slice(&bytes);
        drop(whole);
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        let line = String::from_utf8_lossy(&bytes).into_owned();
        if sender.send(line).is_err() {
            return;
        }
        bytes.clear();
    }
}

/// A named pipe that holds up whoever opens it for reading until it is dropped.
#[derive(Debug)]
pub struct Gate {
    path: PathBuf,
    writer: Option<File>,
}

impl Gate {
    #[track_caller]
    pub fn new(folder: &Path) -> Self {
        let path = folder.join("gate");
        mkfifo(&path, Mode::S_IRWXU).expect("a pipe can be made");
        Self { path, writer: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until a process stands at the gate.
    #[track_caller]
    pub fn wait_for_visitor(&mut self, limit: Duration) {
        let mut open = OpenOptions::new();
        // Such an opening fails as long as nobody reads.
        open.write(true).custom_flags(libc::O_NONBLOCK);
        let writer = wait_for("a process at the gate", limit, || {
            open.open(&self.path).ok()
        });
        self.writer = Some(writer);
    }
}
