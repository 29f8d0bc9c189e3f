//! A shell command as a sequence of words and operators. Never fails: a text that no shell would
//! accept gives whatever words are in it.

/// A part of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    /// `;`, `&&`, `||` or the end of a line.
    End,
    /// `;;` or one of its relatives, after which the next pattern of a `case` comes.
    NextCase,
    Pipe,
    Background,
    Open,
    Close,
    /// The next word is where output goes.
    Output,
    /// The next word is where input comes from, or something else without effect.
    Input,
    /// The next word is the input.
    HereString,
    /// The input is the document with this number.
    HereDocument(usize),
}

/// A word without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// What is in its substitutions.
    pub(super) nested: Vec<Nested>,
    /// Whether a part of it was quoted, so that it is no keyword.
    pub(super) quoted: bool,
}

/// Something inside a word. It is not looked into here, so that no depth of nesting exhausts the
/// stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Nested {
    /// A command whose output becomes a part of the word.
    Command(String),
    /// A text that is no command but may have substitutions of its own.
    Text(String),
}

/// The result of reading a command.
#[derive(Debug, Default)]
pub(super) struct Lexed {
    pub(super) tokens: Vec<Token>,
    pub(super) documents: Vec<Document>,
}

/// Lines that are the input of a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    pub(super) text: String,
    /// Whether substitutions in it take effect.
    pub(super) expands: bool,
}

pub(super) fn lex(text: &str) -> Lexed {
    let mut lexer = Lexer::new(text);
    while let Some(next) = lexer.peek(0) {
        lexer.token(next);
    }
    Lexed {
        tokens: lexer.tokens,
        documents: lexer.documents,
    }
}

/// The substitutions of a text that is otherwise not read as a command.
pub(super) fn substitutions(text: &str) -> Vec<Nested> {
    let mut lexer = Lexer::new(text);
    let mut word = Word::default();
    while lexer.peek(0).is_some() {
        lexer.quoted_char(&mut word);
    }
    word.nested
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    tokens: Vec<Token>,
    documents: Vec<Document>,
    /// The ends of the documents that start after this line, and whether tabs are removed.
    pending: Vec<(usize, String, bool)>,
}

