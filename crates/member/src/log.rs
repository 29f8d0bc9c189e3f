//! The log of a member: what it did, a line each, for people.

use protocol::Recipient;
use std::fs::File;
use std::io::Write;
use teamdir::TeamDir;

/// How much of a long text a line shows.
const SHOWN: usize = 200;

/// Writes lines to a member's log. A line that cannot be written is lost and nothing else is: the
/// journal has what counts.
#[derive(Debug)]
pub struct MemberLog {
    file: Option<File>,
    /// Whether the lines go to standard output too, because a person looks at it.
    echo: bool,
}

impl MemberLog {
    /// The diary of a member.
    pub fn open(team: &TeamDir, owner: &Recipient, echo: bool) -> Self {
        Self {
            file: team.open_log(owner).ok(),
            echo,
        }
    }

    /// Writes lines, the first of them with the time.
    pub fn note(&mut self, text: &str) {
        let text: String = text.chars().map(harmless).collect();
        let line = format!(
            "{} {}\n",
            clock(),
            text.trim_end().replace('\n', "\n         ")
        );
        if let Some(file) = &mut self.file {
            let _ = file.write_all(line.as_bytes());
        }
        if self.echo {
            let mut out = std::io::stdout();
            let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
        }
    }

    /// Writes one line with the start of a long text.
    pub fn short(&mut self, head: &str, text: &str) {
        let mut shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < text.len() {
            shown.push_str(" ...");
        }
        self.note(&format!("{head}{}", shown.replace('\n', " ")));
    }
}

/// A log is read at a terminal, which must not take orders from what a model or a colleague wrote.
fn harmless(c: char) -> char {
    if c.is_control() && c != '\n' && c != '\t' {
        '\u{fffd}'
    } else {
        c
    }
}

/// The time of day in UTC.
pub fn clock() -> String {
    let seconds = teamdir::now().as_micros() / 1_000_000;
    let of_day = seconds.rem_euclid(86_400);
    format!(
        "{:02}:{:02}:{:02}",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60
    )
}
