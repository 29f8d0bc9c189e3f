//! What another host may cause here: a pure decision.
//!
//! Another host is less trusted than this one. It speaks for those at home there and for nobody else.

mod bundles;

pub use bundles::{BundleRefused, admit_bundle, admit_part};

use protocol::{
    HostId, HostMembers, JsonLine, Party, Recipient, Request, RequestFile, RequestKind, Roster,
    Sender, SentAnswer,
};
use rules::{AnswerSource, Response, name_elsewhere};
use serde_json::{Map, Value};

/// Why something from another host has no effect here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("'{0}' is not at home on this host")]
    NotHere(Recipient),
    #[error("it says it is from '{sender}', who is not at home on the host '{host}'")]
    OtherSender { sender: String, host: HostId },
    /// A member that reads mail for a later incarnation takes itself for replaced, and ends.
    #[error("it is for incarnation {found} of '{to}', which there was not yet")]
    LaterIncarnation { to: Recipient, found: u64 },
    #[error("it is no line of an inbox: {0}")]
    NoLine(String),
    #[error("it is no request: {0}")]
    NoRequest(String),
    /// Only what people are asked is shown on other hosts.
    #[error("a {} request is not for people of other hosts", .0.as_str())]
    NotForPeople(RequestKind),
    #[error(
        "people of the host '{0}' may not answer here: the lead is not at home there, and the bridge of this host \
         runs without --accept-answers"
    )]
    MayNotAnswer(HostId),
}

/// Whether people of `host` see what is asked here, and may answer it: those of the host of the lead, and others
/// if this host accepts their answers.
pub(crate) fn may_answer(roster: &Roster, host: &HostId, accepts_answers: bool) -> bool {
    accepts_answers || roster.lead_host.as_ref() == Some(host)
}

/// The copy of a request that `host` says is at home there.
pub fn admit_request(
    roster: &Roster,
    host: &HostId,
    said: &RequestFile,
) -> Result<Request, Refusal> {
    let request = Request::try_from(said.clone());
    let request = request.map_err(|error| Refusal::NoRequest(error.to_string()))?;
    if !request.kind().waits_for_person() || request.to != Recipient::Lead {
        return Err(Refusal::NotForPeople(request.kind()));
    }
    let is_theirs = match &request.from {
        Party::Member(name) => {
            roster.member(name).and_then(|member| member.host.as_ref()) == Some(host)
        }
        Party::Lead => roster.lead_host.as_ref() == Some(host),
        Party::User | Party::System => false,
    };
    if !is_theirs {
        return Err(Refusal::OtherSender {
            sender: request.from.to_string(),
            host: host.clone(),
        });
    }
    Ok(Request {
        host: Some(host.clone()),
        sent: None,
        refused: None,
        notified_at: None,
        ignored: Vec::new(),
        ..request
    })
}

/// What somebody of `host` answers, as it is judged here by the rules of the request. A person of another host is
/// called after it, whatever the answer says.
pub fn admit_answer(
    roster: &Roster,
    host: &HostId,
    accepts_answers: bool,
    said: &SentAnswer,
) -> Result<Response, Refusal> {
    if !said.kind.waits_for_person() {
        return Err(Refusal::NotForPeople(said.kind));
    }
    if !may_answer(roster, host, accepts_answers) {
        return Err(Refusal::MayNotAnswer(host.clone()));
    }
    let is_leads = roster.lead_host.as_ref() == Some(host);
    let (name, incarnation) = match &said.by {
        Party::User => (Some(name_elsewhere(said.name.as_deref(), host)), None),
        Party::Lead if is_leads => (None, Some(roster.lead_incarnation)),
        other @ (Party::Lead | Party::System | Party::Member(_)) => {
            return Err(Refusal::OtherSender {
                sender: other.to_string(),
                host: host.clone(),
            });
        }
    };
    Ok(Response {
        kind: said.kind,
        request_id: said.request_id.clone(),
        from: Some(Sender::Party(said.by.clone())),
        from_incarnation: incarnation,
        approve: said.approve,
        text: said.text.clone(),
        name,
        scope: said.scope,
        source: AnswerSource::Answerer,
    })
}

