//! The parts of a request.

use serde_json::Value;
use std::collections::BTreeMap;

/// What a part of a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// What is to be done, and doing it.
    Work,
    /// That the agent is of a team, and how a team works.
    Rules,
    /// The schemas of the tools for the team.
    Tools,
    /// Roster and board.
    State,
    /// Messages and notices.
    Mail,
    /// Calls and results of tools for the team, and questions of the program.
    Protocol,
}

pub(super) const PARTS: [Part; 6] = [
    Part::Work,
    Part::Rules,
    Part::Tools,
    Part::State,
    Part::Mail,
    Part::Protocol,
];

impl Part {
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Rules => "system texts",
            Self::Tools => "schemas of team tools",
            Self::State => "roster and board",
            Self::Mail => "mail and notices",
            Self::Protocol => "calls of team tools",
        }
    }
}

/// The tools with which work is done. All others are for the team. The last ones are those of an agent that
/// works alone too: it asks its user, keeps a to-do list, and lets a helper search.
const WORK_TOOLS: [&str; 13] = [
    "bash",
    "read_file",
    "write_file",
    "edit_file",
    "grep",
    "glob",
    "list_dir",
    "background_run",
    "check_background",
    "compact",
    "ask_user",
    "todo",
    "explore",
];

/// The headings of a system text that are about the team. What is under others, such as the environment, how to
/// work and the role, an agent that works alone is told too.
const TEAM_HEADINGS: [&str; 4] = ["# Team", "# Board", "# Notes", "# You"];

/// A piece of a request, in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) json: String,
    /// What it is for, and how many bytes of it: a system text is for several things.
    pub(super) bytes: Vec<(Part, usize)>,
}

impl Piece {
    fn of(part: Part, value: &Value) -> Self {
        let json = without_marks(value).to_string();
        let bytes = vec![(part, json.len())];
        Self { json, bytes }
    }

    /// A block of the system text.
    fn system(block: &Value) -> Self {
        let mut piece = Self::of(Part::Rules, block);
        let text = block["text"].as_str().or(block.as_str()).unwrap_or("");
        let work: usize = sections(text)
            .filter(|(heading, _)| is_work(heading))
            .map(|(_, section)| Value::from(section).to_string().len() - 2)
            .sum();
        let all = piece.json.len();
        piece.bytes = vec![(Part::Work, work), (Part::Rules, all - work)];
        piece
    }
}

/// The sections of a system text with their headings; the first one has none.
fn sections(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let whole = rest?;
        let end = whole.find("\n\n# ").map(|at| at + 2);
        let (section, after) = end.map_or((whole, None), |end| {
            let (section, after) = whole.split_at(end);
            (section, Some(after))
        });
        rest = after;
        let first = section.lines().next().unwrap_or("");
        let heading = if first.starts_with("# ") { first } else { "" };
        Some((heading, section))
    })
}

fn is_work(heading: &str) -> bool {
    !heading.is_empty() && !TEAM_HEADINGS.contains(&heading)
}

/// Cuts the body of a request of the Messages API into pieces.
pub(super) fn pieces(body: &Value) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for tool in list(&body["tools"]) {
        pieces.push(Piece::of(by_tool(&tool["name"], Part::Tools), tool));
    }
    match &body["system"] {
        Value::Array(blocks) => pieces.extend(blocks.iter().map(Piece::system)),
        Value::Null => {}
        text => pieces.push(Piece::system(text)),
    }
    let mut add = |part, value: &Value| pieces.push(Piece::of(part, value));
    // Which tool a result is of stands in the call before it.
    let mut calls: BTreeMap<&str, &Value> = BTreeMap::new();
    for message in list(&body["messages"]) {
        let content = &message["content"];
        if content.is_string() {
            add(by_text(content), content);
        }
        for block in list(content) {
            let part = match block["type"].as_str() {
                Some("tool_use") => {
                    calls.insert(block["id"].as_str().unwrap_or(""), &block["name"]);
                    by_tool(&block["name"], Part::Protocol)
                }
                Some("tool_result") => {
                    let id = block["tool_use_id"].as_str().unwrap_or("");
                    let name = calls.get(id).copied().unwrap_or(&Value::Null);
                    by_tool(name, Part::Protocol)
                }
                _ if message["role"] == "user" => by_text(&block["text"]),
                _ => Part::Work,
            };
            add(part, block);
        }
    }
    pieces
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn by_tool(name: &Value, team: Part) -> Part {
    let name = name.as_str().unwrap_or("");
    if WORK_TOOLS.contains(&name) {
        Part::Work
    } else {
        team
    }
}

fn by_text(text: &Value) -> Part {
    let text = text.as_str().unwrap_or("").trim_start();
    if text.starts_with("<team-state>") {
        Part::State
    } else if text.starts_with("<mail ") || text.starts_with("<board>") {
        Part::Mail
    } else if text.starts_with("<task-outcome>") || text.starts_with("<shutdown") {
        Part::Protocol
    } else {
        Part::Work
    }
}

/// The same without the marks that tell the provider what to keep: they wander.
fn without_marks(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| *key != "cache_control");
            kept.map(|(key, value)| (key.clone(), without_marks(value)))
                .collect()
        }
        Value::Array(values) => values.iter().map(without_marks).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_piece_is_coordination_or_work() {
        let body = json!({
            "tools": [{"name": "bash"}, {"name": "send_message"}],
            "system": "You are 'alice'.",
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "<auto-claimed>Task #1</auto-claimed>"},
                    {"type": "text", "text": "<mail from=\"bob\">\nhi\n</mail>"},
                    {"type": "text", "text": "<team-state>\n</team-state>", "cache_control": {}},
                ]},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "a", "name": "bash", "input": {}},
                    {"type": "tool_use", "id": "b", "name": "task_update", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "x"},
                    {"type": "tool_result", "tool_use_id": "b", "content": "y"},
                ]},
            ],
        });
        let found = pieces(&body);
        let parts = found.iter().map(|piece| piece.bytes.last().unwrap().0);
        let parts: Vec<Part> = parts.collect();
        assert_eq!(
            parts,
            [
                Part::Work,
                Part::Tools,
                Part::Rules,
                Part::Work,
                Part::Mail,
                Part::State,
                Part::Work,
                Part::Work,
                Part::Protocol,
                Part::Work,
                Part::Protocol,
            ]
        );
        assert!(!found[5].json.contains("cache_control"));
    }

    #[test]
    fn of_a_system_text_only_what_is_about_the_team_is_coordination() {
        let text =
            "You are 'alice'.\n\n# Environment\n- \"x\"\n\n# Team\n- Mail\n\n# Your role\nCode.";
        let body = json!({"system": [{"type": "text", "text": text}]});
        let found = pieces(&body);
        let work = "# Environment\\n- \\\"x\\\"\\n\\n# Your role\\nCode.".len();
        assert_eq!(found[0].bytes[0], (Part::Work, work));
        assert_eq!(found[0].bytes[1], (Part::Rules, found[0].json.len() - work));
    }
}
