//! Runs the command with which a user wants to be told that something waits for them.
//!
//! It is the user's own command and runs as the user, outside of any sandbox: it shows a notification, or
//! sends a message to a telephone. Nobody waits for it, and nothing depends on how it ends.

use std::io::{self, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long the command may run before it is killed.
const LIMIT: Duration = Duration::from_secs(30);
/// How often its end is looked for.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// Starts `command` with a shell, in `folder` and with `input` on its standard input. Returns when it has
/// started.
pub fn notify(command: &str, folder: &Path, input: String) -> io::Result<()> {
    let child = Command::new("/bin/sh")
        .args(["-c", command])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A signal for the member's processes is none for the user's.
        .process_group(0)
        .spawn()?;
    let attend = move || attend(child, &input);
    thread::Builder::new()
        .name("notify".to_owned())
        .spawn(attend)?;
    Ok(())
}

/// Gives the command its input and reaps it.
fn attend(mut child: Child, input: &str) {
    let given_up_at = Instant::now() + LIMIT;
    if let Some(mut stdin) = child.stdin.take() {
        let line = format!("{input}\n");
        // A command that reads nothing closes its end. A text that fits in a pipe does not block.
        let _ = stdin.write_all(line.as_bytes());
    }
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
        notify("cat > told", folder.path(), text.clone()).unwrap();
        let told = folder.path().join("told");
        wait_until("the command", Duration::from_secs(20), || {
            std::fs::read_to_string(&told).is_ok_and(|found| found.trim() == text)
        });
    }
}
