//! The rows of the lists.

use super::text::fit;
use super::{Focus, Screen, inside};
use crate::one_line;
use crate::snapshot::{MemberRow, TaskRow};
use protocol::{RequestKind, TaskStatus, Timestamp, WaitingFor};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use rules::MemberState;
use std::time::Duration;

impl Screen {
    pub(super) fn member_lines(&self, area: Rect) -> Vec<Line<'_>> {
        let rows = &self.snapshot.members;
        if rows.is_empty() {
            return vec![Line::raw("no members yet: team-lead spawn NAME ROLE")];
        }
        let (_, height) = inside(area);
        let selected = rows
            .iter()
            .position(|row| Some(&row.name) == self.member.as_ref());
        // The selected row is always visible.
        let from = selected.map_or(0, |at| (at + 1).saturating_sub(height));
        let lines = rows.iter().enumerate().skip(from).take(height);
        let lines = lines.map(|(at, row)| {
            let is_selected = selected == Some(at) && self.focus == Focus::Members;
            self.member_line(row, is_selected)
        });
        lines.collect()
    }

    fn member_line(&self, row: &MemberRow, is_selected: bool) -> Line<'_> {
        let who = format!("{} ({})", row.name, row.role);
        let task = row.task.map_or_else(String::new, |id| format!("#{id}"));
        let text = format!(
            "{}{} {} {} {} {} {}{}{}",
            if is_selected { "> " } else { "  " },
            fit(&who, 16),
            fit(row.state.word(), 8),
            fit(&activity(row, self.now), 18),
            fit(&format!("{} unread", row.unread), 9),
            fit(&format!("{task} {}", tokens(row.tokens)), 8),
            row.todo
                .as_ref()
                .map_or_else(String::new, |todo| format!("{todo} ")),
            row.own_work
                .as_ref()
                .map_or_else(String::new, |work| format!("{work} ")),
            restarts(row),
        );
        let color = match row.state {
            MemberState::Working { .. } => Color::Green,
            MemberState::Waiting { .. } | MemberState::Starting { .. } => Color::Yellow,
            MemberState::Hung { .. }
            | MemberState::Failed { .. }
            | MemberState::GaveUp { .. }
            | MemberState::Dead { .. } => Color::Red,
            MemberState::Idle { .. } | MemberState::Shutdown => Color::Reset,
        };
        let style = self.colored(color);
        Line::styled(text, selected_style(style, is_selected))
    }

    pub(super) fn board_title(&self) -> String {
        let done = |row: &&TaskRow| row.status == TaskStatus::Completed;
        let done = self.snapshot.tasks.iter().filter(done).count();
        match self.snapshot.tasks.len() {
            0 => "Board".to_owned(),
            all => format!("Board: {done} of {all} done"),
        }
    }

    /// The tasks: those in progress first, then the pending and the completed ones.
    pub(super) fn task_lines(&self, area: Rect) -> Vec<Line<'_>> {
        let mut rows: Vec<&TaskRow> = self.snapshot.tasks.iter().collect();
        rows.sort_by_key(|row| match row.status {
            TaskStatus::InProgress => 0,
            TaskStatus::Pending => 1,
            TaskStatus::Completed => 2,
        });
        let (_, height) = inside(area);
        let lines = rows.into_iter().take(height).map(|row| {
            let mark = match row.status {
                TaskStatus::Completed => 'x',
                TaskStatus::InProgress => '>',
                TaskStatus::Pending if row.blocked => '-',
                TaskStatus::Pending => ' ',
            };
            let owner = row.owner.as_ref().map(|owner| format!(" @{owner}"));
            let owner = owner.unwrap_or_default();
            Line::raw(format!("[{mark}] #{}{owner} {}", row.id, row.subject))
        });
        lines.collect()
    }

    pub(super) fn request_lines(&self, area: Rect) -> Vec<Line<'_>> {
        let (_, height) = inside(area);
        let rows = &self.snapshot.requests;
        let selected = rows
            .iter()
            .position(|row| Some(&row.id) == self.request.as_ref());
        let from = selected.map_or(0, |at| (at + 1).saturating_sub(height));
        let lines = rows.iter().enumerate().skip(from).take(height);
        let lines = lines.map(|(at, row)| {
            let is_selected = self.focus == Focus::Requests && selected == Some(at);
            let sign = if is_selected { "> " } else { "  " };
            let what = match row.kind {
                RequestKind::Plan => format!("plan of {}", row.from),
                RequestKind::Shutdown => format!("{} should shut down", row.to),
                RequestKind::Permission => format!("{} asks to run a tool", row.from),
                RequestKind::Question => format!("{} asks a question", row.from),
            };
            let left = row.deadline.map(|deadline| deadline.since(self.now));
            let left = left.map(|left| format!(", {} left", duration(left)));
            let text = format!("{sign}{} {what}{}", row.id, left.unwrap_or_default());
            // What waits for a person stands out.
            let style = match row.kind.waits_for_person() {
                true => self.colored(Color::Yellow).add_modifier(Modifier::BOLD),
                false => Style::new(),
            };
            Line::styled(text, selected_style(style, is_selected))
        });
        lines.collect()
    }
}

const fn selected_style(style: Style, is_selected: bool) -> Style {
    match is_selected {
        true => style.add_modifier(Modifier::REVERSED),
        false => style,
    }
}

/// The activity of a member and its duration.
fn activity(row: &MemberRow, now: Timestamp) -> String {
    match &row.state {
        MemberState::Working { activity, since } => match activity {
            Some(activity) => {
                let name = one_line(&activity.name);
                format!("{name}, {}", duration(now.since(activity.since)))
            }
            None => duration(now.since(*since)),
        },
        MemberState::Waiting { what, since } => {
            let what = match what {
                Some(WaitingFor::Plan) => "plan",
                Some(WaitingFor::Permission) => "permission",
                Some(WaitingFor::Answer) => "answer",
                Some(WaitingFor::Background) => "background",
                Some(WaitingFor::RateLimit) => "rate limit",
                Some(WaitingFor::Server) => "model's server",
                Some(WaitingFor::Disk) => "disk",
                Some(WaitingFor::Budget) => "budget",
                Some(WaitingFor::Turn) => "turn",
                Some(WaitingFor::Tree) => "tree",
                None => "",
            };
            format!("{what} {}", duration(now.since(*since)))
        }
        MemberState::Idle { since } => duration(now.since(*since)),
        MemberState::Hung { silent_for, .. } => format!("silent for {}", duration(*silent_for)),
        MemberState::Failed { .. } | MemberState::GaveUp { .. } => {
            row.reason.clone().unwrap_or_default()
        }
        MemberState::Starting { .. } | MemberState::Dead { .. } | MemberState::Shutdown => {
            String::new()
        }
    }
}

/// A duration in its largest unit, in steps so that the screen changes seldom.
fn duration(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..60 => format!("{} s", seconds / 5 * 5),
        seconds @ 60..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86400),
    }
}

/// As in `restarted 2x`, if the member has been restarted.
fn restarts(row: &MemberRow) -> String {
    match row.incarnation.0.saturating_sub(1) {
        0 => String::new(),
        restarts => format!("restarted {restarts}x"),
    }
}

/// A rounded number of tokens.
fn tokens(tokens: u64) -> String {
    match tokens {
        0 => String::new(),
        1..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1000),
        _ => format!("{}M", tokens / 1_000_000),
    }
}
