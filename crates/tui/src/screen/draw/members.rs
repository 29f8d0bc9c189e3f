//! The members: who they are, what they do, and what they cost.

use super::table::{Cells, Column, Fit, Table};
use super::{Content, Screen, selected, visible};
use crate::one_line;
use crate::screen::Focus;
use crate::screen::clock::{clock, counts_since, elapsed};
use crate::screen::scroll::Window;
use crate::screen::waits_for_person;
use overview::{MemberRow, Spending};
use protocol::{Activity, HostId, Money, Timestamp, WaitingFor};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use rules::{MemberState, call_line};

/// The least width of the column that says what a member does now. It is a fifth of a wide table.
const LEAST_NOW: usize = 14;

const COLUMNS: [Column; 14] = [
    column("  NAME", Fit::Name, 0),
    column("ROLE", Fit::Name, 6),
    column("HOST", Fit::Name, 4),
    column("STATE", Fit::Text(8), 0),
    column("FOR", Fit::Number(7), 1),
    column("NOW", Fit::Rest, 0),
    column("PROGRESS", Fit::Text(32), 7),
    column("MAIL", Fit::Number(5), 2),
    column("TASK", Fit::Text(6), 3),
    column("COST", Fit::Number(17), 5),
    column("TOKENS", Fit::Number(13), 10),
    column("BRANCH", Fit::Name, 9),
    column("SUBMISSION", Fit::Text(18), 8),
    column("RESTARTED", Fit::Number(9), 11),
];

const fn column(heading: &'static str, fit: Fit, rank: u8) -> Column {
    Column { heading, fit, rank }
}

impl Screen {
    pub(super) fn members(&self, width: usize, height: usize) -> Content {
        let rows = &self.snapshot.members;
        let window = self.members_window(height);
        let title = match rows.len() {
            0 => "Members".to_owned(),
            all => format!("Members: {all}"),
        };
        if rows.is_empty() {
            let text = "no members yet: team-lead spawn NAME ROLE";
            return Content {
                title,
                headings: None,
                rows: vec![Line::raw(text)],
                window,
            };
        }
        let cells: Vec<Cells> = rows.iter().map(|row| self.member_cells(row)).collect();
        let table = Table::new(&COLUMNS, &cells, width, LEAST_NOW.max(width / 5));
        let lines = rows
            .iter()
            .zip(&cells)
            .map(|(row, cells)| selected(table.row(cells), self.is_selected(row)));
        Content {
            title,
            headings: Some(table.headings()),
            rows: visible(lines, window).collect(),
            window,
        }
    }

    /// The selected row is always visible.
    pub(in crate::screen) fn members_window(&self, height: usize) -> Window {
        let rows = &self.snapshot.members;
        let mut places = rows.iter();
        let selected = places.position(|row| Some(&row.name) == self.member.as_ref());
        let from = selected.map_or(0, |at| (at + 1).saturating_sub(height));
        Window::from_start(rows.len(), height, from)
    }

    fn is_selected(&self, row: &MemberRow) -> bool {
        self.focus == Focus::Members && Some(&row.name) == self.member.as_ref()
    }

    fn member_cells(&self, row: &MemberRow) -> Cells {
        let mark = if self.is_selected(row) { "> " } else { "  " };
        let style = self.state_style(&row.state);
        let count = |number: usize| match number {
            0 => String::new(),
            number => number.to_string(),
        };
        let task = row.task.map(|id| format!("#{id}"));
        let submission = row.submission.map(|(id, status)| format!("{id} {status}"));
        let restarts = row.incarnation.0.saturating_sub(1);
        let restarts = match restarts {
            0 => String::new(),
            restarts => format!("{restarts}x"),
        };
        let plain = Style::new();
        vec![
            (format!("{mark}{}", row.name), style),
            (row.role.clone(), plain),
            (
                row.host.as_ref().map(HostId::to_string).unwrap_or_default(),
                plain,
            ),
            (row.state.word().to_owned(), style),
            (duration(&row.state, self.now), style),
            (now_doing(row), style),
            (row.todo.clone().unwrap_or_default(), plain),
            (count(row.unread), plain),
            (task.unwrap_or_default(), plain),
            (cost(&row.spent), self.spending_style(&row.spent)),
            (token_text(&row.spent), self.spending_style(&row.spent)),
            (row.branch.clone().unwrap_or_default(), plain),
            (submission.unwrap_or_default(), plain),
            (restarts, plain),
        ]
    }

