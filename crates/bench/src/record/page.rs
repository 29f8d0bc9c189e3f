//! What a terminal showed, as SVG. The drawing of styled text is left to `anstyle-svg`.

use anstyle::{Ansi256Color, Color, Effects, RgbColor, Style};
use anstyle_svg::{Palette, Term};
use std::fmt::Write;
use std::num::NonZeroU16;
use std::time::{Duration, Instant};
use vt100::{Cell, Parser};

/// The distance of lines and the edge around the text, as `anstyle-svg` draws them.
const LINE: usize = 18;
const EDGE: usize = 10;
/// How far characters such as `q` reach below the line that the others stand on.
const DESCENT: usize = 5;
/// The longest pause between two changes.
const LONGEST_PAUSE: Duration = Duration::from_millis(4500);
/// How long the last lines stay.
const END: Duration = Duration::from_secs(6);

const BACKGROUND: &str = "#0d1117";
const DARK: RgbColor = RgbColor(0x0d, 0x11, 0x17);
const TEXT: RgbColor = RgbColor(0xe6, 0xed, 0xf3);
/// Dimmed text: transparent text could not be read.
const DIM: RgbColor = RgbColor(0x9d, 0xa7, 0xb3);
/// The sixteen colours of a terminal, each but black legible on the background.
const COLOURS: Palette = Palette([
    RgbColor(0x48, 0x4f, 0x58),
    RgbColor(0xff, 0x7b, 0x72),
    RgbColor(0x3f, 0xb9, 0x50),
    RgbColor(0xd2, 0x99, 0x22),
    RgbColor(0x58, 0xa6, 0xff),
    RgbColor(0xbc, 0x8c, 0xff),
    RgbColor(0x39, 0xc5, 0xcf),
    RgbColor(0xb1, 0xba, 0xc4),
    RgbColor(0x8b, 0x94, 0x9e),
    RgbColor(0xff, 0xa1, 0x98),
    RgbColor(0x56, 0xd3, 0x64),
    RgbColor(0xe3, 0xb3, 0x41),
    RgbColor(0x79, 0xc0, 0xff),
    RgbColor(0xd2, 0xa8, 0xff),
    RgbColor(0x56, 0xd4, 0xdd),
    RgbColor(0xff, 0xff, 0xff),
]);

/// A terminal that is recorded.
pub(super) struct Page {
    parser: Parser,
    columns: u16,
    /// How many lines there were, and since when.
    growth: Vec<(Instant, usize)>,
}

