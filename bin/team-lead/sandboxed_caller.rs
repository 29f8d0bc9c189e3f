//! Commands that a tool of a member runs, inside the sandbox of that member.
//!
//! There the team folder is read-only and other members' processes are out of reach. What would fail
//! half-way is refused here, with the tool that does it. This informs; the sandbox is what protects.

use crate::cli::{Args, Verb};
use crate::failure::{Failure, Kind};
use protocol::Incarnation;

/// What a command needs that a sandbox does not give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// It only reads.
    Nothing,
    /// It changes the team. A tool does the same, or nobody but a person and the lead may.
    Team(Option<&'static str>),
    /// It also starts or ends processes.
    Processes(Option<&'static str>),
}

/// The variable that a program has which is a member itself. It may change the team.
const MEMBER: &str = "TEAM_MEMBER";
/// Its incarnation.
const INCARNATION: &str = "TEAM_INCARNATION";
/// The mark of every command of a member.
const JOB: &str = "TEAM_JOB";

/// Refuses a command that cannot work here.
pub(crate) fn check(args: &Args) -> Result<(), Failure> {
    let level = std::env::var(tools::LEVEL_VARIABLE).unwrap_or_default();
    let is_member = std::env::var_os(MEMBER).is_some();
    if !matches!(level.as_str(), "full" | "landlock") {
        return match std::env::var_os(JOB) {
            Some(_) if !is_member => refuse_to_speak_for_the_user(&args.verb),
            Some(_) | None => Ok(()),
        };
    }
    let (what, tool) = match needs(&args.verb) {
        Needs::Nothing => return Ok(()),
        Needs::Team(_) if is_member => return Ok(()),
        Needs::Team(tool) => ("change the team", tool),
        Needs::Processes(tool) => ("start or end members", tool),
    };
    let instead = match tool {
        Some(tool) if !is_member => format!("use the tool {tool} instead"),
        Some(_) | None => "ask the lead, or a person outside".to_owned(),
    };
    let message = format!(
        "this command runs in the sandbox of a member (level {level}), where no command can {what}: \
         {instead}"
    );
    Err(Failure::new(Kind::Refused, message).hint("team-lead status"))
}

/// Refuses what would count as a word of the user, in a command of a model that no sandbox keeps from it.
/// One that hides whose command it is is not found: without a sandbox it may write any file anyway.
fn refuse_to_speak_for_the_user(verb: &Verb) -> Result<(), Failure> {
    let Needs::Team(Some(tool @ ("send_message" | "broadcast" | "plan_approval"))) = needs(verb)
    else {
        return Ok(());
    };
    let message = format!(
        "this is a command of a member, which does not speak for the user: use the tool {tool}"
    );
    Err(Failure::new(Kind::Refused, message).hint("team-lead status"))
}

/// The name and the incarnation of the member whose program runs this command, if one does.
pub(crate) fn member() -> Option<(String, Option<Incarnation>)> {
    let name = std::env::var(MEMBER).ok()?;
    let incarnation = std::env::var(INCARNATION).ok();
    let incarnation = incarnation.and_then(|number| number.parse().ok());
    Some((name, incarnation.map(Incarnation)))
}

fn needs(verb: &Verb) -> Needs {
    match verb {
        Verb::Spawn(_) => Needs::Processes(Some("spawn_teammate")),
        Verb::Shutdown(_) | Verb::Down(_) => Needs::Processes(Some("shutdown_request")),
        // Nobody but a person trusts a workspace.
        Verb::Run(_)
        | Verb::Up(_)
        | Verb::Kill(_)
        | Verb::Restart(_)
        | Verb::Trust(_)
        | Verb::Bridge(_)
        | Verb::Web(_) => Needs::Processes(None),
        Verb::Send(_) | Verb::Attach(_) => Needs::Team(Some("send_message")),
        Verb::Broadcast(_) => Needs::Team(Some("broadcast")),
        Verb::Approve(_) | Verb::Reject(_) => Needs::Team(Some("plan_approval")),
        // Only a person answers a question to a person.
        Verb::Answer(_) => Needs::Team(None),
        Verb::Inbox(command) => command.needs(),
        Verb::Task(command) => command.needs(),
        Verb::Notes(command) => command.needs(),
        Verb::Budget(command) => command.needs(),
        Verb::Limits(command) => command.needs(),
        Verb::Doctor(command) => command.needs(),
        Verb::Permissions(command) => command.needs(),
        Verb::Mcp(command) => command.needs(),
        Verb::Submit(_) => Needs::Team(Some("submit")),
        Verb::Submissions(command) if command.runs() => Needs::Team(None),
        Verb::Trees(command) if command.removes() => Needs::Team(None),
        Verb::Init(_) | Verb::Rm(_) | Verb::Rebase(_) | Verb::Land(_) | Verb::Clean(_) => {
            Needs::Team(None)
        }
        Verb::Status(_)
        | Verb::Submissions(_)
        | Verb::Trees(_)
        | Verb::Diff(_)
        | Verb::Requests(_)
        | Verb::Logs(_)
        | Verb::Wait(_)
        | Verb::Events(_)
        | Verb::Sessions(_)
        | Verb::Costs(_)
        | Verb::Config(_)
        | Verb::Prompt(_)
        | Verb::Watch(_)
        | Verb::Sandbox(_)
        | Verb::Teams(_)
        | Verb::Completions(_)
        | Verb::Man(_)
        | Verb::Version(_) => Needs::Nothing,
    }
}
