//! Whether a workspace is trusted, and what the processes of its members are told about that.

use crate::workspace::{WorkspaceSettings, trust_store};
use protocol::{AgentName, Member, MemberSpec};
use std::io;
use std::path::{Path, PathBuf};
use teamdir::{RosterError, TeamDir};
use trust::{
    Facts, FolderFacts, FolderId, GRANT_VARIABLE, Grant, Risk, RiskySetting, RiskySettings, Store,
    StoreError, Verdict, judge,
};

/// Why it cannot be said whether a workspace is trusted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error("cannot look at {}: {cause}", path.display())]
    Folder { path: PathBuf, cause: io::Error },
}

/// A workspace says things that its user has not trusted.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", text(workspace, verdict))]
pub struct Untrusted {
    pub workspace: PathBuf,
    pub verdict: Verdict,
}

fn text(workspace: &Path, verdict: &Verdict) -> String {
    let workspace = workspace.display();
    let what = match verdict.was_trusted {
        true => "what you have trusted in it has changed",
        false => "what it says runs code, moves a key, or decides what members may do",
    };
    let lines = verdict.lines().join("\n");
    format!("the workspace {workspace} is not trusted: {what}:\n{lines}")
}

/// What a workspace says, and what of it the user has not trusted.
#[derive(Debug, Clone)]
pub struct TrustCheck {
    store: Store,
    workspace: PathBuf,
    facts: Facts,
    verdict: Verdict,
}

/// The permission to start members in a workspace.
#[derive(Debug, Clone)]
pub struct Clearance {
    store: Store,
    grant: Grant,
    recorded: Recorded,
}

/// How much of what is trusted is recorded. The processes of members read the records; what is not
/// recorded they get as a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recorded {
    Everything,
    /// Something could not be recorded, or is not to be.
    Part,
    /// Nothing, and nothing is to be: the user trusts the workspace for one run.
    Nothing,
}

impl TrustCheck {
    /// Compares what the workspace and the whole team say with the user's records.
    pub fn of_workspace(
        workspace: &Path,
        settings: &WorkspaceSettings,
        team: Option<&TeamDir>,
    ) -> Result<Self, TrustError> {
        Self::of(workspace, settings, team, |_| true, None)
    }

    /// The same for the process of one member, which obeys the files of the workspace and its own
    /// entry in the roster. Whoever started the process may have granted what is not recorded.
    pub fn of_member(
        team: &TeamDir,
        settings: &WorkspaceSettings,
        name: &AgentName,
    ) -> Result<Self, TrustError> {
        let grant = std::env::var(GRANT_VARIABLE).ok();
        let grant = grant.and_then(|grant| grant.parse().ok());
        let is_it = |member: &Member| member.spec.name.same_as(name);
        Self::of(
            team.workspace(),
            settings,
            Some(team),
            is_it,
            grant.as_ref(),
        )
    }

    fn of(
        workspace: &Path,
        settings: &WorkspaceSettings,
        team: Option<&TeamDir>,
        counts: impl Fn(&Member) -> bool,
        grant: Option<&Grant>,
    ) -> Result<Self, TrustError> {
        let facts = Facts {
            files: settings.config.risky_settings(&settings.variables),
            folder: team.map(|team| folder_facts(team, counts)).transpose()?,
        };
        let store = trust_store();
        // A record that cannot be read trusts nothing. Whoever then wants to trust learns why.
        let record = || store.record(workspace).unwrap_or_default();
        let mut verdict = judge(&facts, &record(), grant);
        let is_folder = |setting: &RiskySetting| setting.risk == Risk::Folder;
        // Another process may have made the folder and be about to record it.
        if verdict.added.iter().any(is_folder) && store.wait_for_creation(workspace).is_ok() {
            verdict = judge(&facts, &record(), grant);
        }
        Ok(Self {
            store,
            workspace: workspace.to_path_buf(),
            facts,
            verdict,
        })
    }

    pub const fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// The permission to start members, if everything is trusted.
    pub fn require_trust(&self) -> Result<Clearance, Untrusted> {
        if self.verdict.is_trusted() {
            return Ok(self.clearance());
        }
        Err(Untrusted {
            workspace: self.workspace.clone(),
            verdict: self.verdict.clone(),
        })
    }

    /// All settings that need trust, whether trusted or not.
    pub fn risky_settings(&self) -> Vec<&RiskySetting> {
        let folder = self.facts.folder.iter();
        let folder = folder.flat_map(|folder| folder.settings.iter());
        self.facts.files.iter().chain(folder).collect()
    }

    /// Records that the user trusts everything that was found.
    pub fn trust(&self) -> Result<Clearance, StoreError> {
        self.store.trust(&self.workspace, &self.facts)?;
        Ok(self.clearance())
    }

    /// Forgets the workspace. Returns whether anything was known of it.
    pub fn revoke(&self) -> Result<bool, StoreError> {
        self.store.revoke(&self.workspace)
    }

