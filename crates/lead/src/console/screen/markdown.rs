//! Markdown as lines of a terminal.

use super::super::colour::{Colour, Style};
use super::table::Table;
use super::width::{Span, columns, paint, wrap};
use highlight::{Piece, highlight};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// Text is not broken into narrower lines than this.
const NARROWEST: usize = 20;

/// A text in lines of at most this many columns.
pub(crate) fn render(text: &str, width: usize, colour: Colour) -> Vec<String> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut renderer = Renderer {
        width,
        has_colours: colour == Colour::On,
        ..Renderer::default()
    };
    for event in Parser::new_ext(text, options) {
        renderer.event(event);
    }
    renderer.flush();
    let lines = renderer.lines.iter();
    lines.map(|line| paint(line, colour)).collect()
}

#[derive(Default)]
struct Renderer {
    width: usize,
    lines: Vec<Vec<Span>>,
    /// The text of the current paragraph, heading, item or cell.
    spans: Vec<Span>,
    styles: Vec<Style>,
    /// The lists around this place, with the number of the next item of those that have numbers.
    lists: Vec<Option<u64>>,
    /// The mark of an item whose text has not begun.
    mark: Option<String>,
    quotes: usize,
    /// The block of code that is being read.
    code: Option<Code>,
    has_colours: bool,
    /// Where the link leads that is being read.
    links: Vec<String>,
    table: Option<Table>,
}

/// A block of code.
#[derive(Default)]
struct Code {
    language: String,
    text: String,
}

