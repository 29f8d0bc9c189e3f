//! A member whose work is done by another program.
//!
//! This process holds the member's lock and watches the program. The program takes part through the
//! files alone, and finds folder, member and incarnation in its environment.

use crate::start_options::{Ended, TeammateError};
use command::shell_word;
use command::{End, Save, SaveWhen, Spec, Surroundings};
use member::MemberRuntime;
use processes::mark_of;
use protocol::{AgentName, Phase, Recipient};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tools::{CommandAccess, Confinement};
use tracing::warn;

/// A program that ends before this counts as not started, and the spawn fails with the reason.
const EARLY: Duration = Duration::from_millis(150);
/// How long a program has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

pub(crate) async fn run(
    runtime: &MemberRuntime,
    program: &str,
    confinement: &Confinement,
    termination: &CancellationToken,
) -> Result<Ended, TeammateError> {
    let layout = runtime.team().layout();
    let log = layout.member_log(runtime.owner());
    let outputs = layout.member_outputs(runtime.owner());
    let save = Save::new(outputs.join("program.txt"), SaveWhen::Large);
    let command = format!(
        "exec >>{} 2>&1\nexport TEAM_DIR={} TEAM_MEMBER={} TEAM_INCARNATION={}\n{program}",
        shell_word(&log.display().to_string()),
        shell_word(&layout.root().display().to_string()),
        runtime.owner(),
        runtime.incarnation(),
    );
    let mark = format!("{}.program", mark_of(runtime.team(), runtime.owner()));
    let mut spec = Spec::new(&command, runtime.folder(), &mark, save);
    spec.surroundings = surroundings(confinement, program, layout.root());
    spec.limit = Duration::MAX;
    spec.grace = GRACE;
    let running = command::run(spec, termination);
    tokio::pin!(running);
    let finished = tokio::select! {
        finished = &mut running => finished,
        () = tokio::time::sleep(EARLY) => {
            runtime.set_phase(Phase::Idle, None, None);
            runtime.announce();
            running.await
        }
    };
    for renamed in finished.iter().flat_map(|finished| &finished.renamed) {
        warn!("{renamed}");
    }
    let how = match finished.map(|finished| finished.end) {
        Ok(End::Exited(0)) => {
            runtime.close()?;
            return Ok(Ended::ProgramEnded);
        }
        Ok(_) if termination.is_cancelled() => {
            runtime.close()?;
            return Ok(Ended::Terminated);
        }
        Ok(End::Exited(code)) => format!("exited with {code}"),
        Ok(End::Signaled(signal)) => format!("was killed by signal {signal}"),
        Ok(End::TimedOut | End::Cancelled | End::Lost) => "was lost".to_owned(),
        Err(error) => format!("was not started: {error}"),
    };
    warn!("the program {how}");
    let name = match runtime.owner() {
        Recipient::Member(name) => name.clone(),
        Recipient::Lead => return Ok(Ended::ProgramEnded),
    };
    Err(TeammateError::Program {
        name: AgentName::clone(&name),
        how,
    })
}

/// The program takes part in the team, so that it may change the team folder. What its command line
/// names by an absolute path may be read. Without a sandbox it is a program of the user's like any
/// other, with the whole environment.
fn surroundings(confinement: &Confinement, program: &str, team: &Path) -> Surroundings {
    if !confinement.has_sandbox {
        return Surroundings::Inherited;
    }
    let mut confinement = confinement.clone();
    confinement.control.retain(|name| *name != teamdir::FOLDER);
    confinement.locks = |_| Vec::new();
    let words = program.split_whitespace();
    let words = words.map(|word| word.trim_matches(['\'', '"']));
    let named = words.map(PathBuf::from).filter(|path| path.is_absolute());
    confinement
        .programs
        .extend(named.filter(|path| path.is_file()));
    let mut surroundings = confinement.surroundings(CommandAccess::Full);
    // Around a tree of its own, which is inside of it, the team folder has to be listed.
    if let Surroundings::Sandbox { description, .. } = &mut surroundings
        && let Ok(team) = team.canonicalize()
        && !team.starts_with(&confinement.workspace)
    {
        description.writable.push(team);
    }
    surroundings
}
