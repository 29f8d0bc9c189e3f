//! One line of text for each event that is worth showing.

use crate::one_line;
use protocol::{Event, EventKind, EventLine, Recipient, RequestKind};

/// The text for a line of the event log; `None` for frequent events that are not shown.
pub fn event_text(line: &[u8]) -> Option<String> {
    let EventLine::Known(event) = EventLine::decode(line) else {
        return None;
    };
    attributed_text(&event)
}

/// The same for an event that was decoded, without the person who caused it.
pub fn text_of_event(event: &Event) -> Option<String> {
    text(event).map(|text| one_line(&text))
}

/// What happened, and the person who caused it where a program knows who that is.
fn attributed_text(event: &Event) -> Option<String> {
    let text = text_of_event(event)?;
    Some(match &event.person {
        Some(person) => format!("{text}, by {}", one_line(person)),
        None => text,
    })
}

/// An event that is worth showing, for a list of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedEvent {
    /// The date and the time of day in UTC.
    pub time: String,
    pub text: String,
    pub tone: Tone,
}

/// Whether an event deserves attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// A member or its work came forward.
    Good,
    /// Something failed or ended against somebody's will.
    Bad,
    /// Somebody waits for a decision, or got it.
    Asks,
    Plain,
}

/// The same for a list of events.
pub fn timed_event(line: &[u8]) -> Option<TimedEvent> {
    let EventLine::Known(event) = EventLine::decode(line) else {
        return None;
    };
    Some(TimedEvent {
        time: format!("{} {}", event.time.date(), event.time.time_of_day()),
        text: attributed_text(&event)?,
        tone: tone(&event.kind),
    })
}

const fn tone(kind: &EventKind) -> Tone {
    match kind {
        EventKind::Spawn { .. } | EventKind::Restart { .. } | EventKind::Land { .. } => Tone::Good,
        EventKind::Death { .. }
        | EventKind::GaveUp { .. }
        | EventKind::DeadLetter { .. }
        | EventKind::Budget { .. }
        | EventKind::HookFailed { .. } => Tone::Bad,
        EventKind::HostSpawn { action, .. } => match action.as_bytes() {
            b"refused" | b"failed" => Tone::Bad,
            _ => Tone::Plain,
        },
        EventKind::Request { .. } | EventKind::Resolve { .. } => Tone::Asks,
        EventKind::Send { .. }
        | EventKind::Leave { .. }
        | EventKind::Task { .. }
        | EventKind::Note { .. }
        | EventKind::Submission { .. }
        | EventKind::Tree { .. }
        | EventKind::Ready { .. }
        | EventKind::State { .. }
        | EventKind::Deliver { .. }
        | EventKind::Tool { .. }
        | EventKind::File { .. }
        | EventKind::Model { .. }
        | EventKind::ModelSwitched { .. }
        | EventKind::Compaction { .. }
        | EventKind::Polling { .. } => Tone::Plain,
    }
}

fn text(event: &Event) -> Option<String> {
    Some(match &event.kind {
        EventKind::Send {
            from,
            to,
            kind,
            preview,
            ..
        } => {
            let text = preview.as_deref().filter(|text| !text.is_empty());
            let text = text.map(|text| format!(": {text}")).unwrap_or_default();
            format!("{} → {to}{}{text}", from.as_str(), shown_kind(kind))
        }
        EventKind::Spawn { member, role, .. } => format!("+ {member} ({role}) started"),
        EventKind::Restart { member, reason, .. } => {
            format!("+ {member} was restarted ({reason})")
        }
        EventKind::Death { member, cause, .. } => format!("! {member} died ({cause})"),
        EventKind::GaveUp { reason, .. } => format!("! {reason}; it is not restarted any more"),
        EventKind::Leave { member, reason } => format!("- {member} left: {reason}"),
        EventKind::Task {
            task, action, by, ..
        } => format!("# {} {action} task {task}", by.as_str()),
        EventKind::Note { from, preview, .. } => format!("* {} noted: {preview}", from.as_str()),
        EventKind::Request {
            request_id,
            kind,
            from,
            to,
        } => {
            format!("? {} {} {to} ({request_id})", from.as_str(), asks(*kind))
        }
        EventKind::Resolve { request_id, status } => {
            format!("? {request_id} is {}", status.as_str())
        }
        EventKind::DeadLetter { inbox, reason, .. } => {
            format!("! undelivered mail for {inbox}: {reason}")
        }
        EventKind::Budget { .. }
        | EventKind::HostSpawn { .. }
        | EventKind::Submission { .. }
        | EventKind::Tree { .. }
        | EventKind::Land { .. }
        | EventKind::Ready { .. }
        | EventKind::State { .. }
        | EventKind::Deliver { .. }
        | EventKind::Tool { .. }
        | EventKind::File { .. }
        | EventKind::Model { .. }
        | EventKind::ModelSwitched { .. }
        | EventKind::HookFailed { .. }
        | EventKind::Compaction { .. }
        | EventKind::Polling { .. } => {
            return work_text(&event.kind).or_else(|| side_text(&event.kind));
        }
    })
}

