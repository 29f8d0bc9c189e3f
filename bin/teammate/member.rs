//! The life of a member.

use crate::cli::{Args, Switch};
use coordination::{Delivery, Memory, judge};
use protocol::{
    Body, EventKind, Line, LiveState, Member, MemberStatus, Message, MessageId, Party, Phase,
    Recipient, RequestId, Sender,
};
use std::io::Write;
use std::time::Duration;
use teamdir::{
    Durability, Options, Post, Received, RosterError, TeamDir, WatchChoice, WatchMode, now,
};

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let team = open(args)?;
    let owner = Recipient::Member(args.name.clone());
    let mut post = Post::open(&team, &owner, WatchChoice::Auto)?;
    announce(&team, &post)?;
    let mut trouble = String::new();
    loop {
        let delivery = match post.next(None) {
            Ok(delivery) => delivery.unwrap_or_default(),
            Err(error) => {
                wait_out(&error.to_string(), &mut trouble)?;
                continue;
            }
        };
        trouble.clear();
        for bad in &delivery.bad {
            say(&format!(
                "a line could not be read and is among the dead letters: {}",
                bad.reason
            ))?;
        }
        for received in &delivery.mail {
            if let Some(request) = take(&team, &post, received)? {
                return leave(&team, post, &request);
            }
        }
    }
}

/// A full disk or a missing folder passes, and no mail is lost meanwhile. Said once, not for ever.
fn wait_out(error: &str, trouble: &mut String) -> anyhow::Result<()> {
    if trouble != error {
        say(&format!("waiting: {error}"))?;
        error.clone_into(trouble);
    }
    std::thread::sleep(Duration::from_secs(1));
    Ok(())
}

fn open(args: &Args) -> anyhow::Result<TeamDir> {
    let options = Options {
        durability: match args.fsync {
            Switch::On => Durability::PowerCut,
            Switch::Off => Durability::ProcessDeath,
        },
        ..Options::default()
    };
    let Some(role) = &args.role else {
        return Ok(TeamDir::open(&args.dir, options)?);
    };
    let team = TeamDir::create(&args.dir, "default", options)?;
    team.update_roster(|roster| {
        if roster.member(&args.name).is_none() {
            let mut member = Member::new(args.name.clone(), role);
            member.joined_at = Some(now());
            roster.members.push(member);
        }
        Ok::<_, RosterError>(())
    })?;
    Ok(team)
}

fn announce(team: &TeamDir, post: &Post) -> anyhow::Result<()> {
    set_state(team, post, Phase::Idle, MemberStatus::Idle)?;
    let (owner, incarnation) = (post.guard().owner(), post.guard().incarnation());
    let pid = std::process::id();
    team.log_event(EventKind::Ready {
        member: owner.clone(),
        incarnation,
        pid,
    })?;
    if let WatchMode::Polling(reason) = post.watch_mode() {
        say(&format!("looking for mail every 0.2 s: {reason}"))?;
        team.log_event(EventKind::Polling {
            member: owner.clone(),
            reason: reason.to_string(),
        })?;
    }
    say(&format!(
        "{owner} is ready (process {pid}, life {incarnation})"
    ))
}

/// Shows one message. Returns the request to end, if it is one that counts.
fn take(team: &TeamDir, post: &Post, received: &Received) -> anyhow::Result<Option<RequestId>> {
    let message = match &received.line {
        Line::Message(message) => message,
        Line::Text(text) => return say(&format!("unsigned: {text}")).map(|()| None),
        other => return say(&format!("not understood: {other:?}")).map(|()| None),
    };
    let from = message.from.as_ref().map_or("somebody", Sender::as_str);
    say(&format!("{from}: {}", message.body.text()))?;
    let Body::ShutdownRequest { request_id, .. } = &message.body else {
        return Ok(None);
    };
    match judge(message, post.guard().incarnation(), Memory::Kept) {
        Delivery::Deliver | Delivery::DeliverMarked(_) => {
            answer(team, post, request_id)?;
            Ok(Some(request_id.clone()))
        }
        Delivery::DeadLetter { reason } => say(&format!("not obeyed: {reason}")).map(|()| None),
        Delivery::Zombie => anyhow::bail!("a later process is this member; giving up"),
    }
}

/// It has nothing in hand, so it agrees.
fn answer(team: &TeamDir, post: &Post, request_id: &RequestId) -> anyhow::Result<()> {
    let mut response = Message::new(Body::ShutdownResponse {
        request_id: request_id.clone(),
        approve: true,
        reason: "nothing in hand".to_owned(),
    });
    let owner = post.guard().owner();
    // A second answer after a crash is the same message.
    response.id = Some(MessageId::new(&format!("{request_id}/{owner}"))?);
    response.from = Some(Party::from(owner.clone()).into());
    response.from_incarnation = Some(post.guard().incarnation());
    response.to = Some(Recipient::Lead);
    team.send(response)?;
    Ok(())
}

fn leave(team: &TeamDir, post: Post, request: &RequestId) -> anyhow::Result<()> {
    set_state(team, &post, Phase::Shutdown, MemberStatus::Shutdown)?;
    post.close()?;
    say(&format!("shut down (request {request})"))
}

fn set_state(
    team: &TeamDir,
    post: &Post,
    phase: Phase,
    status: MemberStatus,
) -> anyhow::Result<()> {
    let guard = post.guard();
    team.write_live_state(guard, &LiveState::new(guard.incarnation(), phase, now()))?;
    if let Recipient::Member(name) = guard.owner() {
        team.update_roster(|roster| {
            if let Some(member) = roster.member_mut(name) {
                member.status = status.clone();
            }
            Ok::<_, RosterError>(())
        })?;
    }
    Ok(())
}

/// Tells whoever looks at the process.
fn say(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
