//! The to-do list of a member.

use crate::files::atomic;
use crate::team_dir::TeamDir;
use crate::team_files::{TeamFileError, put, read};
use protocol::{Recipient, TodoList};

impl TeamDir {
    /// The to-do list of a member. Without a file it is empty.
    pub fn todo_list(&self, owner: &Recipient) -> Result<TodoList, TeamFileError> {
        let list = read(&self.layout.todo_list(owner))?;
        Ok(list.unwrap_or_else(|| TodoList::new(Vec::new())))
    }

    /// Replaces the to-do list of a member. Only the process of the member does so.
    pub fn set_todo_list(&self, owner: &Recipient, list: &TodoList) -> Result<(), TeamFileError> {
        let path = self.layout.todo_list(owner);
        put(&path, list, self.options.durability)?;
        Ok(atomic::sync_parent(&path, self.options.durability)?)
    }
}
