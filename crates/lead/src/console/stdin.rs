//! Lines from a pipe or a file.

use super::Input;
use std::io::BufRead;
use std::thread;
use tokio::sync::mpsc::Sender;

/// Reads lines until there are none. The thread is never joined: nobody can wake it from a read.
pub(crate) fn start(typed: Sender<Input>) {
    thread::spawn(move || read(std::io::stdin().lock(), &typed));
}

fn read(mut from: impl BufRead, typed: &Sender<Input>) {
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match from.read_until(b'\n', &mut bytes) {
            Ok(count) if count > 0 => {}
            Ok(_) | Err(_) => break,
        }
        let line = String::from_utf8_lossy(&bytes).into_owned();
        // Waits while the lead has enough lines to do.
        if typed.blocking_send(Input::Line(line)).is_err() {
            return;
        }
    }
    let _ = typed.blocking_send(Input::End);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_comes_once_and_the_end_after_them() {
        let (sender, mut typed) = tokio::sync::mpsc::channel(8);
        read(b"one\n\n\xfftwo".as_slice(), &sender);
        let mut seen = Vec::new();
        while let Ok(input) = typed.try_recv() {
            seen.push(input);
        }
        let line = |text: &str| Input::Line(text.to_owned());
        let expected = [line("one\n"), line("\n"), line("\u{fffd}two"), Input::End];
        assert_eq!(seen, expected);
    }
}
