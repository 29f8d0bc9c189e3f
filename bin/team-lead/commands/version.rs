//! `version`: which program this is.

use crate::cli::Args;
use crate::failure::Failure;
use crate::output::{print, print_json};
use protocol::FormatVersion;
use serde_json::json;

/// Show the version of the program and of the folder's format.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead version
  team-lead version --json | jq -r .version

With --json: {\"version\", \"format\"}.")]
pub(crate) struct Version {}

pub(crate) fn run(args: &Args, _command: &Version) -> Result<(), Failure> {
    let (version, format) = (env!("CARGO_PKG_VERSION"), FormatVersion::default());
    if args.json {
        return print_json(&json!({"version": version, "format": format}));
    }
    print(&format!(
        "team-lead {version} (folder format {})",
        json!(format)
    ))
}
