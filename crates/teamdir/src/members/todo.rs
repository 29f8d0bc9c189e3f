//! The to-do list of a member.

use crate::team_dir::TeamDir;
use crate::team_files::{TeamFileError, put, read};
use protocol::{Recipient, TodoList};

impl TeamDir {
    /// The to-do list of a member. Without a file it is empty.
    pub fn todo_list(&self, owner: &Recipient) -> Result<TodoList, TeamFileError> {
        let list = read(&self.layout.todo_list(owner))?;
        Ok(list.unwrap_or_else(|| TodoList::new(Vec::new())))
    }

    /// Replaces the to-do list of a member. Only the process of the member does so. After a power cut the
    /// list may be the one before.
    pub fn set_todo_list(&self, owner: &Recipient, list: &TodoList) -> Result<(), TeamFileError> {
        put(&self.layout.todo_list(owner), list, self.options.durability)
    }
}