    fn state_style(&self, state: &MemberState) -> Style {
        match state {
            state if waits_for_person(state) => {
                self.colored(Color::Yellow).add_modifier(Modifier::BOLD)
            }
            MemberState::Working { .. } => self.colored(Color::Green),
            MemberState::Waiting { .. } | MemberState::Starting { .. } => {
                self.colored(Color::Yellow)
            }
            MemberState::Hung { .. }
            | MemberState::Failed { .. }
            | MemberState::GaveUp { .. }
            | MemberState::Dead { .. } => self.colored(Color::Red),
            MemberState::Idle { .. } => Style::new(),
            MemberState::Shutdown => Style::new().add_modifier(Modifier::DIM),
        }
    }

    /// A budget that is spent stands out, and one that is nearly spent too.
    pub(super) fn spending_style(&self, spent: &Spending) -> Style {
        let cost = spent
            .max_cost
            .map(|max| (spent.cost.as_dollars(), max.as_dollars()));
        let tokens = spent
            .max_tokens
            .map(|max| (spent.tokens as f64, max as f64));
        let reached = |part: f64| {
            let limits = [cost, tokens];
            let mut limits = limits.iter().flatten();
            limits.any(|(spent, max)| *spent >= max * part)
        };
        if reached(1.0) {
            return self.colored(Color::Red).add_modifier(Modifier::BOLD);
        }
        match reached(0.8) {
            true => self.colored(Color::Yellow),
            false => Style::new(),
        }
    }
}

/// How long a member works or waits.
fn duration(state: &MemberState, now: Timestamp) -> String {
    if let MemberState::Hung { silent_for, .. } = state {
        return clock(*silent_for);
    }
    let since = counts_since(state);
    since.map_or_else(String::new, |since| clock(elapsed(since, now)))
}

/// What a member does: its command, what it waits for, or why it does nothing.
fn now_doing(row: &MemberRow) -> String {
    let reason = row.reason.as_deref().unwrap_or_default();
    match &row.state {
        MemberState::Working { activity, .. } => {
            activity.as_ref().map(activity_text).unwrap_or_default()
        }
        MemberState::Hung { activity, .. } => match activity {
            Some(activity) => format!("silent in: {}", activity_text(activity)),
            None => "silent".to_owned(),
        },
        MemberState::Waiting { what, .. } => waiting_text(*what).to_owned(),
        MemberState::Failed { .. } | MemberState::GaveUp { .. } => reason.to_owned(),
        MemberState::Starting { .. }
        | MemberState::Idle { .. }
        | MemberState::Dead { .. }
        | MemberState::Shutdown => String::new(),
    }
}

fn activity_text(activity: &Activity) -> String {
    match activity.name.as_str() {
        "model" => "asks its model".to_owned(),
        name => one_line(&call_line(name, activity.argument.as_deref())),
    }
}

const fn waiting_text(what: Option<WaitingFor>) -> &'static str {
    match what {
        Some(WaitingFor::Plan) => "for you: its plan",
        Some(WaitingFor::Permission) => "for you: permission",
        Some(WaitingFor::Answer) => "for you: an answer",
        Some(WaitingFor::Background) => "for a command in the background",
        Some(WaitingFor::RateLimit) => "for its model: rate limit",
        Some(WaitingFor::Server) => "for its model: no answer",
        Some(WaitingFor::Disk) => "for the disk",
        Some(WaitingFor::Budget) => "for a higher budget",
        Some(WaitingFor::Turn) => "for its turn",
        Some(WaitingFor::Tree) => "for its tree",
        None => "",
    }
}

/// As in `$0.12 of $5.00`. Nothing for calls without a known price.
pub(super) fn cost(spent: &Spending) -> String {
    let limit = spent.max_cost.map(|max| format!(" of {}", money(max)));
    let is_known = spent.cost > Money::default() || limit.is_some();
    match (is_known, spent.has_unpriced) {
        (false, _) => String::new(),
        // Some calls cost more than is known.
        (true, true) => format!("{}+{}", money(spent.cost), limit.unwrap_or_default()),
        (true, false) => format!("{}{}", money(spent.cost), limit.unwrap_or_default()),
    }
}

/// As in `12k of 2M`.
pub(super) fn token_text(spent: &Spending) -> String {
    let limit = spent.max_tokens.map(|max| format!(" of {}", tokens(max)));
    match (spent.tokens, limit) {
        (0, None) => String::new(),
        (used, limit) => format!("{}{}", tokens(used), limit.unwrap_or_default()),
    }
}

fn money(amount: Money) -> String {
    let dollars = amount.as_dollars();
    match dollars {
        0.0 => "$0.00".to_owned(),
        small if small < 0.01 => "<$0.01".to_owned(),
        _ => format!("${dollars:.2}"),
    }
}

/// A rounded number of tokens.
fn tokens(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1000),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}
