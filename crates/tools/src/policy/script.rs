//! From the words of a command to the programs it starts.

use super::lexer::{Lexed, Nested, Token, Word, lex, substitutions};
use super::unwrap::{Inner, inner, reads_script};
use super::{Invocation, Redirect};

/// The name under which a fork bomb is shown to the rules.
pub(super) const FORK_BOMB: &str = "(fork bomb)";
/// The name under which a command is shown that is nested too deeply to be read.
pub(super) const UNREADABLE: &str = "(unreadable)";

/// How deep commands within commands are followed.
const DEEPEST: usize = 12;
/// How many programs are looked at. Nested commands can be repeated without end.
const MOST: usize = 10_000;

/// Every program that a command starts, as far as one can see without running it.
pub(super) fn invocations(text: &str) -> Vec<Invocation> {
    let mut found = Vec::new();
    read(text, 0, &mut found);
    found
}

/// A program with its words, between two operators.
#[derive(Clone, Debug, Default)]
struct Simple {
    words: Vec<Word>,
    redirects: Vec<Redirect>,
    nested: Vec<Nested>,
    /// What is known of its input.
    input: Vec<String>,
    /// Whether it was followed by `|` or `&`.
    detached: bool,
}

fn read(text: &str, depth: usize, found: &mut Vec<Invocation>) {
    if depth > DEEPEST || found.len() > MOST {
        found.push(named(UNREADABLE));
        return;
    }
    let mut parser = Parser::new(lex(text));
    parser.run();
    if parser.fork_bomb {
        found.push(named(FORK_BOMB));
    }
    for simple in parser.commands {
        for nested in &simple.nested {
            follow(nested, depth + 1, found);
        }
        let words = strip(&simple.words);
        visit(&simple, words, depth, found);
    }
}

fn follow(nested: &Nested, depth: usize, found: &mut Vec<Invocation>) {
    match nested {
        Nested::Command(script) => read(script, depth, found),
        Nested::Text(_) if depth > DEEPEST => found.push(named(UNREADABLE)),
        Nested::Text(text) => {
            for nested in substitutions(text) {
                follow(&nested, depth + 1, found);
            }
        }
    }
}

/// Adds a program, and the programs that it starts.
fn visit(simple: &Simple, words: &[Word], depth: usize, found: &mut Vec<Invocation>) {
    if depth > DEEPEST || found.len() > MOST {
        found.push(named(UNREADABLE));
        return;
    }
    let Some((program, arguments)) = words.split_first() else {
        // Without a program the shell itself opens the files.
        found.push(Invocation {
            redirects: simple.redirects.clone(),
            ..Invocation::default()
        });
        return;
    };
    let program = program.text.rsplit('/').next().unwrap_or_default();
    found.push(Invocation {
        program: program.to_owned(),
        arguments: arguments.iter().map(|word| word.text.clone()).collect(),
        redirects: simple.redirects.clone(),
    });
    if reads_script(program, arguments) {
        for script in &simple.input {
            read(script, depth + 1, found);
        }
    }
    for inner in inner(program, arguments) {
        match inner {
            Inner::Script(script) => read(&script, depth + 1, found),
            Inner::Program(mut words) => {
                if program == "xargs" {
                    let input = simple.input.iter().flat_map(|text| text.split_whitespace());
                    words.extend(input.map(|text| Word {
                        text: text.to_owned(),
                        ..Word::default()
                    }));
                }
                visit(simple, strip(&words), depth + 1, found);
            }
        }
    }
}

fn named(program: &str) -> Invocation {
    Invocation {
        program: program.to_owned(),
        ..Invocation::default()
    }
}

/// The words from the program on: without keywords and assignments before it.
fn strip(words: &[Word]) -> &[Word] {
    const KEYWORDS: &[&str] = &[
        "if", "then", "else", "elif", "while", "until", "do", "!", "{", "}", "coproc", "fi",
        "done", "esac", "time", "-p",
    ];
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        let is_keyword = !first.quoted && KEYWORDS.contains(&first.text.as_str());
        rest = match after {
            [_, body @ ..] if !first.quoted && first.text == "function" => body,
            after if is_keyword || is_assignment(first) => after,
            _ => break,
        };
    }
    rest
}

