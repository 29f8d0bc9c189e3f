//! The status of a team in aligned columns, for a terminal.

use super::{cost, state_text, token_text, tokens};
use crate::colour::Colour;
use crate::columns::{self, Cell, Column, Fit};
use clap::builder::styling::{AnsiColor, Style};
use processes::MemberView;
use protocol::{Budget, HostId, Money, TreeMode};
use rules::{MemberState, restarts_text};
use terminal_text::one_line;

const COLUMNS: [Column; 10] = [
    column("NAME", Fit::Text),
    column("ROLE", Fit::Text),
    column("HOST", Fit::Text),
    column("STATE", Fit::Text),
    column("UNREAD", Fit::Number),
    column("TASK", Fit::Number),
    column("TOKENS", Fit::Number),
    column("COST", Fit::Number),
    column("PROCESS", Fit::Number),
    column("", Fit::Details),
];

const fn column(heading: &'static str, fit: Fit) -> Column {
    Column { heading, fit }
}

/// A heading and one line for each member, none wider than `limit`.
pub(super) fn table(
    views: &[MemberView],
    budget: &Budget,
    limit: usize,
    colour: Colour,
) -> Vec<String> {
    let rows: Vec<_> = views.iter().map(|view| row(view, budget)).collect();
    columns::table(&COLUMNS, &rows, limit, colour)
}

fn row(view: &MemberView, budget: &Budget) -> [Cell; COLUMNS.len()] {
    let spec = &view.member.spec;
    let task = view.task.map(|task| format!("#{task}"));
    let cost = cost(view, budget).filter(|cost| *cost > Money::default());
    let holder = view.holder.as_ref();
    let tokens = token_text(tokens(view.live.as_ref())).unwrap_or_default();
    [
        Cell::plain(spec.name.as_str()),
        Cell::plain(one_line(&spec.role)),
        Cell::plain(view.member.host.as_ref().map_or("", HostId::as_str)),
        Cell::new(state_text(view), style_of(&view.state)),
        Cell::plain(match view.unread {
            0 => String::new(),
            unread => unread.to_string(),
        }),
        Cell::plain(task.unwrap_or_default()),
        Cell::plain(tokens.trim_end_matches(" tokens")),
        Cell::plain(cost.map(|cost| cost.to_string()).unwrap_or_default()),
        Cell::plain(holder.map_or_else(String::new, |holder| holder.pid.to_string())),
        Cell::plain(details(view)),
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
