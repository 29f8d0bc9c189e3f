//! A line of a conversation or a log, and what kind of line it is.

use crate::one_line;
use highlight::Piece;

/// A line for people. Its text is safe for a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextLine {
    pub kind: LineKind,
    pub text: String,
    /// The parts of a line of code whose language is known; together they are the text.
    pub pieces: Vec<Piece>,
}

/// What a line is, which decides how it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// What the model says, or a line of a log.
    Said,
    /// What the model was told: its prompt, or mail with its sender.
    Told,
    /// A tool call.
    Call,
    /// The output of a call.
    Output,
    /// The output of a call that failed.
    Failure,
    /// A line that an edit adds.
    Added,
    /// A line that an edit removes.
    Removed,
    /// What happened to the member or its conversation.
    Note,
}

impl TextLine {
    pub fn new(kind: LineKind, text: &str) -> Self {
        let text = one_line(text);
        let pieces = Vec::new();
        Self { kind, text, pieces }
    }

    /// A line of code.
    pub fn code(pieces: Vec<Piece>) -> Self {
        let clean = |piece: Piece| Piece {
            text: one_line(&piece.text),
            ..piece
        };
        let pieces: Vec<Piece> = pieces.into_iter().map(clean).collect();
        Self {
            kind: LineKind::Said,
            text: pieces.iter().map(|piece| piece.text.as_str()).collect(),
            pieces,
        }
    }
}
