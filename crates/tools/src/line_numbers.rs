//! The numbers that `read_file` puts before the lines of a file, such as `12→text`.
//!
//! The arrow hardly ever follows a number at the start of a line of a real file. So a model does not take
//! it for a part of the text, and if it pastes the numbers into an edit all the same, they are recognized.

/// What stands between a number and its line.
const ARROW: char = '→';

/// The number of a line as it is shown.
pub(crate) fn prefix(number: u64) -> String {
    format!("{number}{ARROW}")
}

/// Whether every line of a text begins with such a number, and they count up one by one.
pub(crate) fn are_pasted(text: &str) -> bool {
    let mut numbers = text.lines().map(number).peekable();
    let mut next = match numbers.peek() {
        Some(first) => *first,
        None => return false,
    };
    numbers.all(|number| {
        let fits = number.is_some() && number == next;
        next = number.and_then(|number| number.checked_add(1));
        fits
    })
}

/// The number that a line begins with, if it begins with one as `read_file` shows it.
pub(crate) fn number(line: &str) -> Option<u64> {
    let (digits, _) = line.trim_start().split_once(ARROW)?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_count_up_are_recognized() {
        for pasted in ["7→let x = 1;", "9→a\n10→\n11→c\n", "  1→a\n  2→b"] {
            assert!(are_pasted(pasted), "{pasted:?}");
        }
        for own in ["", "a → b", "1→a\nb", "1→a\n3→b", "→a", "+1→a", "1 →a"] {
            assert!(!are_pasted(own), "{own:?}");
        }
    }
}
