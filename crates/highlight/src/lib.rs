//! Code in colours: which part of a line is a keyword, a string, a comment.
//!
//! The code comes from models, so the work is bounded: long blocks and lines stay as they are, and so does
//! the rest of a block that takes too long. The definitions of languages are loaded with the first block
//! that has one.

use std::sync::OnceLock;
use std::time::{Duration, Instant};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

/// The longest block and the longest line that are looked at, in bytes.
const LONGEST_BLOCK: usize = 64 << 10;
const LONGEST_LINE: usize = 2 << 10;
/// How long a block may take. The patterns of some languages are slow on odd text.
const TIME_LIMIT: Duration = Duration::from_millis(300);

/// Names that models give to languages, and those by which they are known here.
const OTHER_NAMES: [(&str, &str); 12] = [
    ("ts", "js"),
    ("tsx", "js"),
    ("jsx", "js"),
    ("typescript", "js"),
    ("mjs", "js"),
    ("shell", "sh"),
    ("zsh", "sh"),
    ("console", "sh"),
    ("jsonc", "json"),
    ("jsonl", "json"),
    ("c++", "cpp"),
    ("golang", "go"),
];

/// What a piece of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    Plain,
    Keyword,
    String,
    Comment,
    /// A number, or a constant of the language.
    Constant,
    Function,
    Type,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub token: Token,
    pub text: String,
}

/// The lines of a block of code in pieces, without their ends. `None` if nothing is known about the
/// language, or the block is too long.
pub fn highlight(language: &str, code: &str) -> Option<Vec<Vec<Piece>>> {
    let is_fit = code.len() <= LONGEST_BLOCK && !language.is_empty();
    let syntax = is_fit.then(|| find(language)).flatten()?;
    let started = Instant::now();
    let mut state = Some((ParseState::new(syntax), ScopeStack::new()));
    let lines = code.lines().map(|line| {
        let parsed = match &mut state {
            Some((parser, stack)) if line.len() <= LONGEST_LINE => pieces(parser, stack, line),
            Some(_) | None => None,
        };
        // What follows something that was not understood would be coloured at random.
        if parsed.is_none() || started.elapsed() > TIME_LIMIT {
            state = None;
        }
        parsed.unwrap_or_else(|| vec![piece(Token::Plain, line)])
    });
    Some(lines.collect())
}

fn syntaxes() -> &'static SyntaxSet {
    static SYNTAXES: OnceLock<SyntaxSet> = OnceLock::new();
    SYNTAXES.get_or_init(SyntaxSet::load_defaults_newlines)
}

/// The definition of a language by the word behind the fence, such as `rust,ignore`.
fn find(language: &str) -> Option<&'static SyntaxReference> {
    let word = language.split([',', ' ', '{']).next()?.to_lowercase();
    let mut names = OTHER_NAMES.iter();
    let known = names.find(|(other, _)| *other == word);
    let word = known.map_or(word.as_str(), |(_, name)| *name);
    let found = syntaxes().find_syntax_by_token(word)?;
    let plain = syntaxes().find_syntax_plain_text();
    (found.scope != plain.scope).then_some(found)
}

/// `None` if the line cannot be parsed.
fn pieces(parser: &mut ParseState, stack: &mut ScopeStack, line: &str) -> Option<Vec<Piece>> {
    let whole = format!("{line}\n");
    let changes = parser.parse_line(&whole, syntaxes()).ok()?;
    let mut found: Vec<Piece> = Vec::new();
    let mut from = 0;
    for (at, change) in changes {
        push(
            &mut found,
            token(stack),
            line.get(from..at.min(line.len()))?,
        );
        from = at.min(line.len());
        stack.apply(&change).ok()?;
    }
    push(&mut found, token(stack), line.get(from..)?);
    Some(found)
}

fn push(pieces: &mut Vec<Piece>, token: Token, text: &str) {
    if text.is_empty() {
        return;
    }
    match pieces.last_mut().filter(|last| last.token == token) {
        Some(last) => last.text.push_str(text),
        None => pieces.push(piece(token, text)),
    }
}

fn piece(token: Token, text: &str) -> Piece {
    let text = text.to_owned();
    Piece { token, text }
}

/// What stands at a place, by the innermost scope that says it.
fn token(stack: &ScopeStack) -> Token {
    let scopes = stack.as_slice().iter().rev();
    let mut tokens = scopes.filter_map(|scope| {
        let mut known = names().iter();
        let known = known.find(|(name, _)| name.is_prefix_of(*scope));
        known.map(|(_, token)| *token)
    });
    tokens.next().unwrap_or(Token::Plain)
}

/// The scopes that say what a piece is. The first one that fits counts.
fn names() -> &'static [(Scope, Token)] {
    static NAMES: OnceLock<Vec<(Scope, Token)>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let names = [
            ("comment", Token::Comment),
            ("string", Token::String),
            ("constant", Token::Constant),
            ("keyword.operator", Token::Plain),
            ("keyword", Token::Keyword),
            ("storage", Token::Keyword),
            ("entity.name.function", Token::Function),
            ("support.function", Token::Function),
            ("support.macro", Token::Function),
            ("variable.function", Token::Function),
            ("entity.name", Token::Type),
            ("support.type", Token::Type),
            ("support.class", Token::Type),
        ];
        let names = names.into_iter();
        names
            .filter_map(|(name, token)| Some((Scope::new(name).ok()?, token)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(language: &str, code: &str) -> Vec<(Token, String)> {
        let lines = highlight(language, code).unwrap();
        let pieces = lines.into_iter().flatten();
        pieces.map(|piece| (piece.token, piece.text)).collect()
    }

    #[test]
    fn keywords_strings_and_comments_are_told_apart() {
        let found = tokens(
            "rust,ignore",
            "fn main() { // say\n    print(\"hi\", 42)\n}",
        );
        let has = |token, text: &str| found.iter().any(|(t, s)| *t == token && s.contains(text));
        assert!(has(Token::Keyword, "fn"), "{found:?}");
        assert!(has(Token::Function, "main"), "{found:?}");
        assert!(has(Token::Comment, "// say"), "{found:?}");
        assert!(has(Token::String, "\"hi\""), "{found:?}");
        assert!(has(Token::Constant, "42"), "{found:?}");
        for language in ["python", "sh", "ts", "json", "yaml", "c++", "go", "diff"] {
            assert!(highlight(language, "x = 1").is_some(), "{language}");
        }
    }

    #[test]
    fn no_text_is_changed_whatever_it_is() {
        let odd = "a\tb  ç 愛\n\n\u{1f600}\"unclosed\n/* also\n".repeat(3);
        let long = "x".repeat(LONGEST_LINE + 1);
        for code in [odd.as_str(), &long, "", "\n", "fn\r\nmain"] {
            let lines = highlight("rust", code).unwrap();
            let whole: Vec<String> = lines
                .iter()
                .map(|line| line.iter().map(|piece| piece.text.as_str()).collect())
                .collect();
            assert_eq!(whole, code.lines().collect::<Vec<_>>());
        }
        assert_eq!(highlight("rust", &"x\n".repeat(LONGEST_BLOCK)), None);
        assert_eq!(highlight("no-such-language", "x"), None);
        assert_eq!(highlight("", "x"), None);
        assert_eq!(highlight("text", "x"), None);
    }
}
