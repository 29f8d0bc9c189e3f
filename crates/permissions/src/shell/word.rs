//! The words of a command, as far as their values are known.

use tree_sitter::Node;

use super::Unreadable;
use super::check::{is_plain_double_quoted, text_of};

/// A piece of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    Char(char),
    /// The space between two words.
    Separator,
    /// What the shell inserts when the command runs: any text of any number of words.
    Unknown,
}

/// A word: characters and unknown parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word(Vec<Symbol>);

impl Word {
    pub(crate) fn literal(text: &str) -> Self {
        Self(text.chars().map(Symbol::Char).collect())
    }

    pub(crate) fn unknown() -> Self {
        Self(vec![Symbol::Unknown])
    }

    pub(crate) fn symbols(&self) -> &[Symbol] {
        &self.0
    }

    /// The value, if all of it is known.
    pub(crate) fn text(&self) -> Option<String> {
        let characters = self.0.iter().map(|symbol| match symbol {
            Symbol::Char(character) => Some(*character),
            Symbol::Separator | Symbol::Unknown => None,
        });
        characters.collect()
    }

    /// The known characters at its start.
    pub(crate) fn known_start(&self) -> String {
        let known = self.0.iter().map_while(|symbol| match symbol {
            Symbol::Char(character) => Some(*character),
            Symbol::Separator | Symbol::Unknown => None,
        });
        known.collect()
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// The word that a node of the tree stands for.
    pub(super) fn read(node: Node<'_>, source: &str) -> Result<Self, Unreadable> {
        let mut builder = Builder::default();
        builder.add(node, source)?;
        // Braces such as `{a,b}` expand to several words.
        let has_list = builder.unquoted.contains(',') || builder.unquoted.contains("..");
        if builder.unquoted.contains('{') && has_list {
            return Ok(Self::unknown());
        }
        Ok(Self(builder.symbols))
    }
}

#[derive(Default)]
struct Builder {
    symbols: Vec<Symbol>,
    /// The characters outside of quotation marks.
    unquoted: String,
}

impl Builder {
    fn add(&mut self, node: Node<'_>, source: &str) -> Result<(), Unreadable> {
        let text = text_of(node, source)?;
        match node.kind() {
            "concatenation" => self.add_all(node, source),
            "string" => self.add_string(node, source),
            "translated_string" => {
                let mut cursor = node.walk();
                let string = node.named_children(&mut cursor).next();
                string.map_or(Err(Unreadable), |string| self.add_string(string, source))
            }
            "raw_string" => {
                let inner = text
                    .strip_prefix('\'')
                    .and_then(|text| text.strip_suffix('\''));
                let inner = inner.filter(|inner| !inner.contains('\''));
                self.add_quoted(inner.ok_or(Unreadable)?);
                Ok(())
            }
            "ansi_c_string" => {
                let inner = text
                    .strip_prefix("$'")
                    .and_then(|text| text.strip_suffix('\''));
                let inner = inner.ok_or(Unreadable)?;
                if inner.contains('\\') {
                    self.symbols.push(Symbol::Unknown);
                } else {
                    self.add_quoted(inner);
                }
                Ok(())
            }
            "word" | "number" | "variable_name" | "test_operator" if node.child_count() == 0 => {
                self.add_unquoted(text)
            }
            "number"
            | "simple_expansion"
            | "expansion"
            | "arithmetic_expansion"
            | "command_substitution"
            | "process_substitution"
            | "brace_expression"
            | "array"
            | "subshell" => {
                self.symbols.push(Symbol::Unknown);
                Ok(())
            }
            // A bare dollar.
            "$" => {
                self.add_quoted(text);
                Ok(())
            }
            // Signs such as `-` and `==`, which have tokens of their own.
            _ if !node.is_named() => self.add_unquoted(text),
            _ => Err(Unreadable),
        }
    }

    /// The parts of a word, which stand side by side.
    fn add_all(&mut self, node: Node<'_>, source: &str) -> Result<(), Unreadable> {
        let mut cursor = node.walk();
        let mut end = node.start_byte();
        for part in node.children(&mut cursor) {
            if part.start_byte() != end {
                return Err(Unreadable);
            }
            end = part.end_byte();
            self.add(part, source)?;
        }
        Ok(())
    }

    /// A string in double quotation marks: text, and what the shell replaces.
    fn add_string(&mut self, node: Node<'_>, source: &str) -> Result<(), Unreadable> {
        let text = text_of(node, source)?;
        let open = if text.starts_with("$\"") { 2 } else { 1 };
        if !text.ends_with('"') || text.len() < open + 1 {
            return Err(Unreadable);
        }
        let mut at = node.start_byte() + open;
        let mut cursor = node.walk();
        for part in node.children(&mut cursor) {
            if !is_replaced(part.kind()) {
                continue;
            }
            self.add_double_quoted(source.get(at..part.start_byte()).ok_or(Unreadable)?)?;
            self.symbols.push(Symbol::Unknown);
            at = part.end_byte();
        }
        self.add_double_quoted(source.get(at..node.end_byte() - 1).ok_or(Unreadable)?)
    }

    fn add_double_quoted(&mut self, text: &str) -> Result<(), Unreadable> {
        if !is_plain_double_quoted(text) {
            return Err(Unreadable);
        }
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let next = characters.peek().copied();
            match (character, next) {
                ('\\', Some('\n')) => {
                    characters.next();
                }
                ('\\', Some('$' | '`' | '"' | '\\')) => {
                    self.symbols.extend(characters.next().map(Symbol::Char));
                }
                (other, _) => self.symbols.push(Symbol::Char(other)),
            }
        }
        Ok(())
    }

    fn add_quoted(&mut self, text: &str) {
        self.symbols.extend(text.chars().map(Symbol::Char));
    }

    fn add_unquoted(&mut self, text: &str) -> Result<(), Unreadable> {
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some('\n') => {}
                    Some(escaped) => self.symbols.push(Symbol::Char(escaped)),
                    None => return Err(Unreadable),
                },
                '*' | '?' | '[' => self.symbols.push(Symbol::Unknown),
                '~' if self.may_be_a_home() => self.symbols.push(Symbol::Unknown),
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '(' | ')' | '<' | '>' | '`' | '"' | '\''
                | '$' => {
                    return Err(Unreadable);
                }
                other => {
                    self.unquoted.push(other);
                    self.symbols.push(Symbol::Char(other));
                }
            }
        }
        Ok(())
    }

    fn may_be_a_home(&self) -> bool {
        matches!(self.symbols.last(), None | Some(Symbol::Char('=' | ':')))
    }
}

/// Whether the shell replaces what a node stands for, in a string too.
pub(super) fn is_replaced(kind: &str) -> bool {
    matches!(
        kind,
        "simple_expansion" | "expansion" | "arithmetic_expansion" | "command_substitution"
    )
}
