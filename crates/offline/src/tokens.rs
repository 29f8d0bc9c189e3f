//! Words, quotes and clauses of an instruction.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Quoted,
    Mark,
}

/// A word, a quoted text without its quotes, or one punctuation mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// The word in lower case, for comparing.
    pub(super) lower: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token {
    fn new(kind: Kind, text: &str, start: usize, end: usize) -> Self {
        Self {
            kind,
            text: text.to_owned(),
            lower: text.to_lowercase(),
            start,
            end,
        }
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.lower == word
    }

    pub(super) fn is_mark(&self, mark: &str) -> bool {
        self.kind == Kind::Mark && self.text == mark
    }

    pub(super) fn is_any(&self, words: &[&str]) -> bool {
        self.kind == Kind::Word && words.contains(&self.lower.as_str())
    }
}

/// The marks that can stand at the edge of a word.
const MARKS: &[char] = &['.', ',', ';', ':', '!', '?', '(', ')', '\u{2026}'];

/// The quote that closes a quote, if the character opens one.
fn closing(open: char) -> Option<&'static [char]> {
    Some(match open {
        '"' => &['"'],
        '\'' => &['\''],
        '`' => &['`'],
        '\u{201c}' | '\u{201e}' => &['\u{201d}', '\u{201c}'],
        '\u{2018}' | '\u{201a}' => &['\u{2019}', '\u{2018}'],
        '\u{ab}' => &['\u{bb}'],
        '\u{bb}' => &['\u{ab}'],
        '\u{300c}' => &['\u{300d}'],
        _ => return None,
    })
}

/// Cuts a text into tokens.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let offset = |place: usize| chars.get(place).map_or(text.len(), |(start, _)| *start);
    let mut found = Vec::new();
    let mut place = 0;
    while let Some(&(start, char)) = chars.get(place) {
        if char.is_whitespace() {
            if char == '\n' {
                found.push(Token::new(Kind::Mark, "\n", start, start));
            }
            place += 1;
        } else if let Some(end) = quote_end(&chars, place) {
            let inner = text.get(offset(place + 1)..offset(end)).unwrap_or_default();
            found.push(Token::new(Kind::Quoted, inner, start, offset(end + 1)));
            place = end + 1;
        } else if MARKS.contains(&char) && !begins_word(&chars, place) {
            found.push(Token::new(
                Kind::Mark,
                &char.to_string(),
                start,
                offset(place + 1),
            ));
            place += 1;
        } else {
            let end = word_end(&chars, place);
            let word = text.get(start..offset(end)).unwrap_or_default();
            found.push(Token::new(Kind::Word, word, start, offset(end)));
            place = end;
        }
    }
    found
}

/// Whether a mark belongs to the word after it, as in `./run.sh` or `.env`.
fn begins_word(chars: &[(usize, char)], place: usize) -> bool {
    let at = |place: usize| chars.get(place).map(|(_, char)| *char);
    at(place) == Some('.')
        && at(place + 1).is_some_and(|next| next.is_alphanumeric() || "./".contains(next))
}

/// Where the quote that opens here closes.
fn quote_end(chars: &[(usize, char)], place: usize) -> Option<usize> {
    let (_, open) = *chars.get(place)?;
    let close = closing(open)?;
    // An apostrophe closes a quote only at the end of a word.
    let ends = |end: usize| {
        let next = chars.get(end + 1).map(|(_, char)| *char);
        open != '\'' && open != '\u{2018}' || next.is_none_or(|next| !next.is_alphanumeric())
    };
    (place + 1..chars.len())
        .find(|&end| chars.get(end).is_some_and(|(_, char)| close.contains(char)) && ends(end))
}

/// Where the word that begins here ends: before a space, or before marks that a
/// space follows.
fn word_end(chars: &[(usize, char)], place: usize) -> usize {
    let blank = |end: usize| chars.get(end).is_none_or(|(_, char)| char.is_whitespace());
    let mut end = place + 1;
    while !blank(end) {
        let (_, char) = chars[end];
        if matches!(char, '(' | ')')
            || MARKS.contains(&char) && {
                let after = (end..chars.len()).find(|&at| !MARKS.contains(&chars[at].1));
                after.is_none_or(blank) || matches!(char, ',' | ';')
            }
        {
            break;
        }
        end += 1;
    }
    end
}

/// The text that some neighbouring tokens of it cover, quotes included.
pub(super) fn covered<'a>(text: &'a str, tokens: &[Token]) -> &'a str {
    let start = tokens.first().map_or(0, |token| token.start);
    let end = tokens.last().map_or(0, |token| token.end);
    text.get(start..end).unwrap_or_default().trim()
}