    fn clearance(&self) -> Clearance {
        Clearance {
            store: self.store.clone(),
            grant: Grant::of(&self.facts),
            recorded: Recorded::Everything,
        }
    }

    /// The permission to start members, of which nothing is recorded.
    pub fn clearance_for_one_run(&self) -> Clearance {
        Clearance {
            recorded: Recorded::Nothing,
            ..self.clearance()
        }
    }
}

impl Clearance {
    /// The team was created and could not be recorded.
    pub fn unrecorded_team(&mut self, team: &TeamDir) {
        self.require_grant();
        if let Ok(id) = FolderId::of(team.layout().root()) {
            self.grant = self.grant.clone().in_folder(id);
        }
    }

    /// Trusts what the user has typed for a member: it is about to stand in the roster.
    pub fn allow(&mut self, team: &TeamDir, typed: &MemberSpec) -> Result<(), TrustError> {
        self.allow_settings(team, &settings_of(team, typed))
    }

    /// The same for the model that the user has typed for all members that are started.
    pub fn allow_model(&mut self, team: &TeamDir, typed: &str) -> Result<(), TrustError> {
        let model = risky_model(team, Some(typed));
        self.allow_settings(team, model.as_slice())
    }

    /// Trusts what a model has chosen for a member, while this process runs: whoever trusts a model to
    /// run commands trusts it to choose recorded ones, but nobody has typed them.
    pub fn allow_for_this_run(
        &mut self,
        team: &TeamDir,
        chosen: &MemberSpec,
    ) -> Result<(), TrustError> {
        let settings = settings_of(team, chosen);
        if !settings.is_empty() {
            self.grant_settings(&folder_facts(team, |_| true)?.id, &settings);
            self.require_grant();
        }
        Ok(())
    }

    fn grant_settings(&mut self, folder: &FolderId, settings: &[RiskySetting]) {
        let grant = self.grant.clone().in_folder(folder.clone());
        self.grant = grant.with_settings(settings);
    }

    fn allow_settings(
        &mut self,
        team: &TeamDir,
        settings: &[RiskySetting],
    ) -> Result<(), TrustError> {
        if settings.is_empty() {
            return Ok(());
        }
        let present = folder_facts(team, |_| true)?;
        self.grant_settings(&present.id, settings);
        if self.recorded == Recorded::Nothing {
            return Ok(());
        }
        let allowed = self
            .store
            .allow(team.workspace(), &present.id, settings, &present.settings);
        // Where it cannot be recorded, it counts for the process that is about to start.
        if allowed.is_err() {
            self.require_grant();
        }
        Ok(())
    }

    /// Something that is trusted is not in the records.
    fn require_grant(&mut self) {
        self.recorded = match self.recorded {
            Recorded::Everything | Recorded::Part => Recorded::Part,
            Recorded::Nothing => Recorded::Nothing,
        };
    }

    /// The variables for the processes of members.
    pub fn variables(&self) -> Vec<(&'static str, Option<String>)> {
        let grant = match self.recorded {
            Recorded::Everything => None,
            Recorded::Part | Recorded::Nothing => Some(self.grant.to_string()),
        };
        vec![(GRANT_VARIABLE, grant)]
    }
}

fn folder_facts(
    team: &TeamDir,
    counts: impl Fn(&Member) -> bool,
) -> Result<FolderFacts, TrustError> {
    let roster = team.roster()?;
    let root = team.layout().root();
    let id = FolderId::of(root).map_err(|cause| TrustError::Folder {
        path: root.to_path_buf(),
        cause,
    })?;
    let members = roster.members.iter().filter(|member| counts(member));
    let settings: RiskySettings = members
        .flat_map(|member| settings_of(team, &member.spec))
        .collect();
    let origin = relative(team, root);
    let itself = RiskySetting {
        risk: Risk::Folder,
        key: origin.display().to_string(),
        value: format!(
            "made by another user, on another machine or in another place (members: {}); their \
             prompts, mail and tasks would be worked on",
            roster.members.len()
        ),
        origin,
    };
    Ok(FolderFacts {
        id,
        itself,
        settings,
    })
}

/// What a roster entry says that needs trust.
fn settings_of(team: &TeamDir, spec: &MemberSpec) -> Vec<RiskySetting> {
    let mut settings =
        config::risky_member_settings(spec, &relative(team, &team.layout().roster()));
    settings.extend(risky_model(team, spec.model.as_deref()));
    settings
}

/// A model in the roster, if it is a file of recorded turns. It is the same setting for every member: a
/// lead that was started with it starts all members with it.
fn risky_model(team: &TeamDir, model: Option<&str>) -> Option<RiskySetting> {
    let origin = relative(team, &team.layout().roster());
    config::risky_model("members.*.model", model, &origin)
}

fn relative(team: &TeamDir, path: &Path) -> PathBuf {
    let relative = path.strip_prefix(team.workspace());
    relative.unwrap_or(path).to_path_buf()
}