/// The text of an event beside a member's work that a person should see.
fn side_text(kind: &EventKind) -> Option<String> {
    match kind {
        EventKind::Budget {
            member,
            action,
            limits,
        } => Some(budget(member.as_ref(), action, limits)),
        EventKind::HostSpawn {
            host,
            name,
            action,
            reason,
            ..
        } => Some(host_spawn(host.as_str(), name, action, reason.as_deref())),
        EventKind::ModelSwitched {
            member,
            from,
            to,
            reason,
            ..
        } => Some(switched(member, from, to, reason.as_deref())),
        EventKind::HookFailed {
            member,
            hook,
            command,
            reason,
            ..
        } => Some(format!(
            "! a {hook} hook of {member} failed: {reason} ({command})"
        )),
        _ => None,
    }
}

/// What has become of a member that another host is to start.
fn host_spawn(host: &str, name: &str, action: &str, reason: Option<&str>) -> String {
    let mark = if reason.is_some() { '!' } else { '+' };
    let reason = reason.map(|reason| format!(": {reason}"));
    let reason = reason.unwrap_or_default();
    format!("{mark} {name} on {host} {action}{reason}")
}

fn budget(member: Option<&Recipient>, action: &str, limits: &str) -> String {
    let whose = member.map_or("the team", |member| member.as_str());
    format!("! budget of {whose} {action}: {limits}")
}

/// The text of an event about members' work on its way to the user's branch.
fn work_text(kind: &EventKind) -> Option<String> {
    if let EventKind::Tree { member, action, .. } = kind {
        return Some(format!("^ the tree of {member} was {action}"));
    }
    if let EventKind::Land { branch, commit } = kind {
        let commit = commit.short();
        return Some(format!(
            "^ the team's work was landed in {branch} ({commit})"
        ));
    }
    let EventKind::Submission {
        submission,
        member,
        status,
        ..
    } = kind
    else {
        return None;
    };
    Some(format!("^ {member}'s submission {submission} is {status}"))
}

/// The type of a message, unless it is a plain one.
fn shown_kind(kind: &str) -> String {
    match kind {
        "message" => String::new(),
        other => format!(" ({})", kind_words(other)),
    }
}

/// The type of a message in words.
pub fn kind_words(kind: &str) -> String {
    match kind {
        // Members send it when they have done their work, and say what they did.
        "idle_notification" => "report".to_owned(),
        other => other.replace('_', " "),
    }
}

const fn asks(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Shutdown => "asks to shut down",
        RequestKind::Plan => "submits a plan to",
        RequestKind::Permission => "asks for permission at",
        RequestKind::Question => "asks a person at",
    }
}

fn switched(member: &Recipient, from: &str, to: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("! {to} answers {member} instead of {from} ({reason})"),
        None => format!("+ {to} is asked again by {member}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_deaths_are_shown_and_frequent_events_are_not() {
        let send = br#"{"time":1,"event":"send","id":"a","from":"bob","to":"alice","type":"message","preview":"Hi \u001b[2J"}"#;
        assert_eq!(event_text(send).unwrap(), "bob → alice: Hi \u{fffd}[2J");
        let idle = br#"{"time":1,"event":"send","id":"a","from":"bob","to":"lead","type":"idle_notification","preview":"Done."}"#;
        assert_eq!(event_text(idle).unwrap(), "bob → lead (report): Done.");
        let yes = br#"{"time":1,"event":"send","id":"a","from":"user","to":"bob","type":"plan_approval_response","preview":""}"#;
        let text = event_text(yes).unwrap();
        assert_eq!(text, "user → bob (plan approval response)");
        let death = br#"{"time":1,"event":"death","member":"bob","incarnation":2}"#;
        let text = event_text(death).unwrap();
        assert_eq!(text, "! bob died (the cause is unknown)");
        let death =
            br#"{"time":1,"event":"death","member":"bob","incarnation":2,"cause":{"signal":9}}"#;
        let text = event_text(death).unwrap();
        assert_eq!(text, "! bob died (killed by signal 9, SIGKILL)");
        let restart =
            br#"{"time":1,"event":"restart","member":"bob","incarnation":3,"reason":"policy"}"#;
        let text = event_text(restart).unwrap();
        assert_eq!(text, "+ bob was restarted (by its restart policy)");
        let asked = br#"{"time":1,"event":"restart","member":"bob","incarnation":3,"reason":"requested","person":"anna"}"#;
        let shown = timed_event(asked).unwrap();
        assert_eq!(shown.time, "1970-01-01 00:00:01");
        assert_eq!(shown.text, "+ bob was restarted (on request), by anna");
        let gave_up = br#"{"time":1,"event":"gave_up","member":"bob","incarnation":9,"reason":"'bob' was restarted too often"}"#;
        let text = event_text(gave_up).unwrap();
        assert_eq!(
            text,
            "! 'bob' was restarted too often; it is not restarted any more"
        );
        for noise in [
            &br#"{"time":1,"event":"deliver","id":"a","to":"lead"}"#[..],
            b"torn",
        ] {
            assert_eq!(event_text(noise), None);
        }
    }
}
