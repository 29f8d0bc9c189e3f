//! The status of a team in aligned columns, for a terminal.

use super::{cost, state_text, token_text, tokens};
use crate::colour::Colour;
use clap::builder::styling::{AnsiColor, Style};
use processes::MemberView;
use protocol::{Budget, HostId, Money, TreeMode};
use rules::{MemberState, restarts_text};
use terminal_text::one_line;

/// The headings, and whether the column has numbers, which stand at its right. The last has no heading.
const COLUMNS: [(&str, bool); 10] = [
    ("NAME", false),
    ("ROLE", false),
    ("HOST", false),
    ("STATE", false),
    ("UNREAD", true),
    ("TASK", false),
    ("TOKENS", true),
    ("COST", true),
    ("PROCESS", true),
    ("", false),
];
/// The column that is coloured.
const STATE: usize = 3;
type Row = [String; COLUMNS.len()];

/// The longest text of a column but the last; the middle of a longer one is left out.
const LONGEST: usize = 44;

/// A heading and one line for each member. A column without any text is left out.
pub(super) fn table(views: &[MemberView], budget: &Budget, colour: Colour) -> Vec<String> {
    let rows: Vec<Row> = views.iter().map(|view| row(view, budget)).collect();
    let headings: Row = COLUMNS.map(|(heading, _)| heading.to_owned());
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        match widest {
            0 => 0,
            widest => widest.max(headings.get(at).map_or(0, String::len)),
        }
    };
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let bold = Style::new().bold();
    let mut lines = vec![colour.paint(bold, &line(&headings, &widths, |_, cell| cell))];
    lines.extend(rows.iter().zip(views).map(|(row, view)| {
        let style = style_of(&view.state);
        line(row, &widths, |at, cell| match at {
            STATE => colour.paint(style, &cell),
            _ => cell,
        })
    }));
    lines
}

/// The cells of a row in their columns. Each is padded before it is painted.
fn line(cells: &Row, widths: &[usize], paint: impl Fn(usize, String) -> String) -> String {
    let columns = cells.iter().zip(widths).zip(COLUMNS).enumerate();
    let shown = columns.filter(|(_, ((_, width), _))| **width > 0);
    let padded = shown.map(|(at, ((cell, width), (_, is_number)))| {
        let cell = match is_number {
            true => format!("{cell:>width$}"),
            false => format!("{cell:width$}"),
        };
        paint(at, cell)
    });
    let text = padded.collect::<Vec<String>>().join("  ");
    text.trim_end().to_owned()
}

fn row(view: &MemberView, budget: &Budget) -> Row {
    let spec = &view.member.spec;
    let task = view.task.map(|task| format!("#{task}"));
    let cost = cost(view, budget).filter(|cost| *cost > Money::default());
    let holder = view.holder.as_ref();
    let tokens = token_text(tokens(view.live.as_ref())).unwrap_or_default();
    [
        shortened(spec.name.as_str()),
        shortened(&one_line(&spec.role)),
        shortened(view.member.host.as_ref().map_or("", HostId::as_str)),
        shortened(&state_text(view)),
        match view.unread {
            0 => String::new(),
            unread => unread.to_string(),
        },
        task.unwrap_or_default(),
        tokens.trim_end_matches(" tokens").to_owned(),
        cost.map(|cost| cost.to_string()).unwrap_or_default(),
        holder.map_or_else(String::new, |holder| holder.pid.to_string()),
        details(view),
    ]
}

/// What has no column of its own.
fn details(view: &MemberView) -> String {
    let mut parts = Vec::new();
    parts.extend(restarts_text(view.member.incarnation));
    parts.extend(
        view.todo
            .as_ref()
            .map(|todo| format!("to-do {}", one_line(&todo.to_string()))),
    );
    if view.member.spec.tree == Some(TreeMode::Own) {
        parts.push(format!("branch team/{}", view.member.spec.name));
    }
    parts.extend(
        view.submission
            .map(|(id, status)| format!("submission {id} {status}")),
    );
    parts.join(", ")
}

/// The beginning and the end of a long text.
fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST {
        return text.to_owned();
    }
    let half = (LONGEST - 1) / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    format!("{start}…{end}")
}

fn style_of(state: &MemberState) -> Style {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match state {
        MemberState::Starting { .. } | MemberState::Working { .. } => colour(AnsiColor::Green),
        MemberState::Waiting { .. } => colour(AnsiColor::Yellow),
        MemberState::Hung { .. }
        | MemberState::Failed { .. }
        | MemberState::GaveUp { .. }
        | MemberState::Dead { .. } => colour(AnsiColor::Red),
        MemberState::Idle { .. } => Style::new(),
        MemberState::Shutdown => Style::new().dimmed(),
    }
}
