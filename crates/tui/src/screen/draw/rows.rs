//! The lines of the lists.

use super::text::fit;
use super::{Focus, Screen, inside};
use crate::harmless::harmless;
use crate::look::{MemberRow, TaskRow};
use protocol::{RequestKind, TaskStatus, Timestamp, WaitingFor};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use rules::MemberState;
use std::time::Duration;

impl Screen {
    pub(super) fn member_lines(&self, area: Rect) -> Vec<Line<'_>> {
        let rows = &self.look.members;
        if rows.is_empty() {
            return vec![Line::raw("nobody yet: team-lead spawn NAME ROLE")];
        }
        let (_, height) = inside(area);
        let marked = rows
            .iter()
            .position(|row| Some(&row.name) == self.member.as_ref());
        // The marked line stays in sight however many there are.
        let from = marked.map_or(0, |at| (at + 1).saturating_sub(height));
        let lines = rows.iter().enumerate().skip(from).take(height);
        let lines = lines.map(|(at, row)| {
            let is_marked = marked == Some(at) && self.focus == Focus::Members;
            self.member_line(row, is_marked)
        });
        lines.collect()
    }

    fn member_line(&self, row: &MemberRow, is_marked: bool) -> Line<'_> {
        let who = format!("{} ({})", row.name, row.role);
        let task = row.task.map_or_else(String::new, |id| format!("#{id}"));
        let text = format!(
            "{}{} {} {} {} {} {}",
            if is_marked { "> " } else { "  " },
            fit(&who, 18),
            fit(row.state.word(), 8),
            fit(&doing(row, self.now), 22),
            fit(&format!("life {}", row.incarnation), 7),
            fit(&format!("{} unread", row.unread), 9),
            fit(&format!("{task} {}", tokens(row.tokens)), 8),
        );
        let color = match row.state {
            MemberState::Working { .. } => Color::Green,
            MemberState::Waiting { .. } | MemberState::Starting { .. } => Color::Yellow,
            MemberState::Hung { .. } | MemberState::Failed { .. } | MemberState::Dead { .. } => {
                Color::Red
            }
            MemberState::Idle { .. } | MemberState::Shutdown => Color::Reset,
        };
        let style = self.colored(color);
        Line::styled(text, marked_style(style, is_marked))
    }

    pub(super) fn board_title(&self) -> String {
        let done = |row: &&TaskRow| row.status == TaskStatus::Completed;
        let done = self.look.tasks.iter().filter(done).count();
        match self.look.tasks.len() {
            0 => "Board".to_owned(),
            all => format!("Board: {done} of {all} done"),
        }
    }

    /// The tasks: what is being done first, then what is open, then what is done.
    pub(super) fn task_lines(&self, area: Rect) -> Vec<Line<'_>> {
        let mut rows: Vec<&TaskRow> = self.look.tasks.iter().collect();
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
        let rows = &self.look.requests;
        let marked = rows
            .iter()
            .position(|row| Some(&row.id) == self.request.as_ref());
        let from = marked.map_or(0, |at| (at + 1).saturating_sub(height));
        let lines = rows.iter().enumerate().skip(from).take(height);
        let lines = lines.map(|(at, row)| {
            let is_marked = self.focus == Focus::Requests && marked == Some(at);
            let sign = if is_marked { "> " } else { "  " };
            let what = match row.kind {
                RequestKind::Plan => format!("plan of {}", row.from),
                RequestKind::Shutdown => format!("{} should end", row.to),
            };
            let left = row.deadline.map(|deadline| deadline.since(self.now));
            let left = left.map(|left| format!(", {} left", span(left)));
            let text = format!("{sign}{} {what}{}", row.id, left.unwrap_or_default());
            Line::styled(text, marked_style(Style::new(), is_marked))
        });
        lines.collect()
    }
}

const fn marked_style(style: Style, is_marked: bool) -> Style {
    match is_marked {
        true => style.add_modifier(Modifier::REVERSED),
        false => style,
    }
}

/// What a member is doing, and for how long.
fn doing(row: &MemberRow, now: Timestamp) -> String {
    let reason = |words: &str| row.reason.clone().unwrap_or_else(|| words.to_owned());
    match &row.state {
        MemberState::Working { activity, since } => match activity {
            Some(activity) => {
                let name = harmless(&activity.name);
                format!("{name}, {}", span(now.since(activity.since)))
            }
            None => span(now.since(*since)),
        },
        MemberState::Waiting { what, since } => {
            let what = match what {
                Some(WaitingFor::Plan) => "plan",
                Some(WaitingFor::Background) => "background",
                Some(WaitingFor::RateLimit) => "rate limit",
                Some(WaitingFor::Budget) => "budget",
                Some(WaitingFor::Turn) => "turn",
                None => "",
            };
            format!("{what} {}", span(now.since(*since)))
        }
        MemberState::Idle { since } => span(now.since(*since)),
        MemberState::Hung { silent_for, .. } => format!("silent for {}", span(*silent_for)),
        MemberState::Failed { .. } => reason(""),
        MemberState::Starting { .. } | MemberState::Dead { .. } | MemberState::Shutdown => {
            String::new()
        }
    }
}

/// A span by its largest unit, in steps that make a screen change seldom.
fn span(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..60 => format!("{} s", seconds / 5 * 5),
        seconds @ 60..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86400),
    }
}

/// A number of tokens as people read it.
fn tokens(tokens: u64) -> String {
    match tokens {
        0 => String::new(),
        1..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1000),
        _ => format!("{}M", tokens / 1_000_000),
    }
}
