//! The to-do list that a member keeps for itself: `members/<name>/todo.json`.

use crate::{TaskStatus, Timestamp};
use std::fmt;

/// The most items of a list.
pub const MAX_TODO_ITEMS: usize = 50;
/// The most characters of an item.
pub const MAX_TODO_CHARS: usize = 300;

record! {
    /// The list. The member replaces it whole.
    pub struct TodoList {
        /// What is to be done, in the order in which it is to be done.
        def items: Vec<TodoItem> => "items",
        opt updated_at: Timestamp => "updated_at",
    }
}

record! {
    /// One item of a to-do list.
    pub struct TodoItem {
        req text: String => "text",
        def status: TaskStatus => "status",
    }
}

/// A to-do list in a line, such as `2/5: run the tests`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TodoSummary {
    pub done: usize,
    pub total: usize,
    /// The first item in progress, or else the first that is pending.
    pub current: Option<String>,
}

impl TodoList {
    pub fn new(items: Vec<TodoItem>) -> Self {
        Self {
            items,
            updated_at: None,
            extra: crate::Extra::new(),
        }
    }

    /// The items that are not completed.
    pub fn open(&self) -> impl Iterator<Item = &TodoItem> {
        self.items.iter().filter(|item| match item.status {
            TaskStatus::Pending | TaskStatus::InProgress => true,
            TaskStatus::Completed => false,
        })
    }

    /// The list in short; nothing if it is empty.
    pub fn summary(&self) -> Option<TodoSummary> {
        if self.items.is_empty() {
            return None;
        }
        let mut open = self.open();
        let current = self
            .open()
            .find(|item| item.status == TaskStatus::InProgress)
            .or_else(|| open.next());
        Some(TodoSummary {
            done: self.items.len() - self.open().count(),
            total: self.items.len(),
            current: current.map(|item| item.text.clone()),
        })
    }
}

impl TodoItem {
    pub fn new(text: impl Into<String>, status: TaskStatus) -> Self {
        Self {
            text: text.into(),
            status,
            extra: crate::Extra::new(),
        }
    }
}

impl fmt::Display for TodoItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.status {
            TaskStatus::Pending => "[ ]",
            TaskStatus::InProgress => "[>]",
            TaskStatus::Completed => "[x]",
        };
        write!(f, "{mark} {}", self.text)
    }
}

impl fmt::Display for TodoSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { done, total, .. } = self;
        match &self.current {
            Some(current) => write!(f, "{done}/{total}: {current}"),
            None => write!(f, "{done}/{total}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_what_is_being_done() {
        assert_eq!(TodoList::new(Vec::new()).summary(), None);
        let item = |text: &str, status| TodoItem::new(text, status);
        let mut list = TodoList::new(vec![
            item("read", TaskStatus::Completed),
            item("write", TaskStatus::Pending),
            item("test", TaskStatus::InProgress),
        ]);
        assert_eq!(list.summary().unwrap().to_string(), "1/3: test");
        list.items.pop();
        assert_eq!(list.summary().unwrap().to_string(), "1/2: write");
        list.items.pop();
        assert_eq!(list.summary().unwrap().to_string(), "1/1");
    }
}
