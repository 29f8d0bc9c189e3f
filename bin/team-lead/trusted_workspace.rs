//! The workspace of a command that starts members: what it says must be trusted.

use crate::cli::{Args, existing_team, options};
use crate::failure::{Failure, Kind};
use crate::output::print_stderr;
use member::{Clearance, TrustCheck, Untrusted, WorkspaceSettings};
use nix::sys::termios::{FlushArg, tcflush};
use processes::Programs;
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use teamdir::TeamDir;
use terminal_text::one_line;

/// The option of all commands that start members.
#[derive(Default, clap::Args)]
pub(crate) struct TrustArgs {
    /// Trust what the workspace says, for this run only. See `team-lead trust --help`.
    #[arg(long)]
    trust: bool,
}

impl TrustArgs {
    pub(crate) const fn is_given(&self) -> bool {
        self.trust
    }
}

/// A workspace that was read and not yet judged.
pub(crate) struct UncheckedWorkspace {
    pub(crate) workspace: PathBuf,
    team: Option<TeamDir>,
    pub(crate) settings: WorkspaceSettings,
}

/// A workspace in which members may be started.
pub(crate) struct TrustedWorkspace {
    pub(crate) team: TeamDir,
    pub(crate) settings: WorkspaceSettings,
    pub(crate) clearance: Clearance,
}

/// A check of what is set, once it is trusted.
pub(crate) type SettingsCheck<'a> = dyn Fn(&WorkspaceSettings) -> Result<(), Failure> + 'a;

impl UncheckedWorkspace {
    /// Reads the files of the selected workspace. Creates nothing.
    pub(crate) fn find(args: &Args) -> Result<Self, Failure> {
        let (workspace, team) = existing_team(args)?;
        let settings = member::load_settings(&workspace)?;
        Ok(Self {
            workspace,
            team,
            settings,
        })
    }

    /// The path of the workspace, for people and programs.
    pub(crate) fn workspace(&self) -> String {
        self.workspace.display().to_string()
    }

    /// What the workspace says, compared with what the user has trusted.
    pub(crate) fn check(&self) -> Result<TrustCheck, Failure> {
        let team = self.team.as_ref();
        Ok(TrustCheck::of_workspace(
            &self.workspace,
            &self.settings,
            team,
        )?)
    }

    /// Asks the user if that is needed, creates the team if there is none, and applies the budget and
    /// the limits of the configuration to it.
    pub(crate) fn into_trusted(
        self,
        args: &Args,
        trust: &TrustArgs,
    ) -> Result<TrustedWorkspace, Failure> {
        self.into_trusted_if(args, trust, &|_| Ok(()))
    }

    /// The same if a check of the settings succeeds. Otherwise no team is created.
    pub(crate) fn into_trusted_if(
        mut self,
        args: &Args,
        trust: &TrustArgs,
        check_settings: &SettingsCheck<'_>,
    ) -> Result<TrustedWorkspace, Failure> {
        let check = self.check()?;
        let cleared = match trust.trust {
            true => Cleared::Already(check.clearance_for_one_run()),
            false => clear(args, &check)?,
        };
        let mut clearance = match cleared {
            Cleared::Already(clearance) => clearance,
            // Somebody may have changed the workspace while the person read.
            Cleared::ByAnswer => {
                return Self::find(args)?.into_trusted_if(args, trust, check_settings);
            }
        };
        self.settings.variables.trust_file();
        check_settings(&self.settings)?;
        let team = match self.team.take() {
            Some(team) => team,
            None => {
                let created = member::create_team(&self.workspace, options()?)?;
                if !created.is_new {
                    // Somebody else made it since, and it is judged like any other.
                    self.team = Some(created.team);
                    return self.into_trusted_if(args, trust, check_settings);
                }
                if let Some(error) = created.not_recorded {
                    args.note(&not_recorded(&error.to_string()));
                    clearance.unrecorded_team(&created.team);
                }
                member::remember_team(&self.workspace);
                created.team
            }
        };
        config::apply(&team, &self.settings.config)?;
        Ok(TrustedWorkspace {
            team,
            settings: self.settings,
            clearance,
        })
    }
}

impl TrustedWorkspace {
    /// The programs for the members that are started here.
    pub(crate) fn with_clearance(&self, programs: Programs) -> Programs {
        Programs {
            variables: self.clearance.variables(),
            ..programs
        }
    }
}

/// The warning that a team cannot be recognized later.
pub(crate) fn not_recorded(cause: &str) -> String {
    format!(
        "warning: it cannot be recorded that this team is yours, so `spawn`, `restart`, `up` and `run` will \
         ask, or need --trust: {cause}"
    )
}

/// How the permission to start members came about.
enum Cleared {
    /// There was nothing to ask.
    Already(Clearance),
    /// The user has said yes, which is recorded.
    ByAnswer,
}

/// The permission to start members: there is nothing to ask, or the user says yes.
fn clear(args: &Args, check: &TrustCheck) -> Result<Cleared, Failure> {
    let untrusted = match check.require_trust() {
        Ok(clearance) => return Ok(Cleared::Already(clearance)),
        Err(untrusted) => untrusted,
    };
    if !can_ask(args) {
        return Err(Failure::untrusted(args, untrusted.to_string()));
    }
    if !ask(&untrusted)? {
        let message = "the workspace is not trusted, so nothing was started";
        return Err(Failure::untrusted(args, message));
    }
    match check.trust() {
        Ok(_) => Ok(Cleared::ByAnswer),
        Err(error) => {
            args.note(&format!(
                "warning: your answer counts for this run only: {error}"
            ));
            Ok(Cleared::Already(check.clearance_for_one_run()))
        }
    }
}

/// Whether a person can be asked.
pub(crate) fn can_ask(args: &Args) -> bool {
    !args.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a person the one question.
pub(crate) fn ask(untrusted: &Untrusted) -> Result<bool, Failure> {
    let Untrusted { workspace, verdict } = untrusted;
    let workspace = workspace.display().to_string();
    let workspace = one_line(&workspace);
    print_stderr(&match verdict.was_trusted {
        true => format!("What you have trusted in {workspace} has changed:"),
        false => {
            format!("What {workspace} says runs code, moves a key, or decides what members may do:")
        }
    });
    print_stderr(&verdict.lines().join("\n"));
    let failed = |error: std::io::Error| {
        Failure::new(Kind::Failed, format!("cannot read your answer: {error}"))
    };
    let mut screen = std::io::stderr();
    write!(screen, "Trust it? [y/N] ")
        .and_then(|()| screen.flush())
        .map_err(failed)?;
    // What was typed before the question is no answer to it.
    let _ = tcflush(std::io::stdin(), FlushArg::TCIFLUSH);
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(failed)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