impl Page {
    pub(super) fn new(rows: u16, columns: u16) -> Self {
        let cells = |count| NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN);
        Self {
            parser: Parser::new(cells(rows), cells(columns), 0),
            columns,
            growth: Vec::new(),
        }
    }

    /// Adds what the command wrote.
    pub(super) fn add(&mut self, when: Instant, bytes: &[u8]) {
        self.parser.process(bytes);
        let (row, column) = self.parser.screen().cursor_position();
        let lines = usize::from(row) + usize::from(column > 0);
        if self.growth.last().is_none_or(|(_, last)| *last < lines) {
            self.growth.push((when, lines));
        }
    }

    pub(super) fn text(&self) -> String {
        self.parser.screen().contents()
    }

    /// All lines as they are.
    pub(super) fn still(&self, title: &str) -> String {
        let rows = usize::from(self.parser.screen().size().0.get());
        let drawn = self.draw(rows);
        let (width, height) = (self.width(), height(rows));
        format!("{}{drawn}</svg>\n", head(title, width, height))
    }

    /// A window of some rows that moves down as the lines were printed.
    pub(super) fn scrolling(&self, rows: u16, poster: Option<&str>, title: &str) -> String {
        let rows = usize::from(rows);
        let text = self.text();
        let lines = text.lines().count();
        let found = poster.and_then(|poster| text.lines().position(|line| line.contains(poster)));
        let (drawn, shown) = (self.draw(lines), found.map_or(lines, |row| row + 1));
        let (whole, steps) = self.steps(lines);
        // The window ends at the last line, and a cover hides the lines below it.
        let above = |lines: usize| lines.saturating_sub(rows) * LINE;
        let below = |lines: usize| EDGE + lines * LINE + DESCENT;
        let frames = |place: &dyn Fn(usize) -> String| {
            let frames = steps.iter().map(|(share, lines)| {
                format!("{share:.2}%{{transform:translate(0,{}px)}}", place(*lines))
            });
            frames.collect::<String>()
        };
        let moves = frames(&|lines| format!("-{}", above(lines)));
        let covers = frames(&|lines| below(lines).to_string());
        let (width, tall) = (self.width(), height(lines));
        format!(
            "{head}<style>\n@keyframes move{{{moves}}}\n@keyframes cover{{{covers}}}\n\
             #page{{animation:move {whole:.1}s step-end infinite}}\n\
             #cover{{animation:cover {whole:.1}s step-end infinite}}\n</style>\n\
             <g id=\"page\" transform=\"translate(0 -{above})\">\n{drawn}\
             <rect id=\"cover\" width=\"{width}\" height=\"{tall}\" fill=\"{BACKGROUND}\" \
             transform=\"translate(0 {below})\"/>\n</g>\n</svg>\n",
            head = head(title, width, height(rows)),
            above = above(shown),
            below = below(shown),
        )
    }

    /// How long it takes in seconds, and after which percentage of that there are how many lines.
    fn steps(&self, lines: usize) -> (f64, Vec<(f64, usize)>) {
        let mut passed = Duration::ZERO;
        let mut steps = Vec::new();
        let mut last = None;
        for (when, count) in &self.growth {
            let pause = last.map_or(Duration::ZERO, |last| when.duration_since(last));
            passed += pause.min(LONGEST_PAUSE);
            steps.push((passed.as_secs_f64(), (*count).min(lines)));
            last = Some(*when);
        }
        let whole = (passed + END).as_secs_f64();
        for (time, _) in &mut steps {
            *time = *time / whole * 100.0;
        }
        (whole, steps)
    }

    fn width(&self) -> usize {
        // The width of a column, as `anstyle-svg` assumes it.
        usize::from(self.columns) * 42 / 5 + 2 * EDGE
    }

    /// The first lines as an SVG element.
    fn draw(&self, lines: usize) -> String {
        let lines = (0..u16::try_from(lines).unwrap_or(u16::MAX)).map(|row| self.styled(row));
        let lines: Vec<String> = lines.collect();
        let term = Term::new().palette(COLOURS).background(false);
        term.fg_color(Color::Rgb(TEXT))
            .bg_color(Color::Rgb(DARK))
            .render_svg(&lines.join("\n"))
    }

    /// A line with the escape sequences of its styles, and without blanks at its end.
    fn styled(&self, row: u16) -> String {
        let screen = self.parser.screen();
        let cells = (0..self.columns).filter_map(|column| screen.cell(row, column));
        let cells: Vec<&Cell> = cells.filter(|cell| !cell.is_wide_continuation()).collect();
        let is_seen =
            |cell: &&Cell| !cell.contents().trim().is_empty() || style(cell) != Style::new();
        let end = cells.iter().rposition(is_seen).map_or(0, |last| last + 1);
        let mut line = String::new();
        let mut last = Style::new();
        for cell in cells.iter().take(end) {
            let style = style(cell);
            if style != last {
                // Writing to a string cannot fail.
                let _ = write!(line, "{last:#}{style}");
                last = style;
            }
            line.push_str(if cell.has_contents() {
                cell.contents()
            } else {
                " "
            });
        }
        let _ = write!(line, "{last:#}");
        line
    }
}

fn height(rows: usize) -> usize {
    rows * LINE + 2 * EDGE
}

