//! `sessions`: the lead's conversations.

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::output::{print, print_json};
use anyhow::Context;
use catalogue::Catalogue;
use member::{Session, SessionError};
use protocol::{Money, SessionMark};
use serde_json::{Value, json};
use teamdir::TeamDir;
use terminal_text::one_line;

/// How many characters of what was said first are shown.
const FIRST_WORDS: usize = 60;

/// List the lead's conversations.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead sessions
  team-lead run --resume
  team-lead run --resume=1a2b3c4d

Each `team-lead run` without --resume begins a session, and so does /clear. The current one, marked with *, is
what `team-lead run --resume` continues; an id, or enough of its beginning, names another one.
`team-lead clean --older-than 30d` removes those that were left long ago, but never the current one.

With --json: {\"sessions\": [{\"session\", \"is_current\", \"started\", \"last\", \"model\", \"tokens\", \"cost\" or null,
\"first_words\"}]}, the current one last; times are seconds since 1970.")]
pub(crate) struct Sessions {}

pub(crate) fn run(team: &TeamDir, args: &Args, _command: &Sessions) -> Result<(), Failure> {
    let sessions = member::sessions(team).context("cannot read the lead's sessions")?;
    let prices = member::load_settings(team.workspace())?.config.catalogue();
    if args.json {
        let sessions: Vec<Value> = sessions.iter().map(|s| object(s, &prices)).collect();
        return print_json(&json!({ "sessions": sessions }));
    }
    if sessions.is_empty() {
        args.note("The lead has had no conversation yet; begin one with: team-lead run");
        return Ok(());
    }
    let mut rows = vec![
        [
            "  SESSION",
            "STARTED (UTC)",
            "LAST (UTC)",
            "TOKENS",
            "COST",
            "FIRST WORDS",
        ]
        .map(str::to_owned),
    ];
    rows.extend(sessions.iter().map(|session| row(session, &prices)));
    print(&table(&rows))
}

/// What it cost, if the prices of all its models are known.
fn cost(session: &SessionMark, prices: &Catalogue) -> Option<Money> {
    session
        .models
        .iter()
        .try_fold(Money::default(), |sum, used| {
            if used.usage.calls == 0 {
                return Some(sum);
            }
            let price = prices.price(&used.model)?;
            let usage = llm::Usage {
                input: used.usage.input,
                output: used.usage.output,
                cache_read: used.usage.cache_read,
                cache_write: used.usage.cache_write,
                ..llm::Usage::default()
            };
            Some(sum.plus(price.cost(&usage)))
        })
}

fn row(session: &Session, prices: &Catalogue) -> [String; 6] {
    let (header, mark) = (&session.header, &session.header.session);
    let cost = cost(mark, prices).map(|cost| cost.to_string());
    let words = one_line(&header.first_words);
    let mut words: String = words.chars().take(FIRST_WORDS).collect();
    if header.first_words.chars().count() > FIRST_WORDS {
        words.push('…');
    }
    let current = if session.is_current { '*' } else { ' ' };
    [
        format!("{current} {}", mark.id),
        mark.started.to_minute(),
        header.last.to_minute(),
        mark.tokens().to_string(),
        cost.unwrap_or_else(|| "?".to_owned()),
        words,
    ]
}

fn table(rows: &[[String; 6]]) -> String {
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let (id, started, last, tokens, cost) = (width(0), width(1), width(2), width(3), width(4));
    let lines = rows.iter().map(|[a, b, c, d, e, words]| {
        let line =
            format!("{a:<id$}  {b:<started$}  {c:<last$}  {d:>tokens$}  {e:>cost$}  {words}");
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn object(session: &Session, prices: &Catalogue) -> Value {
    let (header, mark) = (&session.header, &session.header.session);
    json!({
        "session": mark.id, "is_current": session.is_current, "started": mark.started,
        "last": header.last, "model": mark.model(), "tokens": mark.tokens(),
        "cost": cost(mark, prices), "first_words": header.first_words,
    })
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        let message = error.to_string();
        match error {
            SessionError::Unknown { .. } => {
                Self::new(Kind::UnknownSession, message).hint("team-lead sessions")
            }
            SessionError::Ambiguous { .. } | SessionError::Unreadable(_) => {
                Self::new(Kind::Usage, message).hint("team-lead sessions")
            }
            SessionError::File(_) => Self::failed(message),
        }
    }
}
