//! The status of a team in aligned columns, for a terminal.

use super::{cost, state_text, token_text, tokens};
use clap::builder::styling::{AnsiColor, Style};
use processes::MemberView;
use protocol::{Budget, HostId, Money, TreeMode};
use rules::{MemberState, restarts_text};
use terminal_text::one_line;

/// How many columns there are.
const COLUMNS: usize = 8;
const HEADINGS: [&str; COLUMNS] = [
    "NAME", "ROLE", "HOST", "STATE", "UNREAD", "TASK", "COST", "",
];
/// The place of the column that is left out where everybody is at home on this host.
const HOST: usize = 2;
/// The place of the column that is coloured.
const STATE: usize = 3;
/// The longest text of a column but the last; the middle of a longer one is left out.
const LONGEST: usize = 44;

/// Whether and how text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    On,
    Off,
}

impl Colour {
    /// As the user's environment says. Only for a terminal.
    pub(super) fn of_environment() -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match is_set("NO_COLOR") || is_dumb {
            true => Self::Off,
            false => Self::On,
        }
    }

    fn paint(self, style: Style, text: &str) -> String {
        match self {
            Self::On => format!("{style}{text}{style:#}"),
            Self::Off => text.to_owned(),
        }
    }
}

/// A heading and one line for each member.
pub(super) fn table(views: &[MemberView], budget: &Budget, colour: Colour) -> Vec<String> {
    let rows: Vec<[String; COLUMNS]> = views.iter().map(|view| row(view, budget)).collect();
    let widths: Vec<usize> = HEADINGS
        .iter()
        .enumerate()
        .map(|(at, heading)| {
            let cells = rows.iter().filter_map(|row| row.get(at));
            let widths = cells.map(|cell| cell.chars().count());
            let widest = widths.max().unwrap_or(0);
            match at == HOST && widest == 0 {
                true => 0,
                false => widest.max(heading.len()),
            }
        })
        .collect();
    let bold = Style::new().bold();
    let mut lines = vec![colour.paint(
        bold,
        &line(&HEADINGS.map(str::to_owned), &widths, |_, cell| cell),
    )];
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
fn line(
    cells: &[String; COLUMNS],
    widths: &[usize],
    paint: impl Fn(usize, String) -> String,
) -> String {
    let shown = cells.iter().zip(widths).enumerate();
    let padded = shown.filter(|(_, (_, width))| **width > 0);
    let padded = padded.map(|(at, (cell, width))| paint(at, format!("{cell:width$}")));
    let text = padded.collect::<Vec<String>>().join("  ");
    text.trim_end().to_owned()
}

fn row(view: &MemberView, budget: &Budget) -> [String; COLUMNS] {
    let spec = &view.member.spec;
    let task = view.task.map(|task| format!("#{task}"));
    let cost = cost(view, budget).filter(|cost| *cost > Money::default());
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
        cost.map(|cost| cost.to_string()).unwrap_or_default(),
        details(view),
    ]
}

/// What has no column of its own.
fn details(view: &MemberView) -> String {
    let mut parts = Vec::new();
    parts.extend(
        view.holder
            .as_ref()
            .map(|holder| format!("process {}", holder.pid)),
    );
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
    parts.extend(token_text(tokens(view.live.as_ref())));
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
