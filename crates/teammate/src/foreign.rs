//! A member whose work is done by another program.
//!
//! This process holds the member's lock and watches the program. The program takes part through the
//! files alone, and finds folder, member and incarnation in its environment.

use crate::start_options::{Ended, TeammateError};
use command::{End, Save, SaveWhen, Spec};
use member::MemberRuntime;
use protocol::{AgentName, Phase, Recipient};
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// A program that ends before this counts as not started, and the spawn fails with the reason.
const EARLY: Duration = Duration::from_millis(150);
/// How long a program has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

pub(crate) async fn run(
    runtime: &MemberRuntime,
    program: &str,
    mark: &str,
    termination: &CancellationToken,
) -> Result<Ended, TeammateError> {
    let layout = runtime.team().layout();
    let log = layout.member_log(runtime.owner());
    let outputs = layout.member_outputs(runtime.owner());
    let save = Save::new(outputs.join("program.txt"), SaveWhen::Large);
    let command = format!(
        "exec >>{} 2>&1\nexport TEAM_DIR={} TEAM_MEMBER={} TEAM_INCARNATION={}\n{program}",
        quoted(&log),
        quoted(layout.root()),
        runtime.owner(),
        runtime.incarnation(),
    );
    let mark = format!("{mark}.program");
    let mut spec = Spec::new(&command, runtime.team().workspace(), &mark, save);
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

/// A path as one word for a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    format!("'{}'", text.replace('\'', r"'\''"))
}