pub(super) fn is_assignment(word: &Word) -> bool {
    let Some((name, _)) = word.text.split_once('=') else {
        return false;
    };
    let name = name.trim_end_matches('+');
    let name = name.split('[').next().unwrap_or_default();
    let starts = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    starts && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

struct Parser {
    lexed: Lexed,
    current: Simple,
    commands: Vec<Simple>,
    /// The brackets and `case`s that are open.
    open: Vec<Frame>,
    fork_bomb: bool,
    /// The function that is being defined, and how many braces are open in it.
    function: Option<(String, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    Bracket,
    Case,
}

impl Parser {
    fn new(lexed: Lexed) -> Self {
        Self {
            lexed,
            current: Simple::default(),
            commands: Vec::new(),
            open: Vec::new(),
            fork_bomb: false,
            function: None,
        }
    }

    fn run(&mut self) {
        let mut tokens = std::mem::take(&mut self.lexed.tokens)
            .into_iter()
            .peekable();
        while let Some(token) = tokens.next() {
            match token {
                Token::Word(word) => self.word(word),
                Token::End => self.end(false),
                Token::NextCase => {
                    self.end(false);
                    // A bracket here belongs to the pattern.
                    tokens.next_if_eq(&Token::Open);
                }
                Token::Background => self.end(true),
                Token::Pipe => {
                    let input = self.output();
                    self.end(true);
                    self.current.input = input;
                }
                Token::Open if tokens.peek() == Some(&Token::Close) => {
                    tokens.next();
                    let name = self.current.words.pop().map(|word| word.text);
                    self.current = Simple::default();
                    self.function = name.map(|name| (name, 0));
                }
                Token::Open if self.is_before_pattern() => {}
                Token::Open => {
                    self.end(false);
                    self.open.push(Frame::Bracket);
                }
                Token::Close => self.close(),
                Token::Output | Token::Input | Token::HereString => {
                    if let Some(Token::Word(word)) = tokens.next_if(is_word) {
                        self.redirect(&token, word);
                    }
                }
                Token::HereDocument(number) => {
                    if let Some(document) = self.lexed.documents.get(number) {
                        if document.expands {
                            let text = Nested::Text(document.text.clone());
                            self.current.nested.push(text);
                        }
                        self.current.input.push(document.text.clone());
                    }
                }
            }
        }
        self.end(false);
    }

    fn word(&mut self, word: Word) {
        self.current.nested.extend(word.nested.iter().cloned());
        if self.current.words.is_empty() && !word.quoted {
            match word.text.as_str() {
                "case" => self.open.push(Frame::Case),
                "esac" if self.open.last() == Some(&Frame::Case) => {
                    self.open.pop();
                }
                _ => {}
            }
        }
        if let (Some((_, braces)), false) = (&mut self.function, word.quoted) {
            match word.text.as_str() {
                "{" => *braces += 1,
                "}" => *braces = braces.saturating_sub(1),
                _ => {}
            }
            if word.text == "}" && *braces == 0 {
                self.function = None;
            }
        }
        self.current.words.push(word);
    }

    fn redirect(&mut self, token: &Token, word: Word) {
        self.current.nested.extend(word.nested);
        match token {
            Token::Output => self.current.redirects.push(Redirect { path: word.text }),
            Token::HereString => self.current.input.push(word.text),
            Token::Word(_)
            | Token::End
            | Token::NextCase
            | Token::Pipe
            | Token::Background
            | Token::Open
            | Token::Close
            | Token::Input
            | Token::HereDocument(_) => {}
        }
    }

    /// What the current command writes, if it does no more than repeat its arguments or its input.
    fn output(&self) -> Vec<String> {
        let words = strip(&self.current.words);
        let Some((program, arguments)) = words.split_first() else {
            return Vec::new();
        };
        match program.text.as_str() {
            "echo" | "printf" => {
                let words: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
                vec![words.join(" ")]
            }
            "cat" | "tee" => self.current.input.clone(),
            _ => Vec::new(),
        }
    }

    /// Whether the words so far are `case x in`.
    fn is_before_pattern(&self) -> bool {
        let last = self.current.words.last();
        let is_in = last.is_some_and(|word| !word.quoted && word.text == "in");
        is_in && self.open.last() == Some(&Frame::Case)
    }

    fn close(&mut self) {
        match self.open.last() {
            Some(Frame::Bracket) => {
                self.end(false);
                self.open.pop();
            }
            // The end of a pattern, which is no command.
            Some(Frame::Case) | None => self.current.words.clear(),
        }
    }

    fn end(&mut self, detached: bool) {
        let mut simple = std::mem::take(&mut self.current);
        simple.detached = detached;
        if let Some((name, _)) = &self.function {
            let own = |word: &Word| word.text == *name;
            let alone = matches!(strip(&simple.words), [word] if own(word));
            self.fork_bomb |= simple.detached && alone;
        }
        let empty = simple.words.is_empty() && simple.redirects.is_empty();
        if !empty || !simple.nested.is_empty() {
            self.commands.push(simple);
        }
    }
}

fn is_word(token: &Token) -> bool {
    matches!(token, Token::Word(_))
}
