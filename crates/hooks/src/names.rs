//! The tools by the names that hooks of Claude Code know.

use serde_json::Value;

/// The name of a tool in the input of a hook: that of Claude Code for a tool that it has too.
pub fn claude_name(tool: &str) -> &str {
    match tool {
        "bash" | "background_run" => "Bash",
        "read_file" => "Read",
        "write_file" => "Write",
        "edit_file" => "Edit",
        "grep" => "Grep",
        "glob" => "Glob",
        "list_dir" => "LS",
        "spawn_teammate" => "Task",
        "todo" => "TodoWrite",
        "ask_user" => "AskUserQuestion",
        other => other,
    }
}

/// The arguments of a tool in the input of a hook: as they are, and with the file by the name that Claude Code
/// gives it.
pub fn claude_input(tool: &str, arguments: &Value) -> Value {
    let mut input = arguments.clone();
    let has_file = matches!(tool, "read_file" | "write_file" | "edit_file");
    if has_file
        && let Value::Object(fields) = &mut input
        && let Some(path) = fields.get("path").cloned()
    {
        fields.entry("file_path").or_insert(path);
    }
    input
}
