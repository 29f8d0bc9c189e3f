//! The roster: `config.json`.

use crate::{
    AgentName, Effort, FormatVersion, HostId, Incarnation, MemberRules, MessageId, NameError,
    NetworkSetting, Recipient, RequestId, SandboxMode, Temperature, Thinking, Timestamp, TreeMode,
    Tuning,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

record! {
    /// The team and its members, as stored in `config.json`.
    pub struct Roster {
        /// The format version of the whole folder.
        def version: FormatVersion => "version",
        /// What the team is called.
        def team_name: TeamName => "team_name",
        /// Grows by one with each change.
        def rev: u64 => "rev",
        /// Everybody but the lead, in the order they joined.
        def members: Vec<Member> => "members",
        /// How many processes have led this team.
        def lead_incarnation: Incarnation => "lead_incarnation",
        /// The last incarnations of members that were removed. A member that gets the name of one of them
        /// continues to count.
        opt removed: BTreeMap<AgentName, Incarnation> => "removed",
        /// The name of this host, once there are others.
        opt host: HostId => "host",
        /// The host that the lead is at home on; absent if it is this one.
        opt lead_host: HostId => "lead_host",
    }
}

record! {
    /// One teammate.
    pub struct Member {
        [
        /// What people choose about a member. In a request to start one, an absent option of a known
        /// member stays as it was.
        spec: MemberSpec {
            /// Unique in the team, ignoring case.
            req name: AgentName => "name",
            /// What it is for, as free text.
            def role: String => "role",
            /// The model that it asks.
            opt model: String => "model",
            /// Whether it needs an approved plan before it may change anything.
            opt require_plan: bool => "require_plan",
            /// What happens when its process dies.
            opt restart: RestartPolicy => "restart",
            /// The first instruction.
            opt prompt: String => "prompt",
            /// The program to run for it instead of `teammate`.
            opt exec: String => "exec",
            /// The agent of another program that takes the place of its model, such as `acp:claude`.
            opt engine: String => "engine",
            /// Whether it claims no task from the board by itself.
            opt no_claim: bool => "no_claim",
            /// After how many seconds of idleness it ends by itself.
            opt idle_timeout: u64 => "idle_timeout",
            /// Whether its commands run in a sandbox.
            opt sandbox: SandboxMode => "sandbox",
            /// What its commands reach over the network.
            opt network: NetworkSetting => "network",
            /// Where it works.
            opt tree: TreeMode => "tree",
            /// The most tokens of one reply of its model, thoughts included.
            opt max_output: u32 => "max_output",
            /// How much work its model puts into a reply.
            opt effort: Effort => "effort",
            /// Whether and how its model thinks.
            opt thinking: Thinking => "thinking",
            /// How random the words of its model are.
            opt temperature: Temperature => "temperature",
            /// Whether its model may search and read the web with the tools of its provider.
            opt web: bool => "web",
            /// What it may do, as the person who started it said.
            opt permissions: MemberRules => "permissions",
        }]
        /// What the member last reported about itself. Only the member lock proves that it runs.
        def status: MemberStatus => "status",
        /// The number of the member's current or last process; 0 before the first.
        def incarnation: Incarnation => "incarnation",
        /// When it joined.
        opt joined_at: Timestamp => "joined_at",
        /// The id under which the prompt is given to its model, once.
        opt prompt_id: MessageId => "prompt_id",
        /// The last incarnation whose death was recorded.
        opt reaped: Incarnation => "reaped",
        /// The recent restarts by its policy.
        opt restarts: Vec<Timestamp> => "restarts",
        /// Why its policy restarts it no more.
        opt gave_up: String => "gave_up",
        /// The host that it is at home on; absent if it is this one.
        opt host: HostId => "host",
        /// The ask of another host that it was first started for.
        opt asked: RequestId => "asked",
    }
}

/// The name of a team. Absent means `default`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TeamName(pub String);

impl Default for TeamName {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

/// What a member says of itself in the roster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum MemberStatus {
    /// It is in a turn.
    Working,
    /// It waits for mail or a task.
    Idle,
    /// It has ended cleanly.
    Shutdown,
    /// A word of another program.
    Other(String),
}

impl Default for MemberStatus {
    /// A member that has never run is as good as shut down.
    fn default() -> Self {
        Self::Shutdown
    }
}

impl MemberStatus {
    /// The word as stored.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Working => "working",
            Self::Idle => "idle",
            Self::Shutdown => "shutdown",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for MemberStatus {
    fn from(word: String) -> Self {
        match word.as_str() {
            "working" => Self::Working,
            "idle" => Self::Idle,
            "shutdown" => Self::Shutdown,
            _ => Self::Other(word),
        }
    }
}

impl From<MemberStatus> for String {
    fn from(status: MemberStatus) -> Self {
        status.as_str().to_owned()
    }
}

/// What happens when a member's process dies without being asked to end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum RestartPolicy {
    /// It stays dead until somebody brings it back.
    #[default]
    Never,
    /// The lead brings it back, within limits.
    OnFailure,
    /// A word of another program. Nobody who does not know it acts on it.
    Other(String),
}

impl RestartPolicy {
    /// The word as stored.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Never => "never",
            Self::OnFailure => "on-failure",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for RestartPolicy {
    fn from(word: String) -> Self {
        match word.as_str() {
            "never" => Self::Never,
            "on-failure" => Self::OnFailure,
            _ => Self::Other(word),
        }
    }
}

impl From<RestartPolicy> for String {
    fn from(policy: RestartPolicy) -> Self {
        policy.as_str().to_owned()
    }
}

impl MemberSpec {
    /// How the member's model is asked.
    pub fn tuning(&self) -> Tuning {
        Tuning {
            max_output: self.max_output,
            effort: self.effort.clone(),
            thinking: self.thinking.clone(),
            temperature: self.temperature,
        }
    }

    /// The same member with a model that is asked so.
    #[must_use]
    pub fn with_tuning(self, tuning: Tuning) -> Self {
        Self {
            max_output: tuning.max_output,
            effort: tuning.effort,
            thinking: tuning.thinking,
            temperature: tuning.temperature,
            ..self
        }
    }
}

impl Default for Roster {
    fn default() -> Self {
        Self {
            version: FormatVersion::CURRENT,
            team_name: TeamName::default(),
            rev: 0,
            members: Vec::new(),
            lead_incarnation: Incarnation(0),
            removed: None,
            host: None,
            lead_host: None,
            extra: crate::Extra::new(),
        }
    }
}

#[derive(Deserialize)]
struct VersionOnly {
    #[serde(default, rename = "version")]
    _version: FormatVersion,
}

impl Roster {
    /// Reads the text of a roster file. The version comes first, wherever it stands: what a newer
    /// program wrote need not make sense otherwise.
    pub fn decode(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice::<VersionOnly>(bytes)?;
        serde_json::from_slice(bytes)
    }

    /// The member that `name` names, ignoring case.
    pub fn member(&self, name: &AgentName) -> Option<&Member> {
        self.members
            .iter()
            .find(|member| member.spec.name.same_as(name))
    }

    /// The member that `name` names, ignoring case, to be changed.
    pub fn member_mut(&mut self, name: &AgentName) -> Option<&mut Member> {
        self.members
            .iter_mut()
            .find(|member| member.spec.name.same_as(name))
    }

    /// The host that `owner` is at home on, if it is another one than this.
    pub fn host_of(&self, owner: &Recipient) -> Option<&HostId> {
        match owner {
            Recipient::Lead => self.lead_host.as_ref(),
            Recipient::Member(name) => self.member(name)?.host.as_ref(),
        }
    }

    /// Whose inbox a typed name means: the lead's, or that of a member as the roster spells it.
    pub fn recipient(&self, text: &str) -> Result<Option<Recipient>, NameError> {
        Ok(match text.parse::<Recipient>()? {
            Recipient::Lead => Some(Recipient::Lead),
            Recipient::Member(name) => self
                .member(&name)
                .map(|member| Recipient::Member(member.spec.name.clone())),
        })
    }

    /// Whether two members bear the same name, and which.
    pub fn namesakes(&self) -> Option<&AgentName> {
        let mut names = self.members.iter().map(|member| &member.spec.name);
        let mut seen = HashSet::new();
        names.find(|name| !seen.insert(name.as_str().to_lowercase()))
    }
}

impl MemberSpec {
    /// A member without any options.
    pub fn new(name: AgentName, role: &str) -> Self {
        Self {
            role: role.to_owned(),
            ..Self::with_defaults(name)
        }
    }
}

impl Member {
    /// A member without any options that has not run yet.
    pub fn new(name: AgentName, role: &str) -> Self {
        Self::from(MemberSpec::new(name, role))
    }
}

impl From<MemberSpec> for Member {
    /// A member that has not run yet.
    fn from(spec: MemberSpec) -> Self {
        Self {
            spec,
            status: MemberStatus::default(),
            incarnation: Incarnation(0),
            joined_at: None,
            prompt_id: None,
            reaped: None,
            restarts: None,
            gave_up: None,
            host: None,
            asked: None,
            extra: crate::Extra::new(),
        }
    }
}
