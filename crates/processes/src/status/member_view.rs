//! Reads the state of members. Changes nothing.

use crate::reap::is_unreaped;
use crate::status::unread::UnreadCounts;
use protocol::{
    AgentName, Holder, LiveState, Member, MemberStatus, Recipient, Submission, SubmissionId,
    SubmissionStatus, TaskId, TodoSummary, TreeMode, tree_branch,
};
use rules::{Facts, MemberState, member_state};
use std::time::Duration;
use teamdir::{Liveness, PathError, RosterError, TeamDir, TeamFileError, now};

/// How long a working member may report nothing before it is shown as hung.
const SILENT_AFTER: Duration = Duration::from_secs(600);

/// How many submissions are looked at for the newest one of a member.
const NEWEST_SUBMISSIONS: usize = 64;

/// A member as the files and the operating system show it.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberView {
    pub member: Member,
    pub state: MemberState,
    /// The member's running process.
    pub holder: Option<Holder>,
    /// The live state of its running incarnation, or of its last one if none runs.
    pub live: Option<LiveState>,
    /// The number of unread lines in its inbox.
    pub unread: usize,
    /// The task that its running incarnation works on.
    pub task: Option<TaskId>,
    /// Its to-do list in short, if it keeps one.
    pub todo: Option<TodoSummary>,
    /// Its newest submission, if it works in a tree of its own.
    pub submission: Option<(SubmissionId, SubmissionStatus)>,
}

/// Why members could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error("there is no member called {name}; {}", known_names(known))]
    NoSuchMember {
        name: AgentName,
        known: Vec<AgentName>,
    },
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error(transparent)]
    File(#[from] PathError),
    #[error(transparent)]
    TeamFile(#[from] TeamFileError),
}

impl MemberView {
    /// Whether the member has a process.
    pub const fn is_alive(&self) -> bool {
        self.state.is_alive()
    }

    /// Why it failed, was given up or waits, if anybody said so.
    pub fn reason(&self) -> Option<&str> {
        let reason = match &self.state {
            MemberState::Failed { reason, .. } | MemberState::GaveUp { reason } => {
                Some(reason.as_str())
            }
            MemberState::Waiting { .. } => {
                self.live.as_ref().and_then(|live| live.reason.as_deref())
            }
            MemberState::Starting { .. }
            | MemberState::Working { .. }
            | MemberState::Idle { .. }
            | MemberState::Hung { .. }
            | MemberState::Dead { .. }
            | MemberState::Shutdown => None,
        };
        reason.filter(|reason| !reason.is_empty())
    }

    /// The branch of the member's own tree, if it has one.
    pub fn branch(&self) -> Option<String> {
        let spec = &self.member.spec;
        let is_own = spec.tree == Some(TreeMode::Own);
        is_own.then(|| tree_branch(&spec.name))
    }

    /// Whether it died and is not reaped yet.
    pub fn is_unreaped(&self) -> bool {
        is_unreaped(&self.member, &self.state)
    }
}

pub(crate) fn known_names(known: &[AgentName]) -> String {
    let names: Vec<&str> = known.iter().map(AgentName::as_str).collect();
    match names.is_empty() {
        true => "the team has no members yet".to_owned(),
        false => format!("the members are {}", names.join(", ")),
    }
}

/// One member as it is now.
pub fn member_view(team: &TeamDir, name: &AgentName) -> Result<MemberView, ViewError> {
    let member = find(team, name)?;
    let newest = newest_submissions(team, std::slice::from_ref(&member));
    view_of(team, &member, &UnreadCounts::read(team), &newest)
}

/// All members as they are now, in the order of the roster.
pub fn member_views(team: &TeamDir) -> Result<Vec<MemberView>, ViewError> {
    let roster = team.roster()?;
    let unread_counts = UnreadCounts::read(team);
    let newest = newest_submissions(team, &roster.members);
    let members = roster.members.iter();
    members
        .map(|member| view_of(team, member, &unread_counts, &newest))
        .collect()
}

/// The roster's entry for a name, in whatever case it is written.
pub(crate) fn find(team: &TeamDir, name: &AgentName) -> Result<Member, ViewError> {
    let roster = team.roster()?;
    roster
        .member(name)
        .cloned()
        .ok_or_else(|| ViewError::NoSuchMember {
            name: name.clone(),
            known: roster.members.iter().map(|m| m.spec.name.clone()).collect(),
        })
}

fn view_of(
    team: &TeamDir,
    member: &Member,
    unread_counts: &UnreadCounts,
    newest: &[Submission],
) -> Result<MemberView, ViewError> {
    let owner = Recipient::Member(member.spec.name.clone());
    let (state, holder, live) = state_of(team, member)?;
    let task = live.as_ref().and_then(|live| live.task);
    Ok(MemberView {
        member: member.clone(),
        task: task.filter(|_| state.is_alive()),
        unread: unread_counts.unread(team, &owner)?,
        // A list that cannot be read is a matter for its owner, who writes it anew.
        todo: team.todo_list(&owner).ok().and_then(|list| list.summary()),
        submission: submission_of(newest, member),
        state,
        holder,
        live,
    })
}

/// The newest submissions, newest first, if any of these members has a tree of its own.
fn newest_submissions(team: &TeamDir, members: &[Member]) -> Vec<Submission> {
    let is_own = |member: &Member| member.spec.tree == Some(TreeMode::Own);
    if !members.iter().any(is_own) {
        return Vec::new();
    }
    let newest = team.newest_submissions(NEWEST_SUBMISSIONS);
    newest.unwrap_or_default().into_iter().flatten().collect()
}

/// The newest submission of a member, among the newest of all.
fn submission_of(
    newest: &[Submission],
    member: &Member,
) -> Option<(SubmissionId, SubmissionStatus)> {
    let name = &member.spec.name;
    let found = newest.iter().find(|found| found.member.same_as(name))?;
    Some((found.id, found.status))
}

/// The state of a member at home on another host, as that host last reported it. Who holds its lock here
/// is the bridge, which says nothing about the member.
fn state_elsewhere(member: &Member) -> MemberState {
    let since = member.joined_at.unwrap_or_else(now);
    match member.status {
        MemberStatus::Working => MemberState::Working {
            activity: None,
            since,
        },
        MemberStatus::Idle | MemberStatus::Other(_) => MemberState::Idle { since },
        MemberStatus::Shutdown => MemberState::Shutdown,
    }
}

/// A member's state, and what it was computed from.
pub(crate) fn state_of(
    team: &TeamDir,
    member: &Member,
) -> Result<(MemberState, Option<Holder>, Option<LiveState>), PathError> {
    if member.host.is_some() {
        return Ok((state_elsewhere(member), None, None));
    }
    let owner = Recipient::Member(member.spec.name.clone());
    let (lock_held, holder) = match team.liveness(&owner)? {
        Liveness::Alive(holder) => (true, holder),
        Liveness::Gone(_) => (false, None),
    };
    let live = team.live_state(&owner)?;
    let state = member_state(&Facts {
        lock_held,
        holder: holder.as_ref(),
        live: live.as_ref(),
        roster_status: &member.status,
        roster_incarnation: member.incarnation,
        gave_up: member.gave_up.as_deref(),
        now: now(),
        silent_after: SILENT_AFTER,
    });
    Ok((state, holder, live))
}
