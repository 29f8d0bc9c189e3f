//! What the model says.

use serde_json::Value;

use crate::event::{Mail, Outcome};
use crate::identity::Identity;
use crate::step::{Awaited, Call, Job, Step};

/// For a user who was not understood.
pub(crate) const EXAMPLES: &str = "I understand, for example: \
    Spawn alice (coder) and bob (tester). | Ask alice to write hello to a.txt. | Send bob a message saying \"hi\". | \
    Broadcast \"phase 1 complete\" to all teammates. | Request her shutdown. | Approve bob's plan. | \
    Create 2 tasks: \"Build\", \"Test\". | Run \"ls -la\". | Read README.md. | List the teammates. \
    For everything else choose a real model, as with --model anthropic:NAME.";

const LONGEST: usize = 1500;

pub(crate) fn short(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} [...]", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

pub(crate) fn not_understood(text: &str) -> String {
    let text = text.trim();
    format!(
        "I did not understand \"{text}\" and did nothing about it: I am the offline model, which \
         follows plain instructions and is no LLM."
    )
}

/// The answer to the sender of a message. A model of this kind answers nothing that begins with
/// `Re:`, so two of them never write to each other for ever.
pub(crate) fn reply(report: &[String]) -> String {
    match report {
        [] => "Re: Done.".to_owned(),
        report => format!("Re: {}", short(&report.join(" "))),
    }
}

pub(crate) fn is_reply(text: &str) -> bool {
    text.starts_with("Re:")
}

/// The answer to a question: what the agent was asked to do so far, or who it is.
pub(crate) fn open_answer(text: &str, asked: &[String], me: &Identity<'_>) -> String {
    match asked {
        _ if !text.to_lowercase().contains("remember") => format!(
            "I am {}, speaking through the offline model: I follow plain instructions and cannot \
             answer open questions.",
            me.introduction()
        ),
        [] => "Nobody has asked me to do anything yet.".to_owned(),
        asked => format!("I was asked, in this order:\n- {}", asked.join("\n- ")),
    }
}

/// Whether the first word of the text is one of these, which are separated by spaces.
pub(crate) fn opens_with(text: &str, words: &str) -> bool {
    let first = text.split(|char: char| !char.is_alphanumeric()).next();
    let first = first.unwrap_or_default().to_lowercase();
    words.split(' ').any(|word| word == first)
}

pub(crate) fn awaited(awaited: &Awaited) -> String {
    match awaited {
        Awaited::Idle(name) => format!("{name} to be done"),
        Awaited::Plan(name) => format!("{name}'s plan"),
        Awaited::Shutdown(name) => format!("{name}'s answer to the shutdown request"),
        Awaited::Decision => "the lead's decision about my plan".to_owned(),
        Awaited::Background => "the background command to end".to_owned(),
    }
}

/// Whether the program reports that a teammate is gone.
pub(crate) fn reports_end(mail: &Mail, name: &str) -> bool {
    let is_end = matches!(mail.cause.as_deref(), Some("death" | "gave_up" | "failed"));
    let content = mail.content.to_lowercase();
    mail.kind == "notice" && is_end && content.contains(&name.to_lowercase())
}

pub(crate) fn shutdown_answer(name: &str, mail: &Mail) -> String {
    let reason = mail.feedback.as_ref().unwrap_or(&mail.content);
    let verb = match mail.approve {
        Some(true) => "approved the shutdown",
        Some(false) => "rejected the shutdown",
        None => "answered",
    };
    match reason.trim() {
        "" => format!("{name} {verb}."),
        reason => format!("{name} {verb} ({}).", short(reason)),
    }
}

/// The report about the result of a tool call.
pub(crate) fn outcome(outcome: &Outcome) -> String {
    let tool = outcome.tool.as_str();
    let text = |key: &str| outcome.text(key);
    let mut content = short(&outcome.content);
    if content.is_empty() {
        content = format!("{tool}: (no output)");
    }
    match tool {
        _ if outcome.failed => {
            format!("{} did not work: {content}", describe(tool, &outcome.input))
        }
        "send_message" => format!("{content}: \"{}\"", text("content")),
        "bash" => format!("$ {}\n{content}", text("command")),
        "read_file" => format!("{}:\n{content}", text("path")),
        "task_create" => match task_id(&content) {
            Some(id) => format!("Created task #{id}: {}", text("subject")),
            None => format!("Created a task: {}", text("subject")),
        },
        "task_update" => {
            let id = outcome.input.get("task_id").and_then(Value::as_i64);
            let id = id.unwrap_or_default();
            match text("status") {
                "" => format!("Updated task #{id}."),
                status => format!("Task #{id} is {status}."),
            }
        }
        _ => content,
    }
}

