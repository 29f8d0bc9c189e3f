//! Text of others, made safe for a terminal.
//!
//! Names, messages, errors of servers and the contents of files may come from anybody. A terminal acts
//! on some characters in them: escape sequences change its title or the clipboard, marks of writing
//! direction make a line read as another, and characters without a width hide in names. Everything that
//! this project prints goes through [`clean`] or [`one_line`], and JSON through [`escape_json`]. What is left
//! takes columns, which `fit.rs` counts.

mod fit;

pub use fit::{fit, fit_name, fit_right, width, wrap, wrap_beside};

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// The joiners that scripts and emoji need between two of their characters.
const JOINERS: [char; 2] = ['\u{200c}', '\u{200d}'];

/// The text with a replacement character for each character that a terminal would act on or not show.
/// Line ends and tabs stay.
pub fn clean(text: &str) -> Cow<'_, str> {
    if is_clean(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(replaced(text, |c| matches!(c, '\n' | '\t')))
}

/// The same on one line: line ends and tabs become spaces, so that a text cannot add lines of its own.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if is_clean(text) && !text.contains(['\n', '\t']) {
        return Cow::Borrowed(text);
    }
    let line = text.replace("\r\n", " ").replace(['\n', '\r', '\t'], " ");
    Cow::Owned(replaced(&line, |_| false))
}

/// A folder as people write it, on one line and with `~` for their own.
pub fn below_home(folder: &Path, home: Option<&Path>) -> String {
    // Every folder is below the root, which is the home of nobody who works there.
    let home = home.filter(|home| home.parent().is_some());
    let below = home.and_then(|home| folder.strip_prefix(home).ok());
    let shown = below.map(|below| Path::new("~").join(below));
    one_line(&shown.as_deref().unwrap_or(folder).to_string_lossy()).into_owned()
}

/// A JSON text in which each such character is written as `\uXXXX`, which means the same. In JSON they
/// stand in strings only, so nothing else changes.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let is_plain = |c: char| !is_hostile(c) || matches!(c, '\n' | '\t' | '\r');
    if json.chars().all(is_plain) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_plain(c) {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string does not fail.
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    Cow::Owned(escaped)
}

fn is_clean(text: &str) -> bool {
    text.chars()
        .all(|c| !is_hostile(c) || matches!(c, '\n' | '\t'))
}

fn replaced(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut before = None;
    let mut rest = text.chars().peekable();
    let mut cleaned = String::with_capacity(text.len());
    while let Some(c) = rest.next() {
        // The line end of Windows, `\r\n`, becomes `\n`.
        if c == '\r' && rest.peek() == Some(&'\n') {
            continue;
        }
        let joins = JOINERS.contains(&c) && is_joined(before) && is_joined(rest.peek().copied());
        cleaned.push(match is_kept(c) || joins || !is_hostile(c) {
            true => c,
            false => char::REPLACEMENT_CHARACTER,
        });
        before = Some(c);
    }
    cleaned
}

/// Whether a joiner next to this character can change how it is drawn. Next to ASCII it only hides.
fn is_joined(c: Option<char>) -> bool {
    c.is_some_and(|c| !c.is_ascii() && !is_hostile(c))
}

/// Whether a terminal acts on a character, or does not show it.
pub fn is_hostile(c: char) -> bool {
    // The control characters C0, DEL and C1.
    c.is_control()
        || matches!(c,
            // Soft hyphen, and fillers that are blank characters.
            '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
            // Marks of writing direction.
            | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Characters without a width.
            | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{feff}'
            // Line and paragraph separators, and deprecated format controls.
            | '\u{2028}' | '\u{2029}' | '\u{206a}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}'
            // Tags, which spell invisible text.
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn a_folder_below_home_is_shorter() {
        let folder = Path::new("/home/ann/project/.team");
        let shown = |home: &str| below_home(folder, Some(Path::new(home)));
        assert_eq!(shown("/home/ann"), "~/project/.team");
        for other in ["/", "", "/home/an", "/root"] {
            assert_eq!(shown(other), "/home/ann/project/.team", "{other:?}");
        }
        assert_eq!(below_home(Path::new("/srv/\n.team"), None), "/srv/ .team");
    }

    #[test]
    fn nothing_is_left_that_a_terminal_acts_on() {
        let text = "a\x1b]52;c;ZXZpbA==\x07\tb\r\n\u{9b}31m\u{202e}c\u{7f}\u{200b}d\u{feff}";
        let cleaned =
            "a\u{fffd}]52;c;ZXZpbA==\u{fffd}\tb\n\u{fffd}31m\u{fffd}c\u{fffd}\u{fffd}d\u{fffd}";
        assert_eq!(clean(text), cleaned);
        assert_eq!(one_line("role\nTeam: fake\r\nx\ty"), "role Team: fake x y");
        assert_eq!(one_line("a\x1b[2J"), "a\u{fffd}[2J");
    }

    #[test]
    fn plain_text_of_any_script_is_not_changed_or_copied() {
        for text in [
            "Žofie → 愛",
            "می\u{200c}خواهم",
            "👩\u{200d}🚀 ❤\u{fe0f}",
            "e\u{301}",
        ] {
            assert_eq!(clean(text), text);
            assert_eq!(one_line(text), text);
        }
        assert!(matches!(clean("žluťoučký kůň\n\t"), Cow::Borrowed(_)));
        assert!(matches!(escape_json("{\"a\":\"ž\"}\n"), Cow::Borrowed(_)));
        assert_eq!(clean("ad\u{200d}min"), "ad\u{fffd}min");
    }

    proptest! {
        #[test]
        fn whatever_comes_in_is_clean_and_json_means_the_same(text in any::<String>()) {
            let joined = |c: &char| JOINERS.contains(c);
            let left = |text: &str| text.chars().filter(|c| is_hostile(*c) && !joined(c)).collect::<String>();
            prop_assert_eq!(left(&clean(&text)).replace(['\n', '\t'], ""), "");
            prop_assert_eq!(left(&one_line(&text)), "");
            let json = Value::String(text).to_string();
            let escaped = escape_json(&json);
            prop_assert!(!escaped.chars().any(is_hostile));
            let again: Value = serde_json::from_str(&escaped).unwrap();
            prop_assert_eq!(again.to_string(), json);
        }
    }
}
