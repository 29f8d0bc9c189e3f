//! The options of how a model is asked, which several commands have.

use protocol::{Effort, Temperature, Thinking, Tuning};
use std::num::NonZeroU32;
use std::str::FromStr;

#[derive(clap::Args)]
pub(crate) struct TuningArgs {
    /// The most tokens of one reply, thoughts included.
    #[arg(long, value_name = "N")]
    max_output: Option<NonZeroU32>,
    /// How much work the model puts in: none, minimal, low, medium, high, xhigh or max.
    #[arg(long, value_name = "LEVEL", value_parser = Effort::from_str)]
    effort: Option<Effort>,
    /// How it thinks: adaptive, off, or the most tokens of a thought.
    #[arg(long, value_name = "HOW", value_parser = Thinking::from_str)]
    thinking: Option<Thinking>,
    /// How random its words are, from 0 to 2. Newer models refuse it.
    #[arg(long, value_name = "T")]
    temperature: Option<Temperature>,
    /// Let it search and read the web with the tools of its provider, where that has them.
    #[arg(long)]
    web: bool,
}

impl TuningArgs {
    pub(crate) fn web(&self) -> Option<bool> {
        self.web.then_some(true)
    }

    pub(crate) fn tuning(&self) -> Tuning {
        Tuning {
            max_output: self.max_output.map(NonZeroU32::get),
            effort: self.effort.clone(),
            thinking: self.thinking.clone(),
            temperature: self.temperature,
        }
    }
}
