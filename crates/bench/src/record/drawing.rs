//! Screens as SVG.
//!
//! Each different line is drawn once and used wherever it is seen, so that a film of a minute stays
//! small. The screens of a film stand below each other, and a style sheet moves them past a window.
//! What does not play style sheets shows the poster.

use super::film::{Film, Frame, Look, Row, Run, rows};
use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;
use vt100::Screen;

/// The size of a character, in pixels. It fits the usual fonts at `FONT` pixels.
const WIDTH: f64 = 8.43;
const HEIGHT: f64 = 16.5;
const FONT: f64 = 14.0;
/// From the upper edge of a line to the foot of its letters.
const FOOT: f64 = 12.9;
/// Around the screen, and above it.
const EDGE: f64 = 14.0;
const HEAD: f64 = 34.0;

const BACKGROUND: &str = "#0d1117";
const TEXT: &str = "#e6edf3";
/// The first sixteen colours, made to be read on that background.
const COLOURS: [&str; 16] = [
    "#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
    "#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
];

/// One screen.
pub(super) fn still(screen: &Screen, title: &str) -> String {
    let frame = Frame {
        rows: rows(screen),
        time: Duration::ZERO,
    };
    let (_, columns) = screen.size();
    draw(&[frame], 0, columns.get(), title)
}

/// All screens of a film. The poster is the first one with a text, or the last of all.
pub(super) fn moving(film: &Film, poster: Option<&str>, title: &str) -> String {
    let frames = film.frames();
    let has = |frame: &Frame, text: &str| {
        let mut runs = frame.rows.iter().flatten();
        runs.any(|run| run.text.contains(text))
    };
    let found = poster.and_then(|text| frames.iter().position(|frame| has(frame, text)));
    let poster = found.unwrap_or(frames.len().saturating_sub(1));
    draw(&frames, poster, film.columns(), title)
}

fn draw(frames: &[Frame], poster: usize, columns: u16, title: &str) -> String {
    let rows = frames.first().map_or(0, |frame| frame.rows.len());
    let (width, height) = (f64::from(columns) * WIDTH, rows as f64 * HEIGHT);
    let mut lines = Lines::default();
    let mut film = String::new();
    for (at, frame) in frames.iter().enumerate() {
        for (number, row) in frame.rows.iter().enumerate() {
            if let Some(line) = lines.number(row) {
                let y = at as f64 * height + number as f64 * HEIGHT;
                put(
                    &mut film,
                    format_args!("<use href=\"#l{line}\" y=\"{}\"/>", short(y)),
                );
            }
        }
        film.push('\n');
    }
    let (whole, tall) = (short(width + 2.0 * EDGE), short(height + HEAD + EDGE));
    let middle = short(width / 2.0 + EDGE);
    let (width, below) = (short(width), short(poster as f64 * height));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{whole}\" height=\"{tall}\" \
         viewBox=\"0 0 {whole} {tall}\">\n<title>{title}</title>\n<style>\n{style}</style>\n\
         <rect width=\"{whole}\" height=\"{tall}\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n{head}\
         <defs>\n{defs}</defs>\n\
         <svg x=\"{EDGE}\" y=\"{HEAD}\" width=\"{width}\" height=\"{inner}\">\n\
         <g id=\"film\" transform=\"translate(0 -{below})\">\n{film}</g>\n</svg>\n</svg>\n",
        title = escape(title),
        style = style(frames, height),
        head = head(title, &middle),
        defs = lines.drawn,
        inner = short(height),
    )
}

/// The frame of the window.
fn head(title: &str, middle: &str) -> String {
    let mut head = String::new();
    for (at, colour) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        let x = 20 + 18 * at;
        put(
            &mut head,
            format_args!("<circle cx=\"{x}\" cy=\"17\" r=\"5.5\" fill=\"{colour}\"/>\n"),
        );
    }
    let title = escape(title);
    put(
        &mut head,
        format_args!(
            "<text class=\"t\" x=\"{middle}\" y=\"21\" text-anchor=\"middle\">{title}</text>\n"
        ),
    );
    head
}

/// The fonts and colours, and what moves the screens.
fn style(frames: &[Frame], height: f64) -> String {
    let mut style = format!(
        "text{{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;\
         font-size:{FONT}px;fill:{TEXT};white-space:pre}}\n\
         .t{{fill:#8b949e;font-size:12px}}\n.b{{font-weight:bold}}\n.d{{opacity:.65}}\n\
         .i{{fill:{BACKGROUND}}}\n"
    );
    for (number, colour) in COLOURS.iter().enumerate() {
        put(&mut style, format_args!(".c{number}{{fill:{colour}}}\n"));
    }
    let whole: f64 = frames.iter().map(|frame| frame.time.as_secs_f64()).sum();
    if frames.len() > 1 {
        style.push_str("@keyframes play{");
        let mut passed = 0.0;
        for (at, frame) in frames.iter().enumerate() {
            let share = format!("{:.3}", passed / whole * 100.0);
            let y = short(at as f64 * height);
            put(
                &mut style,
                format_args!("{share}%{{transform:translate(0,-{y}px)}}"),
            );
            passed += frame.time.as_secs_f64();
        }
        put(
            &mut style,
            format_args!("}}\n#film{{animation:play {whole:.1}s step-end infinite}}\n"),
        );
    }
    style
}

