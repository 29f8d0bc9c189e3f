//! The to-do list that an agent keeps for itself: `todo`.

use crate::TeamContext;
use protocol::{MAX_TODO_CHARS, MAX_TODO_ITEMS, Party, Recipient, TaskStatus, TodoItem, TodoList};
use rules::parse_status;
use schemars::JsonSchema;
use serde::Deserialize;
use tools::{Effect, Tool, ToolContext, ToolError, ToolOutput};

/// Replaces the agent's to-do list.
#[derive(Clone, Debug)]
pub struct WriteTodo(TeamContext);

impl WriteTodo {
    pub const fn new(context: TeamContext) -> Self {
        Self(context)
    }
}

/// The arguments of [`WriteTodo`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteTodoArgs {
    /// The whole list, in the order of the work. It replaces the one before.
    items: Vec<Item>,
}

/// An item as a model writes it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Item {
    /// What is to be done, in a few words.
    text: String,
    #[schemars(extend("enum" = ["pending", "in_progress", "completed"]))]
    status: String,
}

impl Tool for WriteTodo {
    const NAME: &'static str = "todo";
    const DESCRIPTION: &'static str = "Keep a to-do list of your own work: give the whole list each \
        time. Use it for work of three steps or more, have one item in_progress, and set each to \
        completed as soon as it is done. The open items are always shown to you, and your lead sees how \
        far you are.";
    const EFFECT: Effect = Effect::State;
    type Args = WriteTodoArgs;

    async fn call(&self, args: WriteTodoArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let list = list(args)?;
        let written = self.0.blocking(move |context| {
            let owner = match &context.me.party {
                Party::Member(name) => Recipient::Member(name.clone()),
                Party::Lead | Party::User | Party::System => Recipient::Lead,
            };
            let written = context.team.set_todo_list(&owner, &list);
            written.map_err(|error| ToolError::from_error(&error))?;
            Ok(text(&list))
        });
        Ok(ToolOutput::ok(written.await?))
    }
}

fn list(args: WriteTodoArgs) -> Result<TodoList, ToolError> {
    if args.items.len() > MAX_TODO_ITEMS {
        return Err(ToolError::new(format!(
            "the list has {} items, more than {MAX_TODO_ITEMS}: leave out what is done, or put several \
             steps into one item",
            args.items.len()
        )));
    }
    let item = |(at, item): (usize, Item)| {
        let text = item.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let length = text.chars().count();
        if length == 0 || length > MAX_TODO_CHARS {
            return Err(ToolError::new(format!(
                "item {} has {length} characters; it needs 1 to {MAX_TODO_CHARS}",
                at + 1
            )));
        }
        let status = parse_status(&item.status).map_err(|error| ToolError::from_error(&error))?;
        Ok(TodoItem::new(text, status))
    };
    let items: Result<Vec<TodoItem>, ToolError> =
        args.items.into_iter().enumerate().map(item).collect();
    let mut list = TodoList::new(items?);
    list.updated_at = Some(teamdir::now());
    Ok(list)
}

fn text(list: &TodoList) -> String {
    let Some(summary) = list.summary() else {
        return "Your to-do list is empty now.".to_owned();
    };
    let more = list
        .items
        .iter()
        .filter(|item| item.status == TaskStatus::InProgress);
    let remark = match more.count() {
        0 | 1 => "",
        _ => "\nMore than one item is in_progress: that is for work that really goes on at once.",
    };
    format!("To-do list: {summary}{remark}")
}