impl Lexer {
    fn new(text: &str) -> Self {
        Self {
            chars: text.chars().collect(),
            at: 0,
            tokens: Vec::new(),
            documents: Vec::new(),
            pending: Vec::new(),
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Moves on if the text goes on like this.
    fn eat(&mut self, text: &str) -> bool {
        let matches = text
            .chars()
            .enumerate()
            .all(|(i, c)| self.peek(i) == Some(c));
        if matches {
            self.at += text.chars().count();
        }
        matches
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek(0)?;
        self.at += 1;
        Some(next)
    }

    fn token(&mut self, next: char) {
        match next {
            '\n' => {
                self.at += 1;
                self.tokens.push(Token::End);
                self.read_documents();
            }
            c if c.is_whitespace() => self.at += 1,
            '#' => {
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            }
            ';' => {
                self.at += 1;
                let next_case = self.eat(";") || self.eat("&");
                self.eat("&");
                self.tokens.push(if next_case {
                    Token::NextCase
                } else {
                    Token::End
                });
            }
            '&' | '|' => self.operator(),
            '(' | ')' => {
                self.at += 1;
                let token = if next == '(' {
                    Token::Open
                } else {
                    Token::Close
                };
                self.tokens.push(token);
            }
            '<' | '>' if self.peek(1) != Some('(') => self.redirect(),
            _ => {
                let word = self.word();
                self.tokens.push(Token::Word(word));
            }
        }
    }

    fn operator(&mut self) {
        let token = if self.eat("&&") || self.eat("||") {
            Token::End
        } else if self.eat("&>>") || self.eat("&>") {
            Token::Output
        } else if self.eat("|&") || self.eat("|") {
            Token::Pipe
        } else {
            self.at += 1;
            Token::Background
        };
        self.tokens.push(token);
    }

    fn redirect(&mut self) {
        self.drop_descriptor();
        if self.eat("<<<") {
            self.tokens.push(Token::HereString);
        } else if self.eat("<<") {
            let tabs = self.eat("-");
            while self.peek(0).is_some_and(|c| c == ' ' || c == '\t') {
                self.at += 1;
            }
            let end = self.word();
            let number = self.documents.len();
            self.documents.push(Document {
                text: String::new(),
                expands: !end.quoted,
            });
            self.pending.push((number, end.text, tabs));
            self.tokens.push(Token::HereDocument(number));
        } else if self.eat("<>") || self.eat(">>") || self.eat(">|") || self.eat(">&") {
            self.tokens.push(Token::Output);
        } else if self.eat("<&") || self.eat("<") {
            self.tokens.push(Token::Input);
        } else {
            self.at += 1;
            self.tokens.push(Token::Output);
        }
    }

    /// A number right before a redirection is no word but a descriptor.
    fn drop_descriptor(&mut self) {
        let before = self.at.checked_sub(1).and_then(|at| self.chars.get(at));
        let adjacent = before.is_some_and(char::is_ascii_digit);
        let is_number = |word: &Word| !word.quoted && word.text.bytes().all(|b| b.is_ascii_digit());
        if adjacent && matches!(self.tokens.last(), Some(Token::Word(word)) if is_number(word)) {
            self.tokens.pop();
        }
    }

    fn read_documents(&mut self) {
        for (number, end, tabs) in std::mem::take(&mut self.pending) {
            let mut body = String::new();
            while self.peek(0).is_some() {
                let mut line = String::new();
                while let Some(c) = self.next().filter(|c| *c != '\n') {
                    line.push(c);
                }
                let line = if tabs {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if line == end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            if let Some(document) = self.documents.get_mut(number) {
                document.text = body;
            }
        }
    }

    fn word(&mut self) -> Word {
        let mut word = Word::default();
        while let Some(c) = self.peek(0) {
            match c {
                '<' | '>' if self.peek(1) == Some('(') => self.substitution(&mut word),
                '(' if word.text.ends_with('=') => {
                    // The values of an array.
                    self.at += 1;
                    let values = self.until_close(')');
                    word.nested.push(Nested::Text(values));
                }
                c if c.is_whitespace() || "|&;()<>".contains(c) => break,
                '\'' => {
                    self.at += 1;
                    word.quoted = true;
                    while let Some(c) = self.next().filter(|c| *c != '\'') {
                        push_quoted(&mut word, c);
                    }
                }
                '"' => {
                    self.at += 1;
                    word.quoted = true;
                    while self.peek(0).is_some_and(|c| c != '"') {
                        self.quoted_char(&mut word);
                    }
                    self.at += 1;
                }
                '\\' => {
                    self.at += 1;
                    word.quoted = true;
                    if let Some(c) = self.next().filter(|c| *c != '\n') {
                        push_quoted(&mut word, c);
                    }
                }
                '$' | '`' => self.expansion(&mut word),
                c => {
                    self.at += 1;
                    word.text.push(c);
                }
            }
        }
        word
    }

    /// One character between double quotes, or the expansion that starts with it.
    fn quoted_char(&mut self, word: &mut Word) {
        match self.peek(0) {
            Some('\\') => {
                self.at += 1;
                match self.next() {
                    Some(c @ ('"' | '\\' | '$' | '`')) => push_quoted(word, c),
                    Some('\n') | None => {}
                    Some(c) => word.text.extend(['\\', c]),
                }
            }
            Some('$' | '`') => self.expansion(word),
            Some(c) => {
                self.at += 1;
                push_quoted(word, c);
            }
            None => {}
        }
    }

    fn expansion(&mut self, word: &mut Word) {
        if self.eat("`") {
            let mut inner = String::new();
            while let Some(c) = self.next().filter(|c| *c != '`') {
                // Inside, a backslash only keeps the next character from its meaning.
                let c = if c == '\\' {
                    self.next().unwrap_or(c)
                } else {
                    c
                };
                inner.push(c);
            }
            word.nested.push(Nested::Command(inner));
            word.text.push_str("$()");
        } else if self.eat("$((") {
            let inner = self.until_close(')');
            self.eat(")");
            word.nested.push(Nested::Text(inner));
            word.text.push_str("$()");
        } else if self.peek(1) == Some('(') {
            self.substitution(word);
        } else if self.eat("${") {
            let inner = self.until_close('}');
            let name: String = inner.chars().take_while(|c| is_name(*c)).collect();
            word.nested.push(Nested::Text(inner));
            word.text.push('$');
            word.text.push_str(&name);
        } else if self.eat("$'") {
            word.quoted = true;
            while let Some(c) = self.next().filter(|c| *c != '\'') {
                let c = if c == '\\' {
                    self.next().unwrap_or(c)
                } else {
                    c
                };
                push_quoted(word, c);
            }
        } else {
            self.at += 1;
            word.text.push('$');
        }
    }

    /// `$(...)`, `<(...)` or `>(...)`.
    fn substitution(&mut self, word: &mut Word) {
        self.at += 2;
        let inner = self.until_close(')');
        word.nested.push(Nested::Command(inner));
        word.text.push_str("$()");
    }

    /// What comes before the bracket that closes the one before. Quotes hide brackets.
    fn until_close(&mut self, close: char) -> String {
        let open = if close == ')' { '(' } else { '{' };
        let start = self.at;
        let mut depth = 1;
        while let Some(c) = self.next() {
            match c {
                '\\' => self.at += 1,
                '\'' => while self.next().is_some_and(|c| c != '\'') {},
                '"' => {
                    while let Some(c) = self.next().filter(|c| *c != '"') {
                        self.at += usize::from(c == '\\');
                    }
                }
                c if c == open => depth += 1,
                c if c == close => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let end = self.at.min(self.chars.len());
        let inner = self.chars.get(start..end).unwrap_or_default();
        let inner = inner
            .strip_suffix(&[close])
            .filter(|_| depth == 0)
            .unwrap_or(inner);
        inner.iter().collect()
    }
}

/// A quoted tilde is not the home.
fn push_quoted(word: &mut Word, c: char) {
    if c == '~' && word.text.is_empty() {
        word.text.push_str("./");
    }
    word.text.push(c);
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
