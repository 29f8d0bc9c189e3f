//! The list of teammates to spawn.

use super::intent::Hire;
use super::names::is_name;
use super::pattern::number;
use super::tokens::{Kind, Token, covered};

const ROLE_IF_NONE: &str = "generalist";
const KINDS: &[&str] = &[
    "teammate",
    "teammates",
    "agent",
    "agents",
    "member",
    "members",
];

/// Reads what follows `spawn`. The text is the one that the tokens are of.
pub(super) fn hires(text: &str, tokens: &[Token]) -> Option<Vec<Hire>> {
    let tokens = without_count(tokens);
    let (list, work) = split_work(text, tokens);
    let mut hires: Vec<Hire> = Vec::new();
    let mut bare = false;
    for item in items(list) {
        if let (true, Some(role), Some(last)) = (bare, role_alone(text, item), hires.last_mut()) {
            last.role = role;
            bare = false;
            continue;
        }
        hires.push(hire(text, item)?);
        bare = item.len() == 1;
    }
    let unique = hires.iter().enumerate().all(|(place, hire)| {
        hires
            .iter()
            .skip(place + 1)
            .all(|other| other.name.to_lowercase() != hire.name.to_lowercase())
    });
    for hire in &mut hires {
        hire.work.clone_from(&work);
    }
    (!hires.is_empty() && unique).then_some(hires)
}

/// Skips `three teammates:` and the like.
fn without_count(tokens: &[Token]) -> &[Token] {
    let mut rest = tokens;
    while let Some((first, later)) = rest.split_first() {
        let counts =
            number(first).is_some() || first.is_any(&["new", "some", "the", "teammates", "agents"]);
        let kind = first.is_word("teammate") && later.first().is_some_and(names_follow);
        if !counts && !kind && !first.is_mark(":") {
            break;
        }
        rest = later;
    }
    rest
}

fn names_follow(next: &Token) -> bool {
    next.is_mark(":") || is_name(next) && !next.is_any(&["named", "called"])
}

/// Cuts off what the new teammates are to do.
fn split_work<'a>(text: &str, tokens: &'a [Token]) -> (&'a [Token], Option<String>) {
    let mut depth = 0;
    for (place, token) in tokens.iter().enumerate().skip(1) {
        depth += i32::from(token.is_mark("(")) - i32::from(token.is_mark(")"));
        if depth > 0 {
            continue;
        }
        let later = tokens.get(place + 1..).unwrap_or_default();
        let before = tokens.get(..place).unwrap_or_default();
        if token.is_mark(":") || token.is_any(&["to", "who", "that"]) {
            return (before, work(text, later));
        }
        if token.is_word("with") && !later.first().is_some_and(|next| next.is_any(&["role"])) {
            let skipped = [
                "a",
                "an",
                "the",
                "this",
                "of",
                "prompt",
                "instruction",
                "task",
                ":",
                "to",
            ];
            let skip = later
                .iter()
                .take_while(|token| skipped.contains(&token.lower.as_str()))
                .count();
            let mut rest = later.get(skip..).unwrap_or_default();
            if let Some((last, others)) = rest.split_last()
                && last.is_any(&["task", "job", "prompt"])
            {
                rest = others;
            }
            return (before, work(text, rest));
        }
    }
    (tokens, None)
}

fn work(text: &str, tokens: &[Token]) -> Option<String> {
    let work = match tokens {
        [only] if only.kind == Kind::Quoted => only.text.as_str(),
        _ => covered(text, tokens),
    };
    (!work.is_empty()).then(|| work.to_owned())
}

/// The items of a list, cut at commas and `and` outside of brackets.
fn items(tokens: &[Token]) -> Vec<&[Token]> {
    let mut items = Vec::new();
    let (mut start, mut depth) = (0, 0);
    for (place, token) in tokens.iter().enumerate() {
        depth += i32::from(token.is_mark("(")) - i32::from(token.is_mark(")"));
        if depth <= 0 && (token.is_mark(",") || token.is_word("and")) {
            items.push(tokens.get(start..place).unwrap_or_default());
            start = place + 1;
        }
    }
    items.push(tokens.get(start..).unwrap_or_default());
    items.retain(|item| !item.is_empty());
    items
}

/// A role without a name, as in `alice, a coder`.
fn role_alone(text: &str, item: &[Token]) -> Option<String> {
    let (article, rest) = item.split_first()?;
    let named = rest
        .iter()
        .any(|token| token.is_any(KINDS) || token.is_any(&["named", "called"]));
    (article.is_any(&["a", "an", "as", "the"]) && !named).then(|| role(text, rest))
}

fn role(text: &str, tokens: &[Token]) -> String {
    let skip = |token: &&Token| {
        token.is_any(&["a", "an", "the", "as", "role", "with"]) || token.is_mark(":")
    };
    let skipped = tokens.iter().take_while(skip).count();
    let mut rest = tokens.get(skipped..).unwrap_or_default();
    while let Some((last, others)) = rest.split_last()
        && (last.is_any(KINDS) || last.is_word("role"))
        && !others.is_empty()
    {
        rest = others;
    }
    match rest {
        [only] if only.kind == Kind::Quoted => only.text.clone(),
        [] => ROLE_IF_NONE.to_owned(),
        _ => covered(text, rest).to_owned(),
    }
}

/// One teammate.
fn hire(text: &str, item: &[Token]) -> Option<Hire> {
    let made = |name: &Token, role: String| {
        is_name(name).then(|| Hire {
            name: name.text.clone(),
            role,
            work: None,
        })
    };
    let (first, rest) = item.split_first()?;
    if let Some(place) = item
        .iter()
        .position(|token| token.is_any(&["named", "called"]))
    {
        let name = item.get(place + 1)?;
        let before = role(text, item.get(..place).unwrap_or_default());
        let after = item.get(place + 2..).unwrap_or_default();
        let after: Vec<Token> = after
            .iter()
            .filter(|token| !token.is_mark("(") && !token.is_mark(")"))
            .cloned()
            .collect();
        let role = match after.is_empty() {
            false => role(text, &after),
            true if KINDS.contains(&before.as_str()) => ROLE_IF_NONE.to_owned(),
            true => before,
        };
        return made(name, role);
    }
    if first.is_any(&["a", "an", "the", "one"]) {
        let role = role(text, rest);
        let word: String = role
            .to_lowercase()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join("-");
        let token = rest.first().filter(|token| !token.is_any(KINDS))?;
        let name = Token {
            text: word,
            ..token.clone()
        };
        return made(&name, role);
    }
    match rest {
        [] => made(first, ROLE_IF_NONE.to_owned()),
        [open, inner @ .., close] if open.is_mark("(") && close.is_mark(")") => {
            made(first, role(text, inner))
        }
        [link, ..] if link.is_any(&["as", "with"]) => made(first, role(text, rest)),
        _ => None,
    }
}
