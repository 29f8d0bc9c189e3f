//! How people read a tool call: the command, or the tool and what it acts on.

use serde_json::Value;

/// The names of the arguments that tell best what a call does, the best one first.
const MAIN_ARGUMENTS: [&str; 14] = [
    "command",
    "path",
    "file_path",
    "url",
    "pattern",
    "to",
    "name",
    "teammate",
    "task_id",
    "request_id",
    "subject",
    "question",
    "plan",
    "id",
];

/// The argument of a call that says what it does, with its name.
pub fn main_argument(arguments: &Value) -> Option<(&'static str, String)> {
    MAIN_ARGUMENTS
        .iter()
        .find_map(|name| match arguments.get(*name)? {
            Value::String(text) => Some((*name, text.clone())),
            Value::Number(number) => Some((*name, number.to_string())),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        })
}

/// A call as people read it: `$ cargo test`, `read src/main.rs`, `task_get 3`.
pub fn call_line(tool: &str, argument: Option<&str>) -> String {
    let Some(argument) = argument else {
        return tool.to_owned();
    };
    let verb = match tool {
        "bash" | "background_run" => "$",
        "read_file" => "read",
        "write_file" => "write",
        "edit_file" => "edit",
        "list_dir" => "list",
        "send_message" => "message to",
        other => other,
    };
    format!("{verb} {argument}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(tool: &str, arguments: &Value) -> String {
        let argument = main_argument(arguments).map(|(_, text)| text);
        call_line(tool, argument.as_deref())
    }

    #[test]
    fn a_call_reads_as_a_command() {
        let command = json!({"timeout": 9, "command": "cargo test"});
        assert_eq!(line("bash", &command), "$ cargo test");
        assert_eq!(line("read_file", &json!({"path": "a.rs"})), "read a.rs");
        assert_eq!(line("task_get", &json!({"task_id": 3})), "task_get 3");
        assert_eq!(line("task_list", &json!({})), "task_list");
        assert_eq!(line("odd", &json!({"path": ["a"]})), "odd");
        assert_eq!(line("odd", &json!([1])), "odd");
    }
}
