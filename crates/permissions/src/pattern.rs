//! Patterns of commands: words in which `*` stands for anything.

use crate::shell::{Symbol, Word};

/// A pattern such as `npm run *`. A `*` matches any text, also across several words. At the end, after a
/// space, it may also match nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pieces: Vec<Piece>,
    /// Whether the last two pieces, a separator and a star, may match nothing.
    has_optional_end: bool,
    names_a_path: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Char(char),
    Separator,
    Star,
}

/// A pattern that no command matches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("it is empty")]
    Empty,
    #[error("a quotation mark is not closed")]
    OpenQuote,
    #[error(
        "`{0}` separates commands or is replaced by the shell, and each command is compared by itself: write \
         a rule for each command, or =COMMAND for exactly this text, or quote it"
    )]
    Operator(char),
    #[error("it has no key `command:`: write the command alone")]
    Key,
}

impl Pattern {
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        let text = text.trim();
        if text.starts_with("command:") {
            return Err(PatternError::Key);
        }
        let mut pieces = match text.strip_suffix(":*") {
            Some(prefix) => {
                let mut pieces = pieces(prefix)?;
                pieces.extend([Piece::Separator, Piece::Star]);
                pieces
            }
            None => pieces(text)?,
        };
        if pieces.is_empty() {
            return Err(PatternError::Empty);
        }
        pieces.dedup_by(|left, right| *left == Piece::Star && *right == Piece::Star);
        let first_word = pieces
            .iter()
            .take_while(|piece| **piece != Piece::Separator);
        Ok(Self {
            names_a_path: first_word
                .into_iter()
                .any(|piece| *piece == Piece::Char('/')),
            has_optional_end: pieces.ends_with(&[Piece::Separator, Piece::Star]),
            pieces,
        })
    }

    /// Whether the pattern matches every command that the words can become.
    pub(crate) fn covers(&self, words: &[Word]) -> bool {
        let subject = join(words);
        self.variants()
            .any(|pieces| matches(pieces, &subject, false))
    }

    /// Whether the pattern matches some command that the words can become. If the pattern names no folder,
    /// the folder of the program is ignored.
    pub(crate) fn may_match(&self, words: &[Word]) -> bool {
        self.any_name(words, |pieces, subject| matches(pieces, subject, true))
    }

    /// Whether the pattern matches every command that the words can become. If the pattern names no folder,
    /// the folder of the program is ignored.
    pub(crate) fn surely_matches(&self, words: &[Word]) -> bool {
        self.any_name(words, |pieces, subject| matches(pieces, subject, false))
    }

    fn any_name(&self, words: &[Word], test: impl Fn(&[Piece], &[Symbol]) -> bool) -> bool {
        let subject = join(words);
        if self.variants().any(|pieces| test(pieces, &subject)) {
            return true;
        }
        let folder = folder_length(&subject);
        let base = subject.get(folder..).unwrap_or_default();
        folder > 0 && !self.names_a_path && self.variants().any(|pieces| test(pieces, base))
    }

    fn variants(&self) -> impl Iterator<Item = &[Piece]> {
        let short = self.pieces.len().saturating_sub(2);
        let short = self.pieces.get(..short).filter(|_| self.has_optional_end);
        std::iter::once(self.pieces.as_slice()).chain(short)
    }
}

/// The number of symbols before the file name of the program.
fn folder_length(subject: &[Symbol]) -> usize {
    let first = subject
        .iter()
        .take_while(|symbol| **symbol != Symbol::Separator);
    let slash = first
        .enumerate()
        .filter(|(_, symbol)| **symbol == Symbol::Char('/'));
    slash.last().map_or(0, |(at, _)| at + 1)
}

fn join(words: &[Word]) -> Vec<Symbol> {
    let mut joined = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            joined.push(Symbol::Separator);
        }
        joined.extend_from_slice(word.symbols());
    }
    joined
}

fn pieces(text: &str) -> Result<Vec<Piece>, PatternError> {
    let mut pieces = Vec::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '*' => pieces.push(Piece::Star),
            ' ' | '\t' => {
                if pieces.last() != Some(&Piece::Separator) {
                    pieces.push(Piece::Separator);
                }
            }
            '\\' => {
                let escaped = characters.next().ok_or(PatternError::OpenQuote)?;
                pieces.push(Piece::Char(escaped));
            }
            '\'' | '"' => loop {
                match characters.next() {
                    None => return Err(PatternError::OpenQuote),
                    Some(end) if end == character => break,
                    Some('\\') if character == '"' => {
                        let escaped = characters.next().ok_or(PatternError::OpenQuote)?;
                        pieces.push(Piece::Char(escaped));
                    }
                    Some(inside) => pieces.push(Piece::Char(inside)),
                }
            },
            ';' | '|' | '&' | '<' | '>' | '(' | ')' | '`' | '$' | '\n' => {
                return Err(PatternError::Operator(character));
            }
            other => pieces.push(Piece::Char(other)),
        }
    }
    Ok(pieces)
}

/// Whether a pattern matches a subject with unknown parts: with `any`, for some value of them; otherwise
/// for every value. Each symbol is compared once with each piece, so no input is slow.
fn matches(pattern: &[Piece], subject: &[Symbol], any: bool) -> bool {
    // reached[i]: the first i pieces can match what was read of the subject.
    let mut reached = vec![false; pattern.len() + 1];
    close(&mut reached, pattern, 0);
    for symbol in subject {
        let mut next = vec![false; pattern.len() + 1];
        for (at, piece) in pattern.iter().enumerate() {
            if !reached.get(at).copied().unwrap_or_default() {
                continue;
            }
            let (stays, advances) = match (piece, symbol) {
                (Piece::Star, _) => (true, false),
                (_, Symbol::Unknown) => (false, false),
                (Piece::Char(wanted), Symbol::Char(found)) => (false, wanted == found),
                (Piece::Separator, Symbol::Separator) => (false, true),
                (Piece::Char(_), Symbol::Separator) | (Piece::Separator, Symbol::Char(_)) => {
                    (false, false)
                }
            };
            if stays {
                set(&mut next, at);
            }
            if advances {
                set(&mut next, at + 1);
            }
        }
        if any && *symbol == Symbol::Unknown {
            // The unknown part may be any text, so every later place of the pattern can be reached.
            let first = reached.iter().position(|reached| *reached);
            for at in first.unwrap_or(next.len())..next.len() {
                set(&mut next, at);
            }
        }
        let seed = next;
        reached = vec![false; pattern.len() + 1];
        for (at, is_reached) in seed.into_iter().enumerate() {
            if is_reached {
                close(&mut reached, pattern, at);
            }
        }
    }
    reached.last().copied().unwrap_or_default()
}

/// Marks a place as reached, and with it the places after it that need only stars which match nothing.
fn close(reached: &mut [bool], pattern: &[Piece], from: usize) {
    set(reached, from);
    let stars = pattern.iter().skip(from);
    let stars = stars.take_while(|piece| **piece == Piece::Star).count();
    for at in 1..=stars {
        set(reached, from + at);
    }
}

fn set(places: &mut [bool], at: usize) {
    if let Some(place) = places.get_mut(at) {
        *place = true;
    }
}
