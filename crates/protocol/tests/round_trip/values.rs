//! Random values of every stored type.

use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use protocol::{
    Activity, AgentName, Answer, Body, DeadLetter, Effort, Extra, GrantScope, Holder, HostId,
    IgnoredAnswer, Incarnation, LiveState, Member, MemberRules, MemberSpec, MemberStatus, Message,
    MessageId, NetworkSetting, NoticeCause, Owner, Party, PermissionAsk, Phase, Priority,
    QuestionAsk, Recipient, Request, RequestId, RequestState, RestartPolicy, Roster, SandboxLevel,
    SandboxMode, Sender, Subject, Tally, Task, TaskHistory, TaskId, TaskStatus, TeamName,
    Temperature, Thinking, Timestamp, TreeMode, Tuning, WaitingFor,
};
use serde_json::Value;

pub(crate) fn text() -> impl Strategy<Value = String> + Clone {
    // Any characters at all, and often those that matter to JSON and to lines.
    prop_oneof![any::<String>(), "[{}\"\\\\ \n\r\u{0}a]{0,12}"].boxed()
}

/// Microseconds are exact up to the year 2106.
pub(crate) fn time() -> impl Strategy<Value = Timestamp> + Clone {
    (0..(1_i64 << 32) * 1_000_000).prop_map(Timestamp::from_micros)
}

pub(crate) fn incarnation() -> impl Strategy<Value = Incarnation> + Clone {
    any::<u64>().prop_map(Incarnation)
}

fn name() -> impl Strategy<Value = AgentName> + Clone {
    let valid = |text: String| AgentName::new(&text).ok();
    "[a-zA-Zäéß日本語0-9_-]{1,12}".prop_filter_map("reserved", valid)
}

fn recipient() -> impl Strategy<Value = Recipient> + Clone {
    prop_oneof![Just(Recipient::Lead), name().prop_map(Recipient::Member)]
}

fn party() -> impl Strategy<Value = Party> + Clone {
    prop_oneof![
        Just(Party::Lead),
        Just(Party::User),
        Just(Party::System),
        name().prop_map(Party::Member),
    ]
}

fn sender() -> impl Strategy<Value = Sender> + Clone {
    prop_oneof![
        party().prop_map(Sender::Party),
        text().prop_map(|text| Sender::new(&text))
    ]
}

fn message_id() -> impl Strategy<Value = MessageId> + Clone {
    "[ -~é日]{1,64}".prop_map(|text| MessageId::new(&text).unwrap())
}

