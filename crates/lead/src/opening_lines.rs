//! What the terminal shows first: where the lead works, and where its conversation ended.

use crate::console::{ConsoleWriter, Output, WorkInfo};
use agent::Conversation;
use std::path::Path;
use terminal_text::{below_home, one_line};

pub(crate) fn show_work_info(workspace: &Path, model: &str, window: u64, writer: &ConsoleWriter) {
    let folder = below_home(workspace, std::env::home_dir().as_deref());
    writer.write(&Output::WorkInfo(&WorkInfo {
        model: one_line(model).into_owned(),
        folder,
        window,
    }));
}

/// Shows the end of the conversation that is continued.
pub(crate) fn show_end(conversation: &Conversation, writer: &ConsoleWriter) {
    if let Some(said) = conversation.last_said() {
        writer.notice(&format!("You said: {said}"));
    }
    writer.write(&Output::Reply(&conversation.last_reply()));
}