/// The line to put into the inbox of `to`, for mail that came from `host`. The person and the program of a
/// host that is not the lead's are strangers here, and are called after their host.
pub fn admit_mail(
    roster: &Roster,
    host: &HostId,
    to: &Recipient,
    mut line: Map<String, Value>,
) -> Result<JsonLine, Refusal> {
    let here = match to {
        Recipient::Lead => roster.lead_host.is_none(),
        Recipient::Member(name) => roster
            .member(name)
            .is_some_and(|member| member.host.is_none()),
    };
    if !here {
        return Err(Refusal::NotHere(to.clone()));
    }
    let current = match to {
        Recipient::Lead => Some(roster.lead_incarnation),
        Recipient::Member(name) => roster.member(name).map(|member| member.incarnation),
    };
    let found = line.get("to_incarnation").and_then(Value::as_u64);
    if let Some(found) = found.filter(|found| current.is_none_or(|current| *found > current.0)) {
        let to = to.clone();
        return Err(Refusal::LaterIncarnation { to, found });
    }
    let from = line.get("from").and_then(Value::as_str).unwrap_or_default();
    let is_leads = roster.lead_host.as_ref() == Some(host);
    let other = |sender: &str| Refusal::OtherSender {
        sender: sender.to_owned(),
        host: host.clone(),
    };
    match Sender::new(from) {
        Sender::Party(Party::Member(name)) => {
            let home = roster.member(&name).and_then(|member| member.host.as_ref());
            if home != Some(host) {
                return Err(other(from));
            }
        }
        Sender::Party(Party::Lead) if !is_leads => return Err(other(from)),
        Sender::Party(Party::User | Party::System) if !is_leads => {
            let from = format!("{from}@{host}");
            line.insert("from".to_owned(), Value::String(from));
        }
        Sender::Party(Party::Lead | Party::User | Party::System) | Sender::Stranger(_) => {}
    }
    JsonLine::encode(&line).map_err(|error| Refusal::NoLine(error.to_string()))
}

/// Changes the roster to what `host` says of those at home there. Returns what of it has no effect.
pub fn admit_members(roster: &mut Roster, host: &HostId, said: &HostMembers) -> Vec<String> {
    let mut refused = Vec::new();
    // Which host leads is chosen by people, see `Core::follow_lead`.
    match (said.lead, roster.lead_host.as_ref() == Some(host)) {
        (Some(incarnation), true) => roster.lead_incarnation = incarnation,
        (Some(_), false) => refused.push(format!(
            "the host '{host}' says that the lead is at home there, which is not so for this host"
        )),
        (None, _) => {}
    }
    roster.members.retain(|member| {
        member.host.as_ref() != Some(host)
            || said
                .members
                .iter()
                .any(|there| there.name.same_as(&member.spec.name))
    });
    for there in &said.members {
        match roster.member_mut(&there.name) {
            Some(member) if member.host.as_ref() == Some(host) && said.names_only => {}
            Some(member) if member.host.as_ref() == Some(host) => {
                member.spec.role.clone_from(&there.role);
                member.status = there.status.clone();
                member.incarnation = there.incarnation;
            }
            Some(member) => {
                let home = member.host.as_ref().map_or("this host", HostId::as_str);
                refused.push(format!(
                    "'{}' of the host '{host}' is unknown here, because {home} has a member of that name",
                    there.name
                ));
            }
            None => {
                let mut member = protocol::Member::new(there.name.clone(), &there.role);
                member.status = there.status.clone();
                member.incarnation = there.incarnation;
                member.host = Some(host.clone());
                roster.members.push(member);
            }
        }
    }
    refused
}
