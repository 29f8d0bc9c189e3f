//! The options of a member's sandbox, which several commands have.

use protocol::{NetworkSetting, SandboxMode};
use std::str::FromStr;

#[derive(clap::Args)]
pub(crate) struct SandboxArgs {
    /// Whether its commands run in a sandbox: auto (the best that the machine has), required (level full,
    /// or it does not start) or off.
    // Named, because clap would take the conversion of stored words, which knows no wrong ones.
    #[arg(long, value_name = "MODE", value_parser = SandboxMode::from_str)]
    pub(crate) sandbox: Option<SandboxMode>,
    /// What its commands reach: off, on, or hosts separated by commas.
    #[arg(long, value_name = "ACCESS")]
    pub(crate) network: Option<NetworkSetting>,
}
