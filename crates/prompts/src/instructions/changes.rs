//! What has changed in the instructions, as a model is told it.

use super::file::InstructionFile;
use super::{Instructions, TAG};
use protocol::TextBlock;
use similar::TextDiff;

/// What is different now, one block for each file; nothing if nothing is.
///
/// A prompt that is built anew makes the provider forget the whole conversation, so a change is said at
/// its end instead, once.
pub(crate) fn changes(known: &Instructions, now: &Instructions) -> Option<String> {
    let find = |among: &Instructions, file: &InstructionFile| {
        let mut files = among.files.iter();
        files.find(|other| other.shown == file.shown).cloned()
    };
    let removed = known.files.iter().filter(|file| find(now, file).is_none());
    let removed = removed.map(|file| block(file, "removed", "It no longer applies."));
    let others = now.files.iter().filter_map(|file| match find(known, file) {
        None => Some(block(file, "added", file.text.trim_end())),
        Some(before) if before.text == file.text => None,
        Some(before) => Some(block(
            file,
            "changed",
            &difference(&before.text, &file.text),
        )),
    });
    let blocks: Vec<String> = removed.chain(others).collect();
    (!blocks.is_empty()).then(|| blocks.join("\n"))
}

fn block(file: &InstructionFile, change: &str, text: &str) -> String {
    let block = TextBlock::new(text);
    let block = block.with("file", &file.shown).with("change", change);
    block.render(&format!("{TAG}-changed"))
}

/// The lines that differ with those around them, or the whole new text if that is shorter.
fn difference(before: &str, after: &str) -> String {
    let lines = TextDiff::from_lines(before, after);
    let lines = lines.unified_diff().context_radius(2).to_string();
    match lines.len() < after.len() {
        true => lines.trim_end().to_owned(),
        false => after.trim_end().to_owned(),
    }
}
