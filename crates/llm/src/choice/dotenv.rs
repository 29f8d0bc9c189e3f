//! The text of a `.env` file.

use std::collections::BTreeMap;
use std::fmt;

/// What a `.env` file sets. The values are not printed, since some are keys.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Dotenv {
    /// The values by name; of a name that is set twice, the later one.
    pub pairs: BTreeMap<String, String>,
    /// The lines, from 1 on, that set nothing and are no comments. Such files
    /// are written for many programs, so that these lines are no error.
    pub skipped: Vec<usize>,
}

impl fmt::Debug for Dotenv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dotenv")
            .field("names", &self.pairs.keys())
            .field("skipped", &self.skipped)
            .finish()
    }
}

/// Reads lines of the form `NAME=value`, also with `export` before the name.
///
/// A value may stand in single quotes, which keep everything as it is, or in
/// double quotes, in which `\n`, `\t`, `\"` and `\\` are understood; quoted
/// values may go over several lines. In a value without quotes a `#` after a
/// space begins a comment. Nothing is substituted.
pub fn parse_dotenv(text: &str) -> Dotenv {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut found = Dotenv::default();
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let pair = line
            .split_once('=')
            .map(|(name, value)| (name.trim(), value.trim_start()))
            .filter(|(name, _)| is_name(name));
        let Some((name, value)) = pair else {
            found.skipped.push(number);
            continue;
        };
        let value = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let mut rest: String = value.chars().skip(1).collect();
                // Each line is looked at once, also if no quote follows in a megabyte of lines.
                let mut is_open = is_open(&rest, quote);
                while is_open && let Some((_, more)) = lines.next() {
                    rest.push('\n');
                    rest.push_str(more);
                    is_open = self::is_open(more, quote);
                }
                quoted(&rest, quote)
            }
            _ => Some(unquoted(value).to_owned()),
        };
        match value {
            Some(value) => {
                found.pairs.insert(name.to_owned(), value);
            }
            None => found.skipped.push(number),
        }
    }
    found
}

fn is_name(name: &str) -> bool {
    let starts_well = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    starts_well
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a value goes on behind this line of it: it has no closing quote.
fn is_open(line: &str, quote: char) -> bool {
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' if quote == '"' => {
                signs.next();
            }
            sign if sign == quote => return false,
            _ => {}
        }
    }
    true
}

/// The value up to the closing quote, or `None` if there is no such quote.
fn quoted(text: &str, quote: char) -> Option<String> {
    let mut value = String::new();
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match sign {
            _ if sign == quote => return Some(value),
            '\\' if quote == '"' => match signs.next()? {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'r' => value.push('\r'),
                other @ ('"' | '\\' | '$') => value.push(other),
                other => value.extend(['\\', other]),
            },
            _ => value.push(sign),
        }
    }
    None
}

fn unquoted(value: &str) -> &str {
    let comment = value
        .char_indices()
        .zip(std::iter::once(' ').chain(value.chars()))
        .find(|((_, sign), before)| *sign == '#' && before.is_whitespace());
    match comment {
        Some(((at, _), _)) => value.split_at(at).0.trim_end(),
        None => value.trim_end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, pairs: &[(&str, &str)], skipped: &[usize]) {
        let expected = Dotenv {
            pairs: pairs
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
            skipped: skipped.to_vec(),
        };
        let found = parse_dotenv(text);
        assert_eq!(found.pairs, expected.pairs, "{text:?}");
        assert_eq!(found.skipped, expected.skipped, "{text:?}");
    }

    #[test]
    fn plain_values_and_comments() {
        check(
            "\u{feff}# keys\r\nA=1\r\n export B = two words # note\r\nC=\nD=a#b\nE=#x\n",
            &[
                ("A", "1"),
                ("B", "two words"),
                ("C", ""),
                ("D", "a#b"),
                ("E", ""),
            ],
            &[],
        );
        check("A=1\nA=2", &[("A", "2")], &[]);
        check("A=x=y", &[("A", "x=y")], &[]);
    }

    #[test]
    fn quoted_values() {
        check(
            r#"A="a # \"b\"\n\\\x" # c"#,
            &[("A", "a # \"b\"\n\\\\x")],
            &[],
        );
        check(r"A='a\n#'", &[("A", r"a\n#")], &[]);
        check("A=\"one\ntwo\"\nB=3", &[("A", "one\ntwo"), ("B", "3")], &[]);
    }

    #[test]
    fn odd_lines_are_told() {
        check("what\n2A=1\nA B=1\nC=1", &[("C", "1")], &[1, 2, 3]);
        check("A=\"never closed\nB=1", &[], &[1]);
    }

    #[test]
    fn values_are_not_printed() {
        let found = parse_dotenv("KEY=sk-hidden");
        assert!(!format!("{found:?}").contains("sk-hidden"));
    }
}