/// A call in short: the tool, and the argument that matters most.
fn describe(tool: &str, input: &Value) -> String {
    let keys = "path command to name teammate subject request_id";
    let mut texts = keys.split(' ').filter_map(|key| input.get(key)?.as_str());
    match texts.next() {
        Some(main) => format!("{tool} {main}"),
        None => tool.to_owned(),
    }
}

/// The report about a folder whose files were read.
pub(crate) fn read(dir: &str, job: &Job) -> String {
    let report = format!("I read {} files in {dir}, one by one.", job.read.len());
    match job.unreadable.as_slice() {
        [] => report,
        paths => format!("{report} Not readable: {}.", paths.join(", ")),
    }
}

/// One message, with what the user may say about it.
pub(crate) fn mail(mail: &Mail) -> String {
    let from = match mail.from.as_str() {
        "" => "the program",
        from => from,
    };
    let kind = match mail.kind.as_str() {
        "message" => String::new(),
        kind => format!(" ({kind})"),
    };
    let plan = mail.plan.as_ref().filter(|_| mail.content.is_empty());
    let content = short(plan.unwrap_or(&mail.content));
    match &mail.request_id {
        None => format!("From {from}{kind}: {content}"),
        Some(id) if mail.submits_plan() => format!(
            "From {from}{kind} [request {id}]: {content}\n\
             To decide about it say: Approve plan {id}. Or: Reject plan {id} because ..."
        ),
        Some(id) => format!("From {from}{kind} [request {id}]: {content}"),
    }
}

/// A plan for the lead to decide about.
pub(crate) fn plan<'s>(
    me: &Identity<'_>,
    about: Option<&str>,
    steps: impl IntoIterator<Item = &'s Step>,
) -> String {
    let about = about.map(|about| format!(" for: {about}"));
    let mut plan = format!("Plan of {}{}", me.introduction(), about.unwrap_or_default());
    let steps = steps.into_iter().filter_map(|step| match step {
        Step::Call(Call("plan_approval", _)) => None,
        Step::Call(Call(tool, input)) => Some(describe(tool, input)),
        Step::ListFiles { dir, .. } => Some(format!("read the files in {dir}")),
        _ => None,
    });
    let mut steps: Vec<String> = steps.take(20).collect();
    if steps.is_empty() {
        steps.push("Make the change in small steps, and test after each.".to_owned());
    }
    for (number, step) in (1..).zip(steps) {
        plan += &format!("\n{number}. {step}");
    }
    plan
}

/// The id in the result of `task_create`, if the result is still there.
pub(crate) fn task_id(content: &str) -> Option<i64> {
    if let Ok(task) = serde_json::from_str::<Value>(content) {
        return task.get("id")?.as_i64();
    }
    let (_, rest) = content.split_once('#')?;
    let digits = rest.split(|char: char| !char.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// The names in the result of `list_teammates`, without those that have ended.
pub(crate) fn listed(content: &str) -> Vec<String> {
    let lines = content.lines().filter(|line| line.starts_with(' '));
    let running = lines.filter_map(|line| {
        let (name, rest) = line.trim().split_once(" (")?;
        let (_, state) = rest.rsplit_once("): ")?;
        let ended = state.starts_with("shutdown") || state.starts_with("dead");
        (!ended).then(|| name.to_owned())
    });
    running.collect()
}

/// Whether a result was cleared or clipped.
pub(crate) fn is_incomplete(content: &str) -> bool {
    let content = content.trim();
    content.starts_with('[') && content.ends_with(']')
        || content.starts_with("<persisted-output")
        || content.contains(" bytes left out ...]")
}

/// The text as one word of a shell.
pub(crate) fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A first content for a file that is asked for without any, by its name.
pub(crate) fn first_content(path: &str) -> String {
    const PAGE: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<h1>Hello</h1>\n</html>\n";
    const CONFIG: &str = "{\n  \"host\": \"127.0.0.1\",\n  \"port\": 8080\n}\n";
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => PAGE.to_owned(),
        "json" => CONFIG.to_owned(),
        _ => format!("{name}\n"),
    }
}
