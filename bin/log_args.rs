//! The options of the log, which both programs have.

use member::{LogFilter, LogFormat, LogOptions};

#[derive(clap::Args)]
pub(crate) struct LogArgs {
    /// Which events are logged: a level, or levels per crate as in team=debug,llm=trace. A member
    /// logs to members/NAME/log in the team folder.
    #[arg(
        id = "log_filter",
        long = "log",
        global = true,
        value_name = "FILTER",
        env = "TEAM_LOG",
        hide_env_values = true,
        help_heading = "Log"
    )]
    pub(crate) filter: Option<LogFilter>,
    /// The format of the log: human or json.
    // A global argument shares its id with every verb: `task graph` has a `format` of its own.
    #[arg(
        id = "log_format",
        long = "log-format",
        global = true,
        value_name = "FORMAT",
        env = "TEAM_LOG_FORMAT",
        hide_env_values = true,
        help_heading = "Log"
    )]
    format: Option<LogFormat>,
    /// Log more: once is debug, twice is trace.
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Log")]
    pub(crate) verbose: u8,
}

impl LogArgs {
    /// How a member logs. With `echo` the lines go to standard output too.
    pub(crate) fn options(&self, echo: bool) -> LogOptions {
        let verbose = || LogFilter::verbose(self.verbose);
        LogOptions {
            filter: self.filter.clone().unwrap_or_else(verbose),
            format: self.format.unwrap_or_default(),
            echo,
        }
    }
}
