//! Starts teammates with the trust of the run.

use member::Clearance;
use processes::Programs;
use protocol::MemberSpec;
use std::sync::{Mutex, PoisonError};
use team_tools::Starter;
use teamdir::TeamDir;
use tools::ToolError;

/// The program for teammates, and what they are told of the user's trust.
#[derive(Debug)]
pub struct TrustedStarter {
    programs: Programs,
    clearance: Mutex<Clearance>,
}

impl TrustedStarter {
    #[must_use]
    pub fn new(programs: Programs, clearance: Clearance) -> Self {
        let clearance = Mutex::new(clearance);
        Self {
            programs,
            clearance,
        }
    }

    /// The program for a member that is known already.
    pub(crate) fn programs(&self) -> Programs {
        let clearance = self.clearance.lock();
        let clearance = clearance.unwrap_or_else(PoisonError::into_inner);
        Programs {
            variables: clearance.variables(),
            ..self.programs.clone()
        }
    }
}

impl Starter for TrustedStarter {
    fn programs_for(&self, team: &TeamDir, spec: &MemberSpec) -> Result<Programs, ToolError> {
        let clearance = self.clearance.lock();
        let mut clearance = clearance.unwrap_or_else(PoisonError::into_inner);
        // Sandbox and network are what the person has typed for this run; the rest a model may choose.
        let typed = MemberSpec {
            model: None,
            ..spec.clone()
        };
        // Without these the new process says what it was not allowed.
        let _ = clearance.allow(team, &typed);
        let _ = clearance.allow_for_this_run(team, spec);
        drop(clearance);
        Ok(self.programs())
    }
}
