//! The options of a member's sandbox, which several commands have.

use protocol::{NetworkSetting, SandboxMode};

#[derive(clap::Args)]
pub(crate) struct SandboxArgs {
    /// Whether its commands run in a sandbox: auto (the best that the machine has), required (level full,
    /// or it does not start) or off.
    #[arg(long, value_name = "MODE")]
    pub(crate) sandbox: Option<SandboxMode>,
    /// What its commands reach: off, on, or hosts separated by commas.
    #[arg(long, value_name = "ACCESS")]
    pub(crate) network: Option<NetworkSetting>,
}
