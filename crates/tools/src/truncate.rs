//! Shortens texts for a model.

/// The maximum number of characters of an output.
pub const LIMIT: usize = 50_000;

/// A text, or both ends of one whose middle is not in memory.
#[derive(Clone, Copy, Debug)]
pub struct Pieces<'a> {
    pub head: &'a str,
    /// Empty if `head` is everything.
    pub tail: &'a str,
    /// The number of bytes between the two.
    pub skipped: u64,
}

impl<'a> Pieces<'a> {
    /// A complete text.
    pub fn whole(text: &'a str) -> Self {
        Self {
            head: text,
            tail: "",
            skipped: 0,
        }
    }
}

/// Shortens a text to at most `limit` characters, including the note in its middle. The note gives
/// the number of bytes that were cut and, if `saved` names it, the file with the complete text. Both
/// ends are kept, as far as the limit has room beside the note. A text that fits is unchanged.
pub fn truncate(pieces: &Pieces<'_>, limit: usize, saved: Option<&str>) -> String {
    let length = pieces.head.chars().count() + pieces.tail.chars().count();
    if pieces.skipped == 0 && length <= limit {
        return [pieces.head, pieces.tail].concat();
    }
    // The longest possible note, because its number is not known yet.
    let room = limit.saturating_sub(note(u64::MAX, saved).chars().count());
    let (first, last) = ends(pieces, room);
    let all = pieces.head.len() + pieces.tail.len() - first.len() - last.len();
    let cut = pieces.skipped.saturating_add(all as u64);
    if room < 2 {
        // No room for a note and both ends: keep the ends.
        let (first, last) = ends(pieces, limit);
        return [first, last].concat();
    }
    [first, &note(cut, saved), last].concat()
}

fn note(cut: u64, saved: Option<&str>) -> String {
    match saved {
        Some(path) => {
            format!("\n[... {cut} bytes cut out here; the full output is in {path} ...]\n")
        }
        None => format!("\n[... {cut} bytes cut out here ...]\n"),
    }
}

/// The first and the last characters, `room` in all, half from each end unless one end is short.
fn ends<'a>(pieces: &Pieces<'a>, room: usize) -> (&'a str, &'a str) {
    let last_half = room / 2;
    if pieces.tail.is_empty() {
        let first = first_chars(pieces.head, room - last_half);
        let rest = pieces.head.get(first.len()..).unwrap_or_default();
        return (first, last_chars(rest, last_half));
    }
    let last = last_chars(pieces.tail, last_half);
    (first_chars(pieces.head, room - last.chars().count()), last)
}

/// The first `count` characters, or all if there are fewer.
pub(crate) fn first_chars(text: &str, count: usize) -> &str {
    let end = text
        .char_indices()
        .nth(count)
        .map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

fn last_chars(text: &str, count: usize) -> &str {
    let Some(before) = count.checked_sub(1) else {
        return "";
    };
    let start = text.char_indices().nth_back(before).map_or(0, |(at, _)| at);
    text.get(start..).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn never_too_long_and_both_ends_are_kept(
            text in "\\PC{0,400}",
            limit in 0usize..300,
            saved in prop::option::of("[a-z/]{0,30}"),
        ) {
            let short = truncate(&Pieces::whole(&text), limit, saved.as_deref());
            let count = short.chars().count();
            prop_assert!(count <= limit, "{count} > {limit}");
            if text.chars().count() <= limit {
                prop_assert_eq!(short, text);
            } else if limit >= 2 {
                prop_assert_eq!(short.chars().next(), text.chars().next());
                prop_assert_eq!(short.chars().last(), text.chars().last());
            }
        }

        #[test]
        fn the_note_counts_the_gap_between_two_pieces(
            head in "\\PC{1,300}",
            tail in "\\PC{1,300}",
            skipped in 1u64..1_000_000,
        ) {
            let pieces = Pieces { head: &head, tail: &tail, skipped };
            let short = truncate(&pieces, 200, Some("out/x"));
            prop_assert!(short.chars().count() <= 200);
            let (first, rest) = short.split_once("\n[... ").unwrap();
            let (note, last) = rest.split_once(" ...]\n").unwrap();
            prop_assert!(head.starts_with(first) && !first.is_empty());
            prop_assert!(tail.ends_with(last) && !last.is_empty());
            let cut = skipped as usize + head.len() + tail.len() - first.len() - last.len();
            prop_assert_eq!(note, format!("{cut} bytes cut out here; the full output is in out/x"));
        }
    }

    #[test]
    fn the_note_is_between_the_ends() {
        let text = format!("{}{}", "a".repeat(100), "z".repeat(100));
        let short = truncate(&Pieces::whole(&text), 80, None);
        assert!(
            short.starts_with("aaaa") && short.ends_with("zzzz"),
            "{short}"
        );
        assert!(short.contains("bytes cut out here ...]\n"), "{short}");
    }
}
