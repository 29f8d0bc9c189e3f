//! What waits for the person, in a box.

use super::super::colour::{Colour, Style};
use super::width::{Span, columns, fit, paint, wrap};
use terminal_text::{clean, one_line};

/// The widest box.
const WIDEST: usize = 100;

/// A request with the keys that answer it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestBox {
    pub(crate) title: String,
    pub(crate) body: Vec<String>,
    pub(crate) keys: Vec<String>,
}

impl RequestBox {
    /// The same without a box, for a terminal that cannot draw one.
    pub(crate) fn text(&self) -> String {
        let body = self.body.iter().map(|line| format!("  {line}\n"));
        let body: String = body.collect();
        format!("{}:\n{body}{}", self.title, self.keys.join("  "))
    }

    /// The box, for a terminal of this many columns.
    pub(crate) fn lines(&self, width: usize, colour: Colour) -> Vec<String> {
        let inside = width.min(WIDEST).saturating_sub(5).max(10);
        let edge = |text: String| colour.paint(Style::Attention, &text);
        let title = fit(&one_line(&self.title), inside - 2);
        let rule = "─".repeat(inside.saturating_sub(columns(&title) + 1));
        let mut lines = vec![edge(format!("╭─ {title} {rule}╮"))];
        let mut add = |spans: &[Span]| {
            for line in wrap(spans, inside) {
                let taken: usize = line.iter().map(|span| columns(&span.text)).sum();
                let rest = " ".repeat(inside.saturating_sub(taken));
                let text = paint(&line, colour);
                lines.push(format!(
                    "{} {text}{rest} {}",
                    edge("│".to_owned()),
                    edge("│".to_owned())
                ));
            }
        };
        for line in &self.body {
            add(&[Span::plain(clean(line).replace('\t', "    "))]);
        }
        add(&[]);
        add(&[Span::new(Style::Bold, self.keys.join("  "))]);
        lines.push(edge(format!("╰{}╯", "─".repeat(inside + 2))));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_as_wide_as_the_terminal_allows() {
        let request = RequestBox {
            title: "alice asks to run (1a2b3c4d)".to_owned(),
            body: vec!["rm -r build\u{1b}[2J and much more than fits".to_owned()],
            keys: vec!["[y] yes".to_owned(), "[n] no".to_owned()],
        };
        for width in [30, 80, 200] {
            let lines = request.lines(width, Colour::Off);
            let wide = columns(&lines[0]);
            assert!(wide < width, "{wide} {lines:?}");
            assert!(lines.iter().all(|line| columns(line) == wide), "{lines:?}");
            assert!(
                lines.concat().contains("rm -r build\u{fffd}[2J"),
                "{lines:?}"
            );
            assert!(lines.concat().contains("[y] yes  [n] no"), "{lines:?}");
        }
        assert!(
            request
                .text()
                .starts_with("alice asks to run (1a2b3c4d):\n  rm -r")
        );
    }
}
