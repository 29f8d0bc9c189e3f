//! What the texts of a user's turn bring: instructions, mail, tasks and results.

use serde_json::{Map, Value};

/// A message of a colleague or of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mail {
    pub(super) kind: String,
    pub(super) from: String,
    pub(super) content: String,
    pub(super) request_id: Option<String>,
    pub(super) approve: Option<bool>,
    pub(super) plan: Option<String>,
    pub(super) feedback: Option<String>,
}

impl Mail {
    /// Reads a message in the form in which it lies in an inbox.
    fn from_json(value: &Value) -> Option<Self> {
        let object: &Map<String, Value> = value.as_object()?;
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        let content = match object.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let kind = text("type").unwrap_or_else(|| "message".to_owned());
        Some(Self {
            from: text("from").or_else(|| (object.contains_key("type")).then(String::new))?,
            content,
            request_id: text("request_id"),
            approve: object.get("approve").and_then(Value::as_bool),
            plan: text("plan"),
            feedback: text("feedback").or_else(|| text("reason")),
            kind,
        })
    }

    /// Whether a plan is submitted with it, in either form that there is.
    pub(super) fn submits_plan(&self) -> bool {
        self.kind == "plan_approval_request"
            || self.kind == "plan_approval_response"
                && self.plan.is_some()
                && self.approve.is_none()
    }

    /// Whether it decides about a plan.
    pub(super) fn decides_plan(&self) -> bool {
        self.kind == "plan_approval_response" && !self.submits_plan()
    }
}

/// One piece of news in a user's turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    Instruction(String),
    Mail(Mail),
    Claimed {
        id: i64,
        work: String,
    },
    /// Results of background commands.
    Background(String),
    /// The end of a conversation that was shortened, as a transcript.
    Unanswered(String),
    /// A conversation that was shortened to this.
    Summary(String),
}

/// Takes a text apart.
pub(super) fn news(text: &str) -> Vec<News> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Vec::new();
    }
    if let Some(rest) = trimmed.strip_prefix("Not answered yet:") {
        return vec![News::Unanswered(rest.trim().to_owned())];
    }
    if super::summary::is_one(trimmed) {
        return vec![News::Summary(trimmed.to_owned())];
    }
    if let Some(mail) = mails(trimmed) {
        return mail.into_iter().map(News::Mail).collect();
    }
    let mut all = Vec::new();
    let mut rest = trimmed;
    while let Some((before, tag, inner, after)) = element(rest) {
        plain(before, &mut all);
        tagged(&tag, inner, &mut all);
        rest = after;
    }
    plain(rest, &mut all);
    all
}

fn plain(text: &str, all: &mut Vec<News>) {
    let text = text.trim();
    if !text.is_empty() {
        all.push(News::Instruction(text.to_owned()));
    }
}

/// What stands in a tag. A tag that is not known holds context, not orders.
fn tagged(tag: &str, inner: &str, all: &mut Vec<News>) {
    let name = tag.split_whitespace().next().unwrap_or_default();
    match name {
        "inbox" | "mail" | "messages" => match mails(inner.trim()) {
            Some(mails) => all.extend(mails.into_iter().map(News::Mail)),
            None => nested(inner, all),
        },
        "message" => all.push(News::Mail(Mail {
            kind: attribute(tag, "type").unwrap_or_else(|| "message".to_owned()),
            from: attribute(tag, "from").unwrap_or_default(),
            content: inner.trim().to_owned(),
            request_id: attribute(tag, "request_id"),
            approve: attribute(tag, "approve").map(|text| text == "true"),
            ..Mail::default()
        })),
        "auto-claimed" => {
            if let Some(claimed) = claimed(inner) {
                all.push(claimed);
            }
        }
        "background-results" | "task_notification" => {
            all.push(News::Background(inner.trim().to_owned()))
        }
        "prompt" | "user" | "instruction" => plain(inner, all),
        _ => {}
    }
}

/// Messages that are tags inside a tag, or words.
fn nested(inner: &str, all: &mut Vec<News>) {
    let mut rest = inner;
    let mut any = false;
    while let Some((_, tag, inside, after)) = element(rest) {
        tagged(&tag, inside, all);
        rest = after;
        any = true;
    }
    if !any && !inner.trim().is_empty() {
        let (from, content) = inner.trim().split_once(": ").unwrap_or(("", inner.trim()));
        let from = from.split_whitespace().last().unwrap_or_default();
        all.push(News::Mail(Mail {
            kind: "message".to_owned(),
            from: from.to_owned(),
            content: content.to_owned(),
            ..Mail::default()
        }));
    }
}

/// The first tag with its inside: what is before, the tag, the inside, and what
/// is after.
fn element(text: &str) -> Option<(&str, String, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text.get(from..)?.find('<')?;
        let rest = text.get(open + 1..)?;
        let close = rest.find('>');
        let tag = close
            .and_then(|close| rest.get(..close))
            .unwrap_or_default();
        let name: &str = tag.split_whitespace().next().unwrap_or_default();
        let allowed = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
        let end = format!("</{name}>");
        let inside = rest.get(tag.len() + 1..).unwrap_or_default();
        // Tags of web pages and the like are not ours: ours begin a line.
        let begins = text
            .get(..open)?
            .trim_end_matches([' ', '\t'])
            .chars()
            .last()
            .is_none_or(|char| char == '\n');
        if begins
            && !name.is_empty()
            && name.chars().all(allowed)
            && let Some(length) = inside.find(&end)
        {
            let inner = inside.get(..length)?;
            let after = inside.get(length + end.len()..)?;
            return Some((text.get(..open)?, tag.to_owned(), inner, after));
        }
        from = open + 1;
    }
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value.to_owned())
}

/// `Task #3: subject`, and perhaps more lines.
fn claimed(inner: &str) -> Option<News> {
    let inner = inner.trim();
    let (_, rest) = inner.split_once('#')?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let work = rest.get(digits.len()..)?.trim_start_matches([':', ' ']);
    Some(News::Claimed {
        id: digits.parse().ok()?,
        work: work.trim().to_owned(),
    })
}

/// Messages as a JSON list, as one object, or as one object a line.
pub(super) fn mails(text: &str) -> Option<Vec<Mail>> {
    if !text.starts_with(['[', '{']) {
        return None;
    }
    let values: Vec<Value> = match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(values)) => values,
        Ok(Value::Object(object)) => match object.get("messages") {
            Some(Value::Array(values)) => values.clone(),
            _ => vec![Value::Object(object)],
        },
        Ok(_) => return None,
        Err(_) => text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| serde_json::from_str(line).ok())
            .collect::<Option<_>>()?,
    };
    values.iter().map(Mail::from_json).collect()
}
