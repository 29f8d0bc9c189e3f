//! The line above the prompt: what waits, the model, its context, the cost, the team, the folder.

use super::super::colour::Style;
use super::spinner::short;
use super::width::{Span, columns};

/// What the line shows. What is not known yet is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Status {
    /// How many requests wait for the person.
    pub(crate) waiting: usize,
    /// The members at work.
    pub(crate) working: Vec<String>,
    /// All members, for completion.
    pub(crate) members: Vec<String>,
    /// The ids of the requests that wait for the person, for completion.
    pub(crate) requests: Vec<String>,
    /// The members that they are from.
    pub(crate) asking: Vec<String>,
    /// The numbers of the newest submissions, for completion.
    pub(crate) submissions: Vec<String>,
    /// What the team has spent, with its currency.
    pub(crate) cost: Option<String>,
}

/// What the lead works with: it seldom changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkInfo {
    pub(crate) model: String,
    pub(crate) folder: String,
    /// How many tokens the model's window holds.
    pub(crate) window: u64,
}

/// The line, of this many columns.
pub(crate) fn line(
    work: &WorkInfo,
    status: &Status,
    context: Option<u64>,
    width: usize,
) -> Vec<Span> {
    let dim = |text: String| Span::new(Style::Dim, text);
    let mut parts = Vec::new();
    if status.waiting > 0 {
        let text = match status.waiting {
            1 => "1 request waits for you".to_owned(),
            count => format!("{count} requests wait for you"),
        };
        parts.push(Span::new(Style::Attention, text));
    }
    parts.push(dim(work.model.clone()));
    if let Some(tokens) = context {
        let percent = match work.window {
            0 => String::new(),
            window => format!(" ({}%)", (tokens * 100).div_ceil(window)),
        };
        parts.push(dim(format!("context {}{percent}", short(tokens))));
    }
    parts.extend(status.cost.clone().map(dim));
    if !status.members.is_empty() {
        let (working, all) = (status.working.len(), status.members.len());
        parts.push(dim(format!("{working} of {all} at work")));
    }
    parts.push(dim(work.folder.clone()));
    let mut spans = vec![dim("──".to_owned())];
    let mut taken = 2;
    for part in parts.into_iter().filter(|part| !part.text.is_empty()) {
        let wide = columns(&part.text) + 2;
        // What does not fit is left out, and what is behind it may fit.
        if taken + wide < width {
            taken += wide;
            spans.extend([Span::plain(" "), part, Span::plain(" ")]);
        }
    }
    spans.push(dim("─".repeat(width.saturating_sub(taken))));
    spans
}

#[cfg(test)]
mod tests {
    use super::super::super::colour::Colour;
    use super::super::width::paint;
    use super::*;

    #[test]
    fn what_waits_comes_first_and_what_does_not_fit_is_left_out() {
        let work = WorkInfo {
            model: "anthropic:x".to_owned(),
            folder: "~/project".to_owned(),
            window: 1_000,
        };
        let status = Status {
            waiting: 1,
            working: vec!["alice".to_owned()],
            members: vec!["alice".to_owned(), "bob".to_owned()],
            cost: Some("$0.12".to_owned()),
            ..Status::default()
        };
        let shown = |width| {
            let spans = line(&work, &status, Some(335), width);
            paint(&spans, Colour::Off)
        };
        assert_eq!(
            shown(100),
            "── 1 request waits for you  anthropic:x  context 335 (34%)  $0.12  1 of 2 at work  \
             ~/project ───────"
        );
        assert_eq!(shown(40), "── 1 request waits for you  $0.12 ──────");
        for width in [20, 40, 80, 200] {
            assert_eq!(columns(&shown(width)), width);
        }
    }
}