/// Verbs that make a colleague do something or say something about one. A clause
/// begins at each of them.
pub(super) const TEAM_VERBS: &[&str] = &[
    "spawn",
    "hire",
    "ask",
    "tell",
    "have",
    "broadcast",
    "approve",
    "reject",
    "request",
    "shut",
    "review",
    "instruct",
];

/// Verbs of one's own work. A clause begins at each of them, unless it is work
/// that is being passed on.
pub(super) const WORK_VERBS: &[&str] = &[
    "add", "append", "build", "cat", "check", "claim", "compact", "complete", "delete", "remove",
    "create", "execute", "finish", "greet", "launch", "list", "make", "mark", "message", "open",
    "propose", "put", "read", "replace", "reply", "report", "run", "save", "say", "send", "show",
    "start", "stop", "submit", "wait", "write", "work",
];

pub(super) fn is_verb(token: &Token) -> bool {
    token.is_any(TEAM_VERBS) || token.is_any(WORK_VERBS)
}

/// Cuts an instruction into clauses, each with one verb of its own.
pub(super) fn clauses(tokens: &[Token]) -> Vec<Vec<Token>> {
    let mut all: Vec<Vec<Token>> = Vec::new();
    let mut open: Vec<Token> = Vec::new();
    let mut place = 0;
    while let Some(token) = tokens.get(place) {
        let rest = tokens.get(place + 1..).unwrap_or_default();
        if token.is_any(&["and"]) || token.is_mark(",") {
            let joined = rest
                .first()
                .is_some_and(|next| token.is_mark(",") && next.is_word("and"));
            let rest = if joined {
                rest.get(1..).unwrap_or_default()
            } else {
                rest
            };
            if let Some(verb) = cut(&open, rest) {
                let more = rest.first().map_or(token.end, |next| next.start);
                all.push(std::mem::take(&mut open));
                open.extend(verb.map(|verb| Token::new(Kind::Word, verb, more, more)));
                place += 1 + usize::from(joined);
                continue;
            }
        }
        let ends = [".", ";", "!", "?", "\n", "\u{2026}"]
            .iter()
            .any(|mark| token.is_mark(mark));
        if ends || token.is_word("then") {
            while open
                .last()
                .is_some_and(|last| last.is_mark(",") || last.is_word("and"))
            {
                open.pop();
            }
            if !open.is_empty() {
                all.push(std::mem::take(&mut open));
            }
        } else {
            open.push(token.clone());
        }
        place += 1;
    }
    all.push(open);
    all.retain(|clause| clause.iter().any(|token| token.kind != Kind::Mark));
    all
}

/// Whether a clause ends before `rest`, and the verb that the next one goes
/// without, as in `ask alice to sing and bob to dance`.
fn cut(open: &[Token], rest: &[Token]) -> Option<Option<&'static str>> {
    let next = rest.first()?;
    let fillers = &["please", "now", "first", "also", "next", "finally"];
    let first = open.iter().find(|token| !token.is_any(fillers))?;
    if open.len() == 1 && is_verb(first) {
        return None;
    }
    if next.is_any(TEAM_VERBS) {
        return Some(None);
    }
    if first.is_any(&["read"]) && super::pattern::is_path(next) {
        return Some(Some("read"));
    }
    if first.is_any(&["ask", "tell", "instruct", "have", "let", "get"]) {
        let verb_at = |place: usize| rest.get(place).is_some_and(is_verb);
        let given = open.iter().filter(|token| is_verb(token)).count() > 1;
        let named = given && super::names::is_name(next);
        let to = rest.get(1).is_some_and(|second| second.is_word("to"));
        return match (named, to) {
            (true, true) if verb_at(2) => Some(Some("ask")),
            (true, false) if first.is_any(&["have", "let"]) && verb_at(1) => Some(Some("have")),
            _ => None,
        };
    }
    // Unquoted subjects of tasks may begin with any verb.
    let any = |is: &dyn Fn(&Token) -> bool| open.iter().any(is);
    let lists = any(&|token| token.is_word("tasks"))
        && any(&|token| token.is_mark(":"))
        && !any(&|token| token.kind == Kind::Quoted);
    let hires_to_work =
        first.is_any(&["spawn", "hire"]) && open.iter().any(|token| token.is_any(&["to", "who"]));
    (next.is_any(WORK_VERBS) && !lists && !hires_to_work).then_some(None)
}