fn request_id() -> impl Strategy<Value = RequestId> + Clone {
    "[a-zA-Z0-9_-]{1,64}".prop_map(|text| RequestId::new(&text).unwrap())
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 8.0)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(text(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Fields that no type knows.
pub(crate) fn extra() -> impl Strategy<Value = Extra> {
    btree_map("x[a-z é\"]{0,6}", json_value(), 0..4).prop_map(|map| map.into_iter().collect())
}

/// Fields that some message types know and others do not.
pub(crate) fn leftovers() -> impl Strategy<Value = Extra> {
    let words = vec!["content", "plan", "feedback", "reason"];
    let texts = btree_map(select(words), text(), 0..4);
    (texts, of(request_id()), of(any::<bool>())).prop_map(|(texts, request, approve)| {
        let texts = texts
            .into_iter()
            .map(|(key, text)| (key.to_owned(), text.into()));
        let request = request.map(|id| ("request_id".to_owned(), id.as_str().into()));
        let approve = approve.map(|approve| ("approve".to_owned(), approve.into()));
        texts.chain(request).chain(approve).collect()
    })
}

fn body() -> impl Strategy<Value = Body> {
    let answer = || (request_id(), any::<bool>(), text());
    prop_oneof![
        text().prop_map(|content| Body::Message { content }),
        text().prop_map(|content| Body::Broadcast { content }),
        (request_id(), text()).prop_map(|(request_id, content)| Body::ShutdownRequest {
            request_id,
            content,
        }),
        answer().prop_map(|(request_id, approve, reason)| Body::ShutdownResponse {
            request_id,
            approve,
            reason,
        }),
        (request_id(), text(), text()).prop_map(|(request_id, plan, content)| {
            Body::PlanApprovalRequest {
                request_id,
                plan,
                content,
            }
        }),
        answer().prop_map(
            |(request_id, approve, feedback)| Body::PlanApprovalResponse {
                request_id,
                approve,
                feedback,
            }
        ),
        text().prop_map(|content| Body::IdleNotification { content }),
        (cause(), text()).prop_map(|(cause, content)| Body::Notice { cause, content }),
    ]
}

fn cause() -> impl Strategy<Value = Option<NoticeCause>> {
    select(vec![
        None,
        Some(NoticeCause::Death),
        Some(NoticeCause::GaveUp),
        Some(NoticeCause::Failed),
        Some(NoticeCause::DeadLetter),
        Some(NoticeCause::Budget),
        Some(NoticeCause::Traffic),
        Some(NoticeCause::LeftFiles),
        Some(NoticeCause::Submission),
        Some(NoticeCause::Other("weather".to_owned())),
    ])
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    let who = (
        of(message_id()),
        of(sender()),
        of(recipient()),
        of(message_id()),
    );
    let when = (of(time()), of(incarnation()), of(incarnation()));
    (who, when, body(), extra()).prop_map(|(who, when, body, extra)| {
        let (id, from, to, in_reply_to) = who;
        let (timestamp, from_incarnation, to_incarnation) = when;
        Message {
            id,
            from,
            to,
            timestamp,
            from_incarnation,
            to_incarnation,
            in_reply_to,
            body,
            extra,
        }
    })
}

fn status() -> impl Strategy<Value = MemberStatus> {
    let other = text().prop_map(MemberStatus::from);
    prop_oneof![Just(MemberStatus::Working), Just(MemberStatus::Idle), other]
}

fn network() -> impl Strategy<Value = NetworkSetting> {
    prop_oneof![
        Just(NetworkSetting::Off),
        Just(NetworkSetting::On),
        Just("a.org,*.b.org:8443".parse().unwrap())
    ]
}

fn tuning() -> impl Strategy<Value = Tuning> {
    let temperature = (0_u8..=200).prop_map(|n| Temperature::new(f64::from(n) / 100.0).unwrap());
    let parts = (
        of(any::<u32>()),
        of(text().prop_map(Effort::from)),
        of(any::<u32>().prop_map(Thinking::Budget)),
        of(temperature),
    );
    parts.prop_map(|(max_output, effort, thinking, temperature)| Tuning {
        max_output,
        effort,
        thinking,
        temperature,
    })
}

fn member_rules() -> impl Strategy<Value = MemberRules> {
    let rules = || vec(text(), 0..3);
    (rules(), rules(), rules(), any::<bool>()).prop_map(|(deny, ask, allow, yes)| MemberRules {
        deny,
        ask,
        allow,
        yes,
        extra: Extra::new(),
    })
}

type Place = (Option<TreeMode>, Option<MemberRules>, Option<String>);

/// Where a member works, and with what.
fn place() -> impl Strategy<Value = Place> {
    (
        of(text().prop_map(TreeMode::from)),
        of(member_rules()),
        of(text()),
    )
}

fn restart_policy() -> impl Strategy<Value = RestartPolicy> {
    select(vec![RestartPolicy::Never, RestartPolicy::OnFailure])
}

fn member() -> impl Strategy<Value = Member> {
    let known = (name(), text(), status(), incarnation());
    let more = (
        of(text()),
        of(any::<bool>()),
        of(restart_policy()),
        of(text()),
        of(text()),
        of(time()),
    );
    let course = (
        of(message_id()),
        of(any::<bool>()),
        of(any::<u64>()),
        of(incarnation()),
        of(vec(time(), 0..3)),
        of(text()),
        of(text().prop_map(SandboxMode::from)),
        of(network()),
    );
    let tuning = (tuning(), of(any::<bool>()), place(), of(host()));
    (known, more, course, tuning, extra()).prop_map(|(known, more, course, tuning, extra)| {
        let (tuning, web, (tree, permissions, engine), host) = tuning;
        let (name, role, status, incarnation) = known;
        let (model, require_plan, restart, prompt, exec, joined_at) = more;
        let (prompt_id, no_claim, idle_timeout, reaped, restarts, gave_up, sandbox, network) =
            course;
        Member {
            spec: MemberSpec {
                name,
                role,
                model,
                require_plan,
                restart,
                prompt,
                exec,
                engine,
                no_claim,
                idle_timeout,
                sandbox,
                network,
                tree,
                max_output: tuning.max_output,
                effort: tuning.effort,
                thinking: tuning.thinking,
                temperature: tuning.temperature,
                web,
                permissions,
            },
            status,
            incarnation,
            joined_at,
            asked: None,
            prompt_id,
            reaped,
            restarts,
            gave_up,
            host,
            extra,
        }
    })
}

fn host() -> impl Strategy<Value = HostId> {
    "[a-z][a-z0-9_-]{0,20}".prop_map(|text| HostId::new(&text).unwrap())
}

pub(crate) fn roster() -> impl Strategy<Value = Roster> {
    (
        text(),
        any::<u64>(),
        vec(member(), 0..4),
        incarnation(),
        extra(),
    )
        .prop_map(
            |(team_name, rev, members, lead_incarnation, extra)| Roster {
                team_name: TeamName(team_name),
                rev,
                members,
                lead_incarnation,
                extra,
                ..Roster::default()
            },
        )
}

fn history() -> impl Strategy<Value = TaskHistory> {
    let released = of((party(), incarnation()));
    (time(), party(), text(), of(text()), released, extra()).prop_map(
        |(at, by, action, note, released, extra)| {
            let (owner, owner_incarnation) = released.unzip();
            TaskHistory {
                at,
                by,
                action,
                note,
                owner,
                owner_incarnation,
                host: None,
                ask: None,
                extra,
            }
        },
    )
}

pub(crate) fn task() -> impl Strategy<Value = Task> {
    use TaskStatus::{Completed, InProgress, Pending};
    let status = select(vec![Pending, InProgress, Completed]);
    let priority = (0..=10_u8).prop_map(|value| Priority::new(value).unwrap());
    let ids = vec(any::<u64>().prop_map(TaskId), 0..4);
    let known = (any::<u64>(), text(), text(), status, ids);
    let owned = (
        of(party()),
        of(incarnation()),
        priority,
        of(text()),
        of(text()),
    );
    let rest = (of(time()), of(time()), vec(history(), 0..3), extra());
    (known, owned, rest).prop_map(|(known, owned, rest)| {
        let (id, subject, description, status, blocked_by) = known;
        let (owner, owner_incarnation, priority, role, result) = owned;
        let (created_at, updated_at, history, extra) = rest;
        Task {
            id: TaskId(id),
            subject,
            description,
            status,
            blocked_by,
            owner: Owner(owner),
            owner_incarnation,
            lease: None,
            priority,
            role,
            result,
            created_at,
            updated_at,
            history,
            extra,
        }
    })
}

fn ignored() -> impl Strategy<Value = IgnoredAnswer> {
    let said = (of(sender()), of(incarnation()), of(any::<bool>()));
    (said, time(), text(), extra()).prop_map(|(said, at, why, extra)| {
        let (from, from_incarnation, approve) = said;
        IgnoredAnswer {
            from,
            from_incarnation,
            approve,
            at,
            why,
            extra,
        }
    })
}

fn permission() -> impl Strategy<Value = PermissionAsk> {
    let call = (text(), extra(), text(), text());
    (call, text(), of(text()), any::<bool>()).prop_map(|(call, why, grants, lead_decides)| {
        let (tool, arguments, call_hash, cwd) = call;
        PermissionAsk {
            tool,
            arguments: Value::Object(arguments),
            call_hash,
            cwd,
            why,
            grants,
            lead_decides,
        }
    })
}

fn question() -> impl Strategy<Value = QuestionAsk> {
    let asked = (text(), vec(text(), 0..3), any::<bool>());
    (asked, text(), any::<bool>()).prop_map(|(asked, call_hash, lead_decides)| {
        let (question, choices, free_text) = asked;
        QuestionAsk {
            question,
            choices,
            free_text,
            call_hash,
            lead_decides,
        }
    })
}

fn subject() -> impl Strategy<Value = Subject> {
    prop_oneof![
        (text(), any::<bool>(), any::<bool>()).prop_map(|(reason, force, lead_leaves)| {
            Subject::Shutdown {
                reason,
                force,
                lead_leaves,
            }
        }),
        (text(), text()).prop_map(|(plan, plan_hash)| Subject::Plan { plan, plan_hash }),
        permission().prop_map(Subject::Permission),
        question().prop_map(Subject::Question),
    ]
}

pub(crate) fn request() -> impl Strategy<Value = Request> {
    let scope = select(vec![GrantScope::Once, GrantScope::Member, GrantScope::Team]);
    let answer = (party(), time(), text(), of(text()), of(scope));
    let answer = answer.prop_map(|(by, at, text, name, scope)| Answer {
        by,
        at,
        text,
        name,
        scope,
    });
    let state = prop_oneof![
        Just(RequestState::Pending),
        answer.clone().prop_map(RequestState::Approved),
        answer.prop_map(RequestState::Rejected),
        (time(), text()).prop_map(|(at, reason)| RequestState::Expired { at, reason }),
    ];
    let who = (
        request_id(),
        party(),
        of(incarnation()),
        recipient(),
        of(incarnation()),
    );
    let rest = (
        time(),
        of(time()),
        of(time()),
        vec(ignored(), 0..3),
        of(text()),
        extra(),
    );
    (who, subject(), state, rest).prop_map(|(who, subject, state, rest)| {
        let (id, from, from_incarnation, to, to_incarnation) = who;
        let (created_at, deadline, notified_at, ignored, refused, extra) = rest;
        Request {
            id,
            from,
            from_incarnation,
            to,
            to_incarnation,
            created_at,
            deadline,
            notified_at,
            subject,
            state,
            ignored,
            host: None,
            sent: None,
            refused,
            extra,
        }
    })
}

pub(crate) fn holder() -> impl Strategy<Value = Holder> {
    let process = (any::<u32>(), any::<u64>(), text(), text());
    (process, incarnation(), time(), extra()).prop_map(|(process, incarnation, since, extra)| {
        let (pid, start_time, boot_id, host) = process;
        Holder {
            pid,
            start_time,
            boot_id,
            host,
            incarnation,
            since,
            extra,
        }
    })
}

pub(crate) fn live_state() -> impl Strategy<Value = LiveState> {
    let phase = select(vec![
        Phase::Starting,
        Phase::Working,
        Phase::Waiting,
        Phase::Idle,
        Phase::Failed,
        Phase::Shutdown,
    ]);
    let waiting_for = select(vec![
        WaitingFor::Plan,
        WaitingFor::Permission,
        WaitingFor::Answer,
        WaitingFor::Background,
        WaitingFor::RateLimit,
        WaitingFor::Server,
        WaitingFor::Disk,
        WaitingFor::Budget,
        WaitingFor::Turn,
        WaitingFor::Tree,
    ]);
    let activity = (text(), of(text()), time(), extra());
    let activity = activity.prop_map(|(name, argument, since, extra)| Activity {
        name,
        argument: argument.map(String::into_boxed_str),
        since,
        extra,
    });
    let known = (incarnation(), phase, time(), of(waiting_for), of(text()));
    let level = select(vec![
        SandboxLevel::None,
        SandboxLevel::Landlock,
        SandboxLevel::Full,
    ]);
    let task = of(any::<u64>());
    let doing = (
        of(activity),
        of(time()),
        task,
        of(tally()),
        of(level),
        of(text()),
    );
    (known, doing, extra()).prop_map(|(known, doing, extra)| {
        let (incarnation, phase, since, waiting_for, reason) = known;
        let (activity, progress_at, task, usage, sandbox, model) = doing;
        LiveState {
            incarnation,
            phase,
            since,
            waiting_for,
            reason,
            activity,
            progress_at,
            model,
            task: task.map(TaskId),
            usage,
            sandbox,
            extra,
        }
    })
}

fn tally() -> impl Strategy<Value = Tally> {
    let counts = (any::<u64>(), any::<u64>(), any::<u64>());
    (counts, any::<u64>(), any::<u64>(), extra()).prop_map(
        |(counts, cache_read, cache_write, extra)| Tally {
            calls: counts.0,
            input: counts.1,
            output: counts.2,
            cache_read,
            cache_write,
            extra,
        },
    )
}

pub(crate) fn dead_letter() -> impl Strategy<Value = DeadLetter> {
    let line = json_value().prop_filter("null means absent", |line| !line.is_null());
    let known = (text(), time(), recipient(), text());
    (known, of(line), of(text()), of("[0-9a-f]{0,8}"), extra()).prop_map(
        |(known, line, raw, raw_hex, extra)| {
            let (id, time, inbox, reason) = known;
            DeadLetter {
                id,
                time,
                inbox,
                reason,
                line,
                raw,
                raw_hex,
                extra,
            }
        },
    )
}
