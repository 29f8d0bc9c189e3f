//! Reads unread mail without receiving it.

use crate::error::{Context, PathError};
use crate::mail::segment::Segment;
use crate::mail::state::MailState;
use crate::team_dir::TeamDir;
use protocol::{Line, Recipient, decode_line};
use std::io;
use std::path::Path;

impl TeamDir {
    /// Calls `visit` with each unread line of an inbox, oldest first. Takes no lock and changes
    /// nothing. Returns how many lines there were.
    pub fn unread_mail(
        &self,
        owner: &Recipient,
        visit: impl FnMut(&[u8], Line),
    ) -> Result<usize, PathError> {
        let numbers = self.segments(owner)?;
        self.unread_mail_among(owner, &numbers, visit)
    }

    /// The same for a caller that has listed the folder of all inboxes, and knows the numbers of the
    /// files of this one that were set aside. A caller that reads many inboxes lists the folder once.
    ///
    /// A file that was set aside since has been read to its end, and one that is gone had been.
    pub fn unread_mail_among(
        &self,
        owner: &Recipient,
        numbers: &[u64],
        mut visit: impl FnMut(&[u8], Line),
    ) -> Result<usize, PathError> {
        let state = self.recover_mail_state(owner)?;
        let mut count = 0;
        let live = numbers.iter().copied().max().unwrap_or(0).max(state.sealed) + 1;
        let files = numbers
            .iter()
            .map(|number| (*number, self.layout.segment(owner, *number)));
        for (number, path) in files.chain([(live, self.layout.inbox(owner))]) {
            let Some(mut segment) = open(&path, number, &state)? else {
                continue;
            };
            loop {
                let bytes = segment.unread_lines().context("read the inbox", &path)?;
                if bytes.is_empty() {
                    break;
                }
                for line in bytes.split(|byte| *byte == b'\n') {
                    let decoded = decode_line(line);
                    if decoded != Line::Blank {
                        count += 1;
                        visit(line, decoded);
                    }
                }
                segment.skip(bytes.len() as u64);
            }
        }
        Ok(count)
    }
}

fn open(path: &Path, number: u64, state: &MailState) -> Result<Option<Segment>, PathError> {
    let mut segment = match Segment::open(path, number) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        result => result.context("open the inbox", path)?,
    };
    // A file set aside bears its number in its name; which number the live one has is only known
    // by what it is.
    let by_name = number <= state.sealed;
    if let Some(position) = state.positions.get(&number)
        && (by_name || segment.is_file_of(position))
    {
        segment.resume(position).context("read the inbox", path)?;
    }
    Ok(Some(segment))
}
