//! Starts a command of the user's that nobody waits for.
//!
//! It runs as the user, outside of any sandbox: it shows a notification, or sends a message to a telephone. It
//! outlives the process that starts it, and nothing depends on how it ends.

use std::io::{self, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often its end is looked for.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// Starts `command` with a shell, in `folder` and with `input` on its standard input. Returns when it has
/// started and the input is on its way, so that the command ends its work even if this process is killed. The
/// input must fit in a pipe. After `limit` it is killed, if this process still runs.
pub fn start_detached(
    command: &str,
    folder: &Path,
    input: &str,
    limit: Duration,
) -> io::Result<()> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A signal for the member's processes is none for the user's.
        .process_group(0)
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that reads nothing closes its end.
        let _ = stdin.write_all(format!("{input}\n").as_bytes());
    }
    let attend = move || attend(child, limit);
    thread::Builder::new()
        .name("notify".to_owned())
        .spawn(attend)?;
    Ok(())
}

/// Reaps the command, and ends it if it takes too long.
fn attend(mut child: Child, limit: Duration) {
    let given_up_at = Instant::now() + limit;
    while let Ok(None) = child.try_wait() {
        if Instant::now() >= given_up_at {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        thread::sleep(CHECK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::wait_until;

    #[test]
    fn the_command_gets_the_text_and_runs_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let text = r#"{"request_id":"1a2b3c4d"}"#.to_owned();
        start_detached("cat > told", folder.path(), &text, Duration::from_secs(20)).unwrap();
        let told = folder.path().join("told");
        wait_until("the command", Duration::from_secs(20), || {
            std::fs::read_to_string(&told).is_ok_and(|found| found.trim() == text)
        });
    }
}
