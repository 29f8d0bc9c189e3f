//! Frames: what crosses from the team folder of one host to that of another, and the files of a bridge.

mod board;
mod spawn;
mod tree;

pub use board::{
    AskEnd, BoardAnswer, BoardAsk, BoardChange, BoardClaim, BoardCopy, BoardFrame, BoardOutcome,
    BoardTasks, TaskChange,
};
pub use spawn::{
    HostSpawn, SpawnAnswer, SpawnAsk, SpawnFrame, SpawnOptions, SpawnOutcome, SpawnRefusal,
};

pub use tree::{
    BundleAgain, BundleHead, BundleName, BundlePart, HaveCommits, MAX_BUNDLE_BYTES,
    MAX_NAMED_COMMITS, PART_BYTES, TreeFrame, UnknownBundleName,
};

use crate::{
    AgentName, FrameId, HostId, Incarnation, MAX_LINE_BYTES, MemberStatus, Recipient, RequestFile,
    RequestId, SentAnswer, StreamEpoch, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The largest frame, as JSON with its newline: a line of an inbox, and what is around it.
pub const MAX_FRAME_BYTES: usize = 2 * MAX_LINE_BYTES + (64 << 10);

/// The most frames that are on their way to a host without its answer. A reader recognises the last 128
/// messages of each sender, so that many may be repeated.
pub const MAX_FRAMES_UNDER_WAY: usize = 64;

/// One thing that crosses from a host to another.
///
/// The frames from one host to another are a stream: numbered from 1 in one epoch, each naming the one
/// before it. A host that went back to an old disk, or two hosts of the same name, continue the stream
/// differently, which the receiver notices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    pub from: HostId,
    pub to: HostId,
    pub epoch: StreamEpoch,
    pub seq: u64,
    /// Random.
    pub id: FrameId,
    /// The id of the frame before this one; absent in the first of an epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prev: Option<FrameId>,
    pub payload: Payload,
}

/// What a frame carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Payload {
    /// A line for an inbox of the receiving host. It has an `id`.
    Mail {
        to: Recipient,
        line: Map<String, Value>,
    },
    /// Who is at home on the sending host.
    Members(HostMembers),
    /// Something about the task board.
    Board(BoardFrame),
    /// What somebody at home on the sending host asks a person, as it is there now: a copy for reading.
    Request { request: Box<RequestFile> },
    /// An answer of the sending host to a request at home on the receiving one, which records it.
    Answer { answer: SentAnswer },
    /// This answer of the receiving host has no effect.
    AnswerRefused { answer: SentAnswer, reason: String },
    /// Something about a member that is to be started on the host it is at home on.
    Spawn(SpawnFrame),
    /// Something about the work in trees.
    Tree(TreeFrame),
}

/// Who is at home on a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostMembers {
    /// Present if the lead is at home there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<Incarnation>,
    pub members: Vec<HostMember>,
    /// Whether only the names count: mail follows that those named have sent before they are in the states that
    /// are given here, and a later frame confirms the states.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_only: bool,
}

/// A member as other hosts know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostMember {
    pub name: AgentName,
    pub role: String,
    pub status: MemberStatus,
    pub incarnation: Incarnation,
}

record! {
    /// `bridge/<host>/out.json`: how far the frames to a host were accepted.
    pub struct SentMark {
        req epoch: StreamEpoch => "epoch",
        /// The number of the last frame that was accepted; 0 before the first.
        def accepted: u64 => "accepted",
        /// Its id.
        opt id: FrameId => "id",
    }
}

record! {
    /// `bridge/<host>/in.json`: how far the frames from a host were applied.
    pub struct AppliedMark {
        req epoch: StreamEpoch => "epoch",
        req seq: u64 => "seq",
        req id: FrameId => "id",
    }
}

record! {
    /// `bridge/.requests.json`: the requests at home here of which other hosts may have a copy that is pending.
    pub struct ToldRequests {
        def requests: Vec<RequestId> => "requests",
    }
}

record! {
    /// `bridge/<host>/peer.json`: what is known of another host, for people.
    pub struct Peer {
        /// How it is reached, such as `ssh://gpu1/work`; absent if it calls.
        opt address: String => "address",
        /// Whether it could be reached at `since`.
        def reachable: bool => "reachable",
        /// When that was found out.
        opt since: Timestamp => "since",
        /// Why it cannot be reached.
        opt problem: String => "problem",
    }
}
