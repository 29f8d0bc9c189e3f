//! Every type that is stored in a team folder or crosses from one process to another.
//!
//! # Theory of operation
//!
//! A team is a folder. Its files are written and read by different programs, in different
//! versions and languages, so each type here follows three rules:
//!
//! * **Validated on parse.** A value that exists is valid: an [`AgentName`] can be joined to a
//!   path, a [`RequestId`] can be a file name.
//! * **Unknown fields survive.** Each stored object keeps what it does not know in an [`Extra`]
//!   and writes it back (see `record.rs`).
//! * **Nothing is dropped.** A line of an inbox decodes to a known message, an object of unknown
//!   meaning, plain text, or a corrupt line with its reason ([`Line`]).
//!
//! `README.md` beside this crate's manifest is the specification of the same formats for people
//! and for programs in other languages; a test keeps its examples and these types in step.
//!
//! **Invariant:** no I/O, no clock, no randomness in this crate.

#[macro_use]
mod record;
mod actor;
mod budget;
mod bundle_tries;
mod confinement;
mod dead_letter;
mod death;
mod effect;
mod event;
pub mod exit;
mod frame;
mod grant;
mod id;
mod journal;
mod json_line;
mod limits;
mod line;
mod live;
mod mail_text;
mod member_rules;
mod message;
mod money;
mod name;
mod network;
mod note;
mod request;
mod roster;
mod submission;
mod task;
mod text_block;
mod time;
mod todo;
mod tuning;
mod version;

pub use actor::Actor;
pub use budget::{Allowance, Booking, Budget, Caps, Reservation, RunBudget, SpentBefore};
pub use bundle_tries::BundleTries;
pub use confinement::{SANDBOX_WORDS, SandboxLevel, SandboxMode, UnknownSandboxMode};
pub use dead_letter::DeadLetter;
pub use death::{DeathCause, ExitRecord, RestartReason};
pub use effect::Effect;
pub use event::{Event, EventKind, EventLine};
pub use frame::{
    AppliedMark, AskEnd, BoardAnswer, BoardAsk, BoardChange, BoardClaim, BoardCopy, BoardFrame,
    BoardOutcome, BoardTasks, BundleAgain, BundleHead, BundleName, BundlePart, Frame, HaveCommits,
    HostMember, HostMembers, HostSpawn, MAX_BUNDLE_BYTES, MAX_FRAME_BYTES, MAX_FRAMES_UNDER_WAY,
    MAX_NAMED_COMMITS, PART_BYTES, Payload, Peer, SentMark, SpawnAnswer, SpawnAsk, SpawnFrame,
    SpawnOptions, SpawnOutcome, SpawnRefusal, TaskChange, ToldRequests, TreeFrame,
    UnknownBundleName,
};
pub use grant::{Grant, GrantScope, Grants};
pub use id::{
    BundleDigest, CommitId, FrameId, HostId, IdError, Incarnation, MessageId, RequestId, SessionId,
    StreamEpoch, SubmissionId, TaskId,
};
pub use journal::{
    ArchiveName, AskedRecord, AssistantRecord, Block, Checkpoint, ClearedRecord, ClearedResult,
    CompactionRecord, ConversationRecord, CutRecord, EndedRecord, EngineToolRecord,
    EngineToolResult, GivenMessages, Image, JournalLine, JournalRecord, KeptMessage, KeptMessages,
    MailEntry, MailRecord, MessageCut, MessageSource, ModelTypes, NotAnArchive, OpenRecord,
    PartialReply, PendingMail, Plain, PlanRecord, Quarantined, ReportRecord, ResultRecord, Role,
    SealRecord, SegmentPosition, SenderWindow, SessionHeader, SessionMark, SessionModel,
    StartedRecord, Stored, ToolResult, Turn, Usage, UserMessage, UserRecord,
};
pub use json_line::{JsonLine, JsonLineError};
pub use limits::{DEFAULT_CLEAR_AT, DEFAULT_KEPT_RESULTS, Pair, TeamLimits, Traffic};
pub use line::{Line, Unknown, decode_line, salvage};
pub use live::{Activity, Holder, LiveState, Phase, Tally, WaitingFor};
pub use mail_text::MAIL_TAG;
pub use member_rules::MemberRules;
pub use message::{Body, MAX_LINE_BYTES, Message, NoticeCause};
pub use money::{Money, NotMoney};
pub use name::{AgentName, NameError, Party, Recipient, Sender};
pub use network::{
    Endpoint, Host, HostError, HostList, HostName, HostRule, NetworkSetting, Reason, Special,
};
pub use note::{MAX_NOTE_CHARS, MAX_NOTE_TAG_CHARS, MAX_NOTE_TAGS, Note};
pub use record::Extra;
pub use request::{
    Answer, IgnoredAnswer, InvalidRequest, PermissionAsk, QuestionAsk, Request, RequestFile,
    RequestKind, RequestState, RequestStatus, SentAnswer, Subject,
};
pub use roster::{Member, MemberSpec, MemberStatus, RestartPolicy, Roster, TeamName};
pub use submission::{
    CheckReport, ConflictPart, MergeConflict, Submission, SubmissionStatus, TREE_WORDS, TreeMode,
    UnknownTreeMode, tree_branch,
};
pub use task::{Owner, Priority, Task, TaskHistory, TaskStatus};
pub use text_block::TextBlock;
pub use time::Timestamp;
pub use todo::{MAX_TODO_CHARS, MAX_TODO_ITEMS, TodoItem, TodoList, TodoSummary};
pub use tuning::{EFFORT_WORDS, Effort, Temperature, Thinking, Tuning, TuningError};
pub use version::{FORMAT_VERSION, FormatVersion, UnsupportedVersion};
