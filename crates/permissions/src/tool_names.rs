//! The names by which rules call tools: those of Claude Code, and our own.

/// What the text in the parentheses of a rule is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// The commands of a script.
    Command,
    /// The commands of a script that is to have the network.
    Network,
    /// The path of a file.
    Path,
    /// `domain:` and a host.
    Domain,
    /// The role of a new teammate.
    Role,
    /// Nothing: the rule is the name alone.
    None,
}

/// A name in a rule.
#[derive(Debug)]
pub(crate) struct ToolName {
    pub(crate) name: &'static str,
    /// The tools that it stands for.
    pub(crate) tools: &'static [&'static str],
    pub(crate) argument: Argument,
}

const fn tool(name: &'static str, tools: &'static [&'static str], argument: Argument) -> ToolName {
    ToolName {
        name,
        tools,
        argument,
    }
}

/// Every name that a rule may start with, but for those of MCP servers.
pub(crate) const NAMES: &[ToolName] = &[
    tool("Bash", &["bash", "background_run"], Argument::Command),
    tool("Network", &["bash", "background_run"], Argument::Network),
    tool(
        "Read",
        &["read_file", "grep", "glob", "list_dir"],
        Argument::Path,
    ),
    tool("Edit", &["edit_file", "write_file"], Argument::Path),
    tool("Write", &["write_file"], Argument::Path),
    tool("MultiEdit", &["edit_file"], Argument::Path),
    tool("Grep", &["grep"], Argument::Path),
    tool("Glob", &["glob"], Argument::Path),
    tool("LS", &["list_dir"], Argument::Path),
    tool("WebFetch", &["web_fetch"], Argument::Domain),
    tool("WebSearch", &["web_search"], Argument::None),
    tool("Spawn", &["spawn_teammate"], Argument::Role),
    tool("Agent", &["spawn_teammate"], Argument::Role),
    tool("Task", &["spawn_teammate"], Argument::Role),
    tool("TodoWrite", &["todo"], Argument::None),
    tool("Skill", &["skill"], Argument::None),
    tool("AskUserQuestion", &["ask_user"], Argument::None),
    tool("bash", &["bash"], Argument::Command),
    tool("background_run", &["background_run"], Argument::Command),
    tool("check_background", &["check_background"], Argument::None),
    tool("read_file", &["read_file"], Argument::Path),
    tool("edit_file", &["edit_file"], Argument::Path),
    tool("write_file", &["write_file"], Argument::Path),
    tool("grep", &["grep"], Argument::Path),
    tool("glob", &["glob"], Argument::Path),
    tool("list_dir", &["list_dir"], Argument::Path),
    tool("web_fetch", &["web_fetch"], Argument::Domain),
    tool("web_search", &["web_search"], Argument::None),
    tool("spawn_teammate", &["spawn_teammate"], Argument::Role),
    tool("list_teammates", &["list_teammates"], Argument::None),
    tool("send_message", &["send_message"], Argument::None),
    tool("broadcast", &["broadcast"], Argument::None),
    tool("read_inbox", &["read_inbox"], Argument::None),
    tool("shutdown_request", &["shutdown_request"], Argument::None),
    tool("shutdown_response", &["shutdown_response"], Argument::None),
    tool("plan_approval", &["plan_approval"], Argument::None),
    tool("task_create", &["task_create"], Argument::None),
    tool("task_update", &["task_update"], Argument::None),
    tool("task_list", &["task_list"], Argument::None),
    tool("task_get", &["task_get"], Argument::None),
    tool("claim_task", &["claim_task"], Argument::None),
    tool("idle", &["idle"], Argument::None),
    tool("todo", &["todo"], Argument::None),
    tool("note", &["note"], Argument::None),
    tool("notes", &["notes"], Argument::None),
    tool("skill", &["skill"], Argument::None),
    tool("explore", &["explore"], Argument::None),
    tool("ask_user", &["ask_user"], Argument::None),
    tool("compact", &["compact"], Argument::None),
];

pub(crate) fn find(name: &str) -> Option<&'static ToolName> {
    NAMES.iter().find(|known| known.name == name)
}

/// The known name that is most similar to a wrong one.
pub(crate) fn nearest(wrong: &str) -> Option<&'static str> {
    let wrong = wrong.to_lowercase();
    // Of two that are equally like it, the first counts, and `max_by` takes the last.
    let names = NAMES.iter().rev().map(|known| known.name);
    let rated = names.map(|name| (strsim::jaro_winkler(&wrong, &name.to_lowercase()), name));
    let best = rated.max_by(|left, right| left.0.total_cmp(&right.0));
    best.filter(|(likeness, _)| *likeness > 0.8)
        .map(|(_, name)| name)
}
