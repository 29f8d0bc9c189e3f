//! How much is kept of a conflict. Its texts are those of whoever has committed, and may be of any size.

use protocol::{ConflictPart, Extra, MergeConflict};

const MOST_FILES: usize = 200;
const MOST_AUTHORS: usize = 10;
const MOST_PATH: usize = 1000;
const MOST_NAME: usize = 200;
const MOST_MESSAGE: usize = 1000;
/// The most bytes of lines in conflict.
const MOST_HUNKS: usize = 64 << 10;
/// The most bytes of all texts together. In JSON each may take six, and the whole has to fit into a frame.
const MOST_BYTES: usize = 256 << 10;

/// The beginning of a text.
pub(crate) fn first_chars(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// What is kept of a conflict, and told to other hosts.
pub fn short_conflict(conflict: MergeConflict) -> MergeConflict {
    let (mut left, mut hunks_left) = (MOST_BYTES, MOST_HUNKS);
    let files = conflict.files.into_iter().take(MOST_FILES);
    let files = files.map(|file| short_part(file, &mut hunks_left));
    let files = files.take_while(|file| fits(&mut left, part_bytes(file)));
    let files = files.collect();
    let messages = conflict.messages.iter().take(MOST_FILES);
    let messages = messages.map(|message| first_chars(message, MOST_MESSAGE));
    let messages = messages.take_while(|message| fits(&mut left, message.len()));
    MergeConflict {
        files,
        messages: messages.collect(),
        extra: Extra::new(),
    }
}

fn short_part(file: ConflictPart, hunks_left: &mut usize) -> ConflictPart {
    let authors = file.authors.iter().take(MOST_AUTHORS);
    ConflictPart {
        path: first_chars(&file.path, MOST_PATH),
        authors: authors.map(|name| first_chars(name, MOST_NAME)).collect(),
        hunks: match fits(hunks_left, file.hunks.len()) {
            true => file.hunks,
            false => "(too long to be told)".to_owned(),
        },
        extra: Extra::new(),
    }
}

fn part_bytes(file: &ConflictPart) -> usize {
    let authors: usize = file.authors.iter().map(String::len).sum();
    file.path.len() + file.hunks.len() + authors
}

/// Whether so many bytes are left, which are taken then.
fn fits(left: &mut usize, bytes: usize) -> bool {
    let rest = left.checked_sub(bytes);
    *left = rest.unwrap_or(*left);
    rest.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(path: &str, hunks: &str, authors: &[&str]) -> ConflictPart {
        ConflictPart {
            path: path.to_owned(),
            hunks: hunks.to_owned(),
            authors: authors.iter().map(|&name| name.to_owned()).collect(),
            extra: Extra::new(),
        }
    }

    fn conflict(files: Vec<ConflictPart>, messages: Vec<String>) -> MergeConflict {
        MergeConflict {
            files,
            messages,
            extra: Extra::new(),
        }
    }

    #[test]
    fn a_usual_conflict_is_kept_whole() {
        let files = vec![part("a.txt", "<<<<<<< x\n", &["alice", "bob"])];
        let usual = conflict(files, vec!["CONFLICT (content): a.txt".to_owned()]);
        assert_eq!(short_conflict(usual.clone()), usual);
    }

    #[test]
    fn no_text_of_a_conflict_makes_it_too_long_for_a_frame() {
        // A sign that takes six bytes in JSON, and one that takes four in memory.
        for sign in ["\u{1}", "\u{1f600}"] {
            let long = sign.repeat(3 << 20);
            let many = vec![long.as_str(); 20];
            let mut files = vec![part("a.txt", "one", &many), part(&long, &long, &[])];
            files.extend(vec![part(&sign.repeat(1000), "two", &[]); 1000]);
            let mut told = conflict(files, vec![sign.repeat(10_000); 1000]);
            told.messages.insert(0, long.clone());
            told.extra.insert("more".to_owned(), long.clone().into());
            let short = short_conflict(told);
            assert_eq!(short.files[0].authors.len(), MOST_AUTHORS);
            assert_eq!(short.files[0].hunks, "one");
            assert_eq!(short.files[1].hunks, "(too long to be told)");
            assert!(short.files.len() > 2);
            let line = protocol::JsonLine::encode(&short).unwrap();
            assert!(line.len() < 7 * MOST_BYTES, "{} bytes", line.len());
            assert_eq!(short_conflict(short.clone()), short);
        }
    }
}