impl Renderer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code.is_some() => {
                if let Some(code) = &mut self.code {
                    code.text.push_str(&text);
                }
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.spans.push(Span::new(Style::Code, one_line(&text)));
            }
            Event::FootnoteReference(text) => self.text(&format!("[{text}]")),
            // Models break lines where they mean it.
            Event::SoftBreak | Event::HardBreak => match self.table {
                Some(_) => self.text(" "),
                None => self.flush(),
            },
            Event::Rule => {
                let rule = "─".repeat(self.width.min(40));
                self.lines.push(vec![Span::new(Style::Dim, rule)]);
            }
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.separate(),
            Tag::Heading { level, .. } => {
                self.separate();
                self.styles.push(match level {
                    HeadingLevel::H1 | HeadingLevel::H2 => Style::Heading,
                    _ => Style::Bold,
                });
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.separate();
                let mut code = Code::default();
                if let CodeBlockKind::Fenced(language) = kind {
                    language.trim().clone_into(&mut code.language);
                }
                self.code = Some(code);
            }
            Tag::List(start) => {
                self.flush();
                self.lists.push(start);
            }
            Tag::Item => {
                self.flush();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    Some(None) | None => "• ".to_owned(),
                };
                self.mark = Some(mark);
            }
            Tag::Table(_) => self.table = Some(Table::default()),
            Tag::Emphasis => self.styles.push(Style::Italic),
            Tag::Strong => self.styles.push(Style::Bold),
            Tag::Strikethrough => self.styles.push(Style::Dim),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.to_string());
                self.styles.push(Style::Link);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Item => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => {
                if let Some(code) = self.code.take() {
                    self.code(&code);
                }
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.lines.extend(table.lines(self.width));
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    /// The address of a link stands behind its text, unless the text is the address.
    fn end_link(&mut self) {
        self.styles.pop();
        let (Some(address), Some(text)) = (self.links.pop(), self.spans.last()) else {
            return;
        };
        if text.text != address {
            let address = format!(" ({})", one_line(&address));
            self.spans.push(Span::new(Style::Dim, address));
        }
    }

    fn text(&mut self, text: &str) {
        let style = self.styles.last().copied().unwrap_or_default();
        self.spans.push(Span::new(style, one_line(text)));
    }

    /// The lines of a block of code, never broken. Its language is looked at only if there are colours.
    fn code(&mut self, code: &Code) {
        let indent = format!("{}  ", self.indent());
        let text = code.text.trim_end_matches('\n').replace('\t', "    ");
        let pieces = match self.has_colours {
            true => highlight(&code.language, &text),
            false => None,
        };
        let lines: Vec<Vec<Span>> = match pieces {
            Some(lines) => {
                let spans = |line: Vec<Piece>| {
                    let spans = line.into_iter();
                    spans.map(|piece| Span::new(Style::Token(piece.token), piece.text))
                };
                let indented = |line| {
                    let lead = Span::new(Style::Dim, indent.clone());
                    std::iter::once(lead).chain(spans(line)).collect()
                };
                lines.into_iter().map(indented).collect()
            }
            None => {
                let lines = text.split('\n');
                let code = |line| vec![Span::new(Style::Code, format!("{indent}{line}"))];
                lines.map(code).collect()
            }
        };
        self.lines.extend(lines);
    }

    /// An empty line between two blocks outside of lists.
    fn separate(&mut self) {
        if !self.lines.is_empty() && self.lists.is_empty() && self.quotes == 0 {
            self.lines.push(Vec::new());
        }
    }

    fn indent(&self) -> String {
        let lists = self.lists.len().saturating_sub(1);
        format!("{}{}", "│ ".repeat(self.quotes), "  ".repeat(lists))
    }

    /// Ends the current text: its lines are complete.
    fn flush(&mut self) {
        if self.table.is_some() || self.spans.iter().all(|span| span.text.trim().is_empty()) {
            return;
        }
        let spans = std::mem::take(&mut self.spans);
        let outer = self.indent();
        let hanging = match (self.lists.last(), &self.mark) {
            (None, _) => 0,
            (Some(_), Some(mark)) => columns(mark),
            (Some(Some(_)), None) => 3,
            (Some(None), None) => 2,
        };
        let mut mark = self.mark.take();
        let room = self.width.saturating_sub(columns(&outer) + hanging);
        for line in wrap(&spans, room.max(NARROWEST)) {
            let lead = mark.take().unwrap_or_else(|| " ".repeat(hanging));
            let mut whole = vec![Span::new(Style::Dim, outer.clone()), Span::plain(lead)];
            whole.extend(line);
            self.lines.push(whole);
        }
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: usize) -> Vec<String> {
        render(text, width, Colour::Off)
    }

    #[test]
    fn blocks_and_marks_become_lines_and_styles() {
        let text = "# Title\nOne *two* `three` [four](http://x)\n\n> quote\n\n---\n";
        let lines = shown(text, 60);
        assert_eq!(lines[0], "Title");
        assert_eq!(lines[2], "One two three four (http://x)");
        assert_eq!(lines[3], "│ quote");
        assert_eq!(lines[4], "─".repeat(40));
        let coloured = render("**a** b `c`", 60, Colour::On);
        assert_eq!(coloured, ["\u{1b}[1ma\u{1b}[0m b \u{1b}[36mc\u{1b}[0m"]);
    }

    #[test]
    fn lists_keep_their_numbers_and_hang() {
        let text = "3. one two three four five\n4. x\n   - inner\n\n     more\n- [x] done\n";
        assert_eq!(
            shown(text, 23),
            [
                "3. one two three four ",
                "   five",
                "4. x",
                "  • inner",
                "    more",
                "• [x] done"
            ]
        );
    }

    #[test]
    fn code_is_never_broken() {
        let text = "```sh\ncargo test --locked --workspace --all-targets\n\tx\n```\n";
        assert_eq!(
            shown(text, 20),
            ["  cargo test --locked --workspace --all-targets", "      x"]
        );
    }

    #[test]
    fn code_has_colours_where_its_language_is_known() {
        let text = "```rust\nfn a() {} // why\n```\n";
        let [line] = &render(text, 60, Colour::On)[..] else {
            panic!("one line");
        };
        assert!(line.contains("\u{1b}[35mfn\u{1b}[0m"), "{line:?}");
        assert!(line.contains("\u{1b}[2m// why\u{1b}[0m"), "{line:?}");
        assert_eq!(shown(text, 60), ["  fn a() {} // why"]);
        let unknown = render("```nonsense\nfn a()\n```\n", 60, Colour::On);
        assert_eq!(unknown, ["\u{1b}[36m  fn a()\u{1b}[0m"]);
    }

    #[test]
    fn no_text_is_lost() {
        for text in [
            "<b>x</b>",
            "a\nb",
            "1 < 2 & 3",
            "| no table",
            "[x]: y\n\nz",
            "x[^1]",
        ] {
            let lines = shown(text, 40).join(" ");
            for word in ["x", "b", "2", "table", "z"] {
                assert!(!text.contains(word) || lines.contains(word) || text.contains("[x]:"));
            }
        }
    }
}