/// The different lines that were seen.
#[derive(Default)]
struct Lines {
    numbers: HashMap<Row, usize>,
    drawn: String,
}

impl Lines {
    /// The number of a line, if there is something on it.
    fn number(&mut self, row: &Row) -> Option<usize> {
        if row.is_empty() {
            return None;
        }
        if let Some(number) = self.numbers.get(row) {
            return Some(*number);
        }
        let number = self.numbers.len();
        self.numbers.insert(row.clone(), number);
        put(&mut self.drawn, format_args!("<g id=\"l{number}\">"));
        row.iter().for_each(|run| self.drawn.push_str(&piece(run)));
        self.drawn.push_str("</g>\n");
        Some(number)
    }
}

/// A piece of a line. Its length is given, so that any font leaves the columns where they are.
fn piece(run: &Run) -> String {
    let Run {
        at,
        width,
        text,
        look,
    } = run;
    let (x, length) = (
        short(f64::from(*at) * WIDTH),
        short(f64::from(*width) * WIDTH),
    );
    let mut drawn = String::new();
    if look.is_filled() {
        let colour = if look.inverse {
            look.colour
        } else {
            look.behind
        };
        let fill = colour.map_or_else(
            || format!("fill=\"{TEXT}\""),
            |number| format!("class=\"c{number}\""),
        );
        put(
            &mut drawn,
            format_args!("<rect x=\"{x}\" width=\"{length}\" height=\"{HEIGHT}\" {fill}/>"),
        );
    }
    let class = class(*look);
    let text = escape(text);
    put(
        &mut drawn,
        format_args!(
            "<text x=\"{x}\" y=\"{FOOT}\" textLength=\"{length}\" xml:space=\"preserve\"{class}>{text}</text>"
        ),
    );
    drawn
}

fn class(look: Look) -> String {
    let mut names = Vec::new();
    names.extend(look.bold.then(|| "b".to_owned()));
    names.extend(look.dim.then(|| "d".to_owned()));
    if look.inverse {
        names.push("i".to_owned());
    } else if let Some(number) = look.colour {
        names.push(format!("c{number}"));
    }
    if names.is_empty() {
        return String::new();
    }
    format!(" class=\"{}\"", names.join(" "))
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}

/// A number with no more digits than can be seen.
fn short(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a text cannot fail.
    let _ = text.write_fmt(what);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_line_that_is_seen_often_is_drawn_once() {
        let mut film = Film::new(4, 20);
        let began = Instant::now();
        film.add(began, b"one\r\n");
        film.add(
            began + Duration::from_secs(1),
            b"\x1b[1;32m$\x1b[0m a<b & c\r\n",
        );
        film.add(began + Duration::from_secs(60), b"three\r\n");
        let text = moving(&film, Some("a<b"), "film");
        assert_eq!(text.matches(">one</text>").count(), 1);
        assert_eq!(text.matches("href=\"#l0\"").count(), 3);
        assert!(text.contains("class=\"b c2\">$</text>"), "{text}");
        assert!(text.contains(">a&lt;b &amp; c</text>"), "{text}");
        // One second, a pause that is cut short, and the end.
        assert!(text.contains("animation:play 11.5s"), "{text}");
        // The first screen with the text of the poster is the second.
        let poster = format!(
            "id=\"film\" transform=\"translate(0 -{})\"",
            short(4.0 * HEIGHT)
        );
        assert!(text.contains(&poster), "{text}");
    }

    #[test]
    fn what_changes_at_once_is_one_screen_and_blanks_cost_nothing() {
        let mut film = Film::new(2, 10);
        let began = Instant::now();
        film.add(began, b"a");
        film.add(began + Duration::from_millis(10), b"   b");
        film.add(began + Duration::from_secs(1), b"\x1b[0m");
        let frames = film.frames();
        assert_eq!(frames.len(), 1);
        let [row, empty] = &frames[0].rows[..] else {
            panic!("{frames:?}");
        };
        assert_eq!(
            (row[0].at, row[0].width, row[0].text.as_str()),
            (0, 5, "a   b")
        );
        assert!(empty.is_empty());
        let text = still(film.screen(), "still");
        assert!(!text.contains("animation"), "{text}");
    }
}