/// The outer element, with its background.
fn head(title: &str, width: usize, height: usize) -> String {
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n<title>{title}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"{BACKGROUND}\"/>\n"
    )
}

fn style(cell: &Cell) -> Style {
    let effects = [
        (cell.bold(), Effects::BOLD),
        (cell.inverse(), Effects::INVERT),
    ];
    let effects = effects.iter().filter(|(is_set, _)| *is_set);
    let effects = effects.fold(Effects::new(), |all, (_, effect)| all.insert(*effect));
    let dim = cell.dim().then_some(Color::Rgb(DIM));
    Style::new()
        .fg_color(colour(cell.fgcolor()).or(dim))
        .bg_color(colour(cell.bgcolor()))
        .effects(effects)
}

fn colour(colour: vt100::Color) -> Option<Color> {
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Idx(number) => {
            let colour = Ansi256Color(number);
            let named = colour.into_ansi();
            Some(named.map_or(Color::Ansi256(colour), Color::Ansi))
        }
        vt100::Color::Rgb(red, green, blue) => Some(Color::Rgb(RgbColor(red, green, blue))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_appear_as_they_were_printed_and_long_pauses_are_shortened() {
        let mut page = Page::new(20, 20);
        let began = Instant::now();
        page.add(began, b"one\r\n");
        page.add(began + Duration::from_millis(10), b"");
        page.add(
            began + Duration::from_secs(1),
            b"\x1b[1;32m$\x1b[0m a<b & c\r\n",
        );
        page.add(began + Duration::from_secs(60), b"three\r\n");
        let text = page.scrolling(2, Some("a<b"), "a & b");
        assert_eq!(text.matches(">one").count(), 1, "{text}");
        assert!(text.contains("<title>a &amp; b</title>"), "{text}");
        assert!(text.contains("bold"), "{text}");
        assert!(text.contains(" a&lt;b &amp; c"), "{text}");
        // A second, a pause that is shortened, and the end.
        assert!(text.contains("animation:move 11.5s"), "{text}");
        let (_, steps) = page.steps(3);
        let lines: Vec<usize> = steps.iter().map(|(_, lines)| *lines).collect();
        assert_eq!(lines, [1, 2, 3]);
        // Without style sheets, the window ends with the line of the poster.
        let cover = format!("transform=\"translate(0 {})\"", EDGE + 2 * LINE + DESCENT);
        assert!(text.contains(&cover), "{text}");
    }

    /// The relative luminance of the Web Content Accessibility Guidelines.
    fn luminance(colour: RgbColor) -> f64 {
        let part = |value: u8| match f64::from(value) / 255.0 {
            small if small <= 0.04045 => small / 12.92,
            large => ((large + 0.055) / 1.055).powf(2.4),
        };
        0.2126 * part(colour.r()) + 0.7152 * part(colour.g()) + 0.0722 * part(colour.b())
    }

    #[test]
    fn every_colour_is_legible_on_the_background() {
        let background = format!("#{:02x}{:02x}{:02x}", DARK.r(), DARK.g(), DARK.b());
        assert_eq!(background, BACKGROUND);
        let colours = COLOURS.0.iter().skip(1).chain([&TEXT, &DIM]);
        for colour in colours {
            let contrast = (luminance(*colour) + 0.05) / (luminance(DARK) + 0.05);
            assert!(contrast >= 4.5, "{colour:?}: {contrast}");
        }
        let mut page = Page::new(1, 10);
        page.add(Instant::now(), b"\x1b[2mdim");
        assert!(!page.still("dim").contains("class=\"dimmed\""));
    }

    #[test]
    fn a_still_picture_keeps_blanks_inside_a_line_and_drops_those_at_its_end() {
        let mut page = Page::new(2, 10);
        page.add(Instant::now(), b"a   b   ");
        assert_eq!(page.styled(0), "a   b");
        let text = page.still("still");
        assert!(text.contains(">a   b"), "{text}");
        assert!(!text.contains("animation"), "{text}");
    }
}
