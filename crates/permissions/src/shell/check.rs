//! Checks that the tree accounts for all of the source and reads it as bash does.

use tree_sitter::Node;

use super::Unreadable;
use super::word::is_replaced;

pub(super) fn text_of<'a>(node: Node<'_>, source: &'a str) -> Result<&'a str, Unreadable> {
    source.get(node.byte_range()).ok_or(Unreadable)
}

/// The ranges of the source that are accounted for.
#[derive(Default)]
pub(super) struct Coverage(Vec<(usize, usize)>);

impl Coverage {
    pub(super) fn add(&mut self, start: usize, end: usize) {
        self.0.push((start, end));
    }

    /// Checks that between the ranges there are only blanks. A line may be continued only between words:
    /// inside of a word bash joins its halves, and the tree has two words.
    pub(super) fn check(mut self, source: &str) -> Result<(), Unreadable> {
        self.0.sort_unstable();
        let mut end = 0;
        for (from, to) in self.0.into_iter().chain([(source.len(), source.len())]) {
            if from > end {
                let gap = source.get(end..from).ok_or(Unreadable)?;
                let blanks = gap.replace("\\\n", "");
                let is_blank = blanks
                    .chars()
                    .all(|blank| matches!(blank, ' ' | '\t' | '\n'));
                let is_outside = end == 0 || from == source.len();
                if !is_blank || (blanks.is_empty() && !is_outside) {
                    return Err(Unreadable);
                }
            }
            end = end.max(to);
        }
        Ok(())
    }
}

/// Checks a node without children.
pub(super) fn check_leaf(node: Node<'_>, source: &str) -> Result<(), Unreadable> {
    let text = text_of(node, source)?;
    match node.kind() {
        "comment" => {
            let before = source.get(..node.start_byte()).ok_or(Unreadable)?;
            let starts_word =
                before.is_empty() || before.ends_with([' ', '\t', '\n', ';', '&', '|', '(', ')']);
            if !starts_word || before.ends_with("\\\n") || text.contains('\n') {
                return Err(Unreadable);
            }
        }
        "raw_string" | "ansi_c_string" | "heredoc_start" | "heredoc_body" | "heredoc_end" => {}
        _ if !node.is_named() => {}
        _ if hides_command(text) => return Err(Unreadable),
        _ => {}
    }
    Ok(())
}

/// Whether a text that should be plain has a substitution in it.
pub(super) fn hides_command(text: &str) -> bool {
    let mut before = ' ';
    let mut is_escaped = false;
    for character in text.chars() {
        let opens = character == '(' && matches!(before, '$' | '<' | '>');
        if !is_escaped && (character == '`' || opens) {
            return true;
        }
        is_escaped = character == '\\' && !is_escaped;
        before = if is_escaped { ' ' } else { character };
    }
    false
}

/// Whether the text between double quotation marks neither ends them nor has anything that bash replaces.
pub(super) fn is_plain_double_quoted(text: &str) -> bool {
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '"' | '`' => return false,
            '$' => {
                let next = characters.peek().copied().unwrap_or(' ');
                if next.is_alphanumeric()
                    || matches!(
                        next,
                        '(' | '{' | '_' | '[' | '@' | '*' | '#' | '?' | '$' | '!' | '-'
                    )
                {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

/// Checks a here-document, and counts its text as accounted for. It must end where bash ends it.
pub(super) fn check_heredoc(
    redirect: Node<'_>,
    source: &str,
    coverage: &mut Coverage,
) -> Result<(), Unreadable> {
    let mut cursor = redirect.walk();
    let children: Vec<Node<'_>> = redirect.children(&mut cursor).collect();
    let child = |kind: &str| children.iter().copied().find(|child| child.kind() == kind);
    let start = text_of(child("heredoc_start").ok_or(Unreadable)?, source)?;
    let (delimiter, is_literal) = delimiter(start).ok_or(Unreadable)?;
    let end = child("heredoc_end").ok_or(Unreadable)?;
    let line = line_around(end, source)?;
    let line = match child("<<-") {
        Some(_) => line.trim_start_matches('\t'),
        None => line,
    };
    if line != delimiter {
        return Err(Unreadable);
    }
    let Some(body) = child("heredoc_body") else {
        return Ok(());
    };
    let text = text_of(body, source)?;
    if text
        .lines()
        .any(|line| line.trim_start_matches('\t') == delimiter)
    {
        return Err(Unreadable);
    }
    let mut at = body.start_byte();
    let mut plain = |from: usize, to: usize| {
        let text = source.get(from..to).ok_or(Unreadable)?;
        coverage.add(from, to);
        if !is_literal && hides_command(text) {
            return Err(Unreadable);
        }
        Ok(())
    };
    let mut cursor = body.walk();
    for part in body
        .children(&mut cursor)
        .filter(|part| is_replaced(part.kind()))
    {
        plain(at, part.start_byte())?;
        at = part.end_byte();
    }
    plain(at, body.end_byte())?;
    // Blanks before the end, and its newline.
    coverage.add(body.end_byte(), end.end_byte());
    Ok(())
}

/// The word that ends a here-document, and whether its text is taken literally.
fn delimiter(start: &str) -> Option<(&str, bool)> {
    let quoted = ['\'', '"'].into_iter().find_map(|quote| {
        let inner = start.strip_prefix(quote)?;
        inner.strip_suffix(quote)
    });
    let quoted = quoted.or_else(|| start.strip_prefix('\\'));
    let word = quoted.unwrap_or(start);
    let is_plain = word
        .chars()
        .all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | '.'));
    (is_plain && !word.is_empty()).then_some((word, quoted.is_some()))
}

fn line_around<'a>(node: Node<'_>, source: &'a str) -> Result<&'a str, Unreadable> {
    let before = source.get(..node.start_byte()).ok_or(Unreadable)?;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let rest = source.get(start..).ok_or(Unreadable)?;
    Ok(rest.lines().next().unwrap_or_default())
}
