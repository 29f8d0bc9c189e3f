//! The log: what the program reports about itself, for people and for tools.
//!
//! All crates write with `tracing`. A process that is a member writes to `members/<name>/log`; a
//! short command writes to standard error, if it was asked to. Only the crates of this program are
//! logged: a library below it might print what it sends, and with it a key.

mod format;
mod output;

use format::HumanFormat;
use output::LogOutput;
use protocol::Recipient;
use std::fmt;
use std::str::FromStr;
use teamdir::TeamDir;
use tracing::level_filters::LevelFilter;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

/// The crates whose events are logged.
const CRATES: [&str; 21] = [
    "agent",
    "bridge",
    "budget",
    "command",
    "config",
    "doctor",
    "lead",
    "llm",
    "member",
    "offline",
    "processes",
    "prompts",
    "protocol",
    "rules",
    "team",
    "team_lead",
    "team_tools",
    "teamdir",
    "teammate",
    "tools",
    "tui",
];
/// How much of a long text a line shows.
const EXCERPT: usize = 200;

/// How a process logs.
#[derive(Debug, Clone, Default)]
pub struct LogOptions {
    pub filter: LogFilter,
    pub format: LogFormat,
    /// Whether the lines go to standard output too.
    pub echo: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// One line per event: time, level if it is not `INFO`, text.
    #[default]
    Human,
    /// One JSON object per event.
    Json,
}

/// Why a text is no setting of the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogSettingError {
    #[error("{0:?} is not a log format: use human or json")]
    Format(String),
    #[error(
        "{text:?} is not a log filter ({reason}): use a level (error, warn, info, debug, trace, \
         off) or levels per crate, as in team=debug,llm=trace"
    )]
    Filter { text: String, reason: String },
}

impl FromStr for LogFormat {
    type Err = LogSettingError;

    fn from_str(text: &str) -> Result<Self, LogSettingError> {
        match text {
            "" | "human" => Ok(Self::Human),
            "json" => Ok(Self::Json),
            other => Err(LogSettingError::Format(other.to_owned())),
        }
    }
}

/// Which events are logged: a level, or levels per crate as in `team=debug,llm=trace`.
#[derive(Clone)]
pub struct LogFilter(Targets);

impl LogFilter {
    /// The filter of `-v`, given this many times.
    pub fn verbose(times: u8) -> Self {
        let level = match times {
            0 => LevelFilter::INFO,
            1 => LevelFilter::DEBUG,
            2.. => LevelFilter::TRACE,
        };
        Self(Targets::new().with_default(level))
    }
}

impl Default for LogFilter {
    fn default() -> Self {
        Self::verbose(0)
    }
}

impl FromStr for LogFilter {
    type Err = LogSettingError;

    fn from_str(text: &str) -> Result<Self, LogSettingError> {
        let explain = |reason: &dyn fmt::Display| LogSettingError::Filter {
            text: text.to_owned(),
            reason: reason.to_string(),
        };
        let targets = Targets::from_str(text).map_err(|error| explain(&error))?;
        for (target, _) in &targets {
            // Without a level, a misspelt level would be taken for a crate.
            if !is_own(target) {
                return Err(explain(&format!("{target} is no crate of this program")));
            }
        }
        Ok(Self(targets))
    }
}

impl fmt::Debug for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Logs to the file of a member from now on, in the whole process. A line that cannot be written is
/// lost, and nothing else is.
pub(crate) fn log_to_member(team: &TeamDir, owner: &Recipient, options: &LogOptions) {
    let output = LogOutput::file(team.open_log(owner).ok(), options.echo);
    start(subscriber(options, output));
}

/// Logs to standard error from now on, in the whole process.
pub fn log_to_stderr(options: &LogOptions) {
    start(subscriber(options, LogOutput::Stderr));
}

fn start(subscriber: impl Subscriber + Send + Sync) {
    // A process has one log: the first.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

fn subscriber(options: &LogOptions, output: LogOutput) -> impl Subscriber + Send + Sync {
    let filter = options.filter.0.clone().and(filter_fn(is_logged));
    Registry::default().with(layer(options.format, output).with_filter(filter))
}

fn layer<S>(format: LogFormat, output: LogOutput) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .log_internal_errors(false)
        .with_writer(output);
    match format {
        LogFormat::Human => layer.event_format(HumanFormat).boxed(),
        LogFormat::Json => layer.json().boxed(),
    }
}

fn is_logged(metadata: &Metadata<'_>) -> bool {
    is_own(metadata.target())
}

fn is_own(target: &str) -> bool {
    let root = target.split("::").next().unwrap_or_default();
    CRATES.contains(&root)
}

/// The start of a long text, on one line.
pub(crate) fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(EXCERPT).collect();
    if shown.len() < text.len() {
        shown.push_str(" ...");
    }
    shown.replace('\n', " ")
}

#[cfg(test)]
mod tests;
