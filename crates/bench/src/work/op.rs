//! One operation between two marks, so that a test can fail each of its system calls.

use super::{Args, say};
use anyhow::bail;
use protocol::{
    Answer, Body, DeadLetter, Incarnation, LiveState, Member, Message, MessageId, Party, Phase,
    Recipient, Request, RequestId, RequestState, Sender, TaskId,
};
use rules::{ClaimLimit, ClaimRefusal, CompleteRefusal, NewTask};
use std::time::{Duration, Instant};
use team::{Actor, BoardError, Worker};
use teamdir::{MemberSession, RequestError, RosterError, TeamDir, WatchChoice, Watcher, now};
use test_support::faults::{mark_begin, mark_end};

/// Does one thing between two marks.
#[derive(clap::Args)]
pub(crate) struct Op {
    #[arg(value_enum)]
    what: What,
    /// Tells one run from another.
    #[arg(long, default_value = "1")]
    id: String,
    /// Try this often before giving up, to see whether a passing fault is recovered from.
    #[arg(long, default_value_t = 1)]
    tries: u32,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum What {
    Send,
    /// Sends while somebody leads a shared sync and does not come to its end.
    SendBesideLeader,
    /// Sends a second message. The first is sent under the lock alone if somebody leads.
    SendAgain,
    /// Takes the mail there is and records it: the claim and the acknowledgement.
    Receive,
    /// Sets the inbox aside and deletes what is done with.
    Settle,
    Join,
    Roster,
    RequestCreate,
    RequestAnswer,
    /// Answers a shutdown: records the answer, then mails it.
    ShutdownAnswer,
    TaskCreate,
    TaskClaim,
    TaskComplete,
    /// Releases the task of a dead incarnation of alice.
    TaskRelease,
    DeadLetter,
    LiveState,
}

pub(super) fn run(args: &Args, op: &Op) -> anyhow::Result<()> {
    let team = args.team()?;
    let alice: Recipient = "alice".parse()?;
    match op.what {
        What::Send => marked(op, || send(&team, &alice, &op.id)),
        What::SendAgain => {
            send(&team, &alice, &format!("before-{}", op.id))?;
            marked(op, || send(&team, &alice, &op.id))
        }
        What::SendBesideLeader => {
            let mut mark = std::fs::File::options();
            let mark = mark.create(true).append(true);
            let mark = mark.open(team.layout().inbox_synced(&alice))?;
            // Another descriptor than that of the sender: to the kernel it is somebody else's.
            mark.lock()?;
            marked(op, || send(&team, &alice, &op.id))
        }
        What::Receive | What::Settle => with_session(&team, &alice, op),
        What::Join => marked(op, || {
            team.join(&alice)?;
            Ok(())
        }),
        What::Roster => marked(op, || add_member(&team, &op.id)),
        What::RequestCreate => marked(op, || Ok(team.create_request(&request(&op.id)?)?)),
        What::RequestAnswer => marked(op, || approve(&team, &op.id)),
        What::ShutdownAnswer => marked(op, || {
            let alice = Actor::member("alice".parse()?, Incarnation(1));
            team::answer_shutdown(&team, &alice, &RequestId::new(&op.id)?, true, "fine")?;
            Ok(())
        }),
        What::TaskCreate => marked(op, || {
            let subject = op.id.clone();
            let new = NewTask {
                subject,
                ..NewTask::default()
            };
            team::create(&team, &Actor::user(), &new)?;
            Ok(())
        }),
        What::TaskClaim => marked(op, || claim(&team)),
        What::TaskComplete => marked(op, || complete(&team)),
        What::TaskRelease => marked(op, || {
            team::release_all(&team, &"alice".parse()?, Incarnation(1), "died")?;
            Ok(())
        }),
        What::DeadLetter => marked(op, || dead_letter(&team, &op.id)),
        What::LiveState => {
            let guard = team.join(&alice)?;
            let state = LiveState::new(guard.incarnation(), Phase::Idle, now());
            marked(op, || Ok(team.write_live_state(&guard, &state)?))
        }
    }
}

fn marked(op: &Op, mut work: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
    mark_begin();
    let mut outcome = work();
    for _ in 1..op.tries {
        if let Err(error) = outcome {
            say(&format!("failed: {error:#}"))?;
            outcome = work();
        }
    }
    mark_end();
    outcome?;
    say("done")
}

fn send(team: &TeamDir, to: &Recipient, id: &str) -> anyhow::Result<()> {
    let mut message = Message::new(Body::Message {
        content: "x".repeat(200),
    });
    message.id = Some(MessageId::new(id)?);
    message.from = Some(Sender::new("bob"));
    message.to = Some(to.clone());
    team.send(message)?;
    Ok(())
}

/// Reading and tidying both need the post; only one of them is marked.
fn with_session(team: &TeamDir, owner: &Recipient, op: &Op) -> anyhow::Result<()> {
    if matches!(op.what, What::Receive) {
        let mut session = MemberSession::open(team, owner, WatchChoice::Poll)?;
        let mut shown = Vec::new();
        let outcome = marked(op, || {
            while let Some(delivery) = session.try_next()? {
                shown.extend(delivery.mail.into_iter().map(|received| received.id));
            }
            Ok(())
        });
        shown
            .iter()
            .try_for_each(|id| say(&format!("shown {id}")))?;
        return outcome;
    }
    let guard = team.join(owner)?;
    let (mut journal, state) = teamdir::Journal::open(team, &guard)?;
    let mut mailbox = teamdir::Mailbox::open(team, &guard, state, &mut journal)?;
    let mut watcher = Watcher::new(&team.layout().inbox_dir(), WatchChoice::Poll);
    while mailbox.receive(&mut journal)?.is_some() {}
    let give_up = Instant::now() + Duration::from_secs(5);
    marked(op, || {
        while mailbox
            .prepare_to_wait(&mut journal, &mut watcher)?
            .check_again
        {
            if Instant::now() > give_up {
                bail!("the mailbox does not settle");
            }
            while mailbox.receive(&mut journal)?.is_some() {}
        }
        Ok(())
    })
}

fn add_member(team: &TeamDir, id: &str) -> anyhow::Result<()> {
    let name: protocol::AgentName = format!("m{id}").parse()?;
    team.update_roster(|roster| {
        if roster.member(&name).is_none() {
            roster.members.push(Member::new(name.clone(), "coder"));
        }
        Ok::<_, RosterError>(())
    })?;
    Ok(())
}

fn request(id: &str) -> anyhow::Result<Request> {
    Ok(Request {
        id: RequestId::new(id)?,
        from: Party::Lead,
        from_incarnation: None,
        to: "alice".parse()?,
        to_incarnation: None,
        created_at: now(),
        deadline: None,
        notified_at: None,
        subject: protocol::Subject::Shutdown {
            reason: "done".to_owned(),
            force: false,
            lead_leaves: false,
        },
        state: RequestState::Pending,
        ignored: Vec::new(),
        extra: protocol::Extra::new(),
    })
}

fn approve(team: &TeamDir, id: &str) -> anyhow::Result<()> {
    team.update_request(&RequestId::new(id)?, |mut request| {
        request.state = RequestState::Approved(Answer::new(Party::Lead, now(), String::new()));
        Ok::<_, RequestError>((request, ()))
    })?;
    Ok(())
}

fn claim(team: &TeamDir) -> anyhow::Result<()> {
    let worker = Worker {
        me: Actor::member("alice".parse()?, Incarnation(1)),
        role: String::new(),
    };
    match team::claim(team, &worker, TaskId(1), ClaimLimit::One) {
        // An earlier try did it and could not say so.
        Err(BoardError::Claim(ClaimRefusal::AlreadyYours { .. })) => Ok(()),
        result => Ok(result.map(drop)?),
    }
}

fn complete(team: &TeamDir) -> anyhow::Result<()> {
    let me = Actor::member("alice".parse()?, Incarnation(1));
    match team::complete(team, &me, TaskId(1), Some("done")) {
        Err(BoardError::Complete(CompleteRefusal::Completed { .. })) => Ok(()),
        result => Ok(result.map(drop)?),
    }
}

fn dead_letter(team: &TeamDir, id: &str) -> anyhow::Result<()> {
    team.add_dead_letter(&DeadLetter {
        id: id.to_owned(),
        time: now(),
        inbox: Recipient::Lead,
        reason: "a test".to_owned(),
        line: None,
        raw: Some("x".to_owned()),
        raw_hex: None,
        extra: protocol::Extra::new(),
    })?;
    Ok(())
}
