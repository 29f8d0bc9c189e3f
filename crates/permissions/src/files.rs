//! What the file tools ask the rules besides the verdict about a call.

use std::path::{Path, PathBuf};

use crate::call::Call;
use crate::decide::Permissions;
use crate::decision::{Reason, Verdict};
use crate::needs::{FilePart, Needs, Part};
use crate::rule::{ListKind, Touch};

impl Permissions {
    /// The absolute path of a file tool's call, without `.` and `..`, if it is outside of the workspace.
    pub fn outside(&self, call: &Call<'_>) -> Option<PathBuf> {
        let path = file_of(&Needs::of(call, self.folders(call)))?
            .path
            .clone()?;
        (!path.starts_with(call.workspace)).then_some(path)
    }

    /// Whether rules could hide some files from a tool that searches a folder.
    pub fn hides_files(&self, call: &Call<'_>) -> bool {
        let is_search = file_of(&Needs::of(call, self.folders(call))).is_some();
        let mut rules = self.rules(ListKind::Deny).chain(self.rules(ListKind::Ask));
        is_search && rules.any(|(_, rule)| rule.is_about_files())
    }

    /// Whether a file must stay hidden from a call that may run: the rules deny it to the tool, or they
    /// would ask about it and the question about the call itself did not cover it. `path` is absolute.
    pub fn hides(&self, call: &Call<'_>, path: &Path) -> bool {
        let folders = self.folders(call);
        let asked = Needs::of(call, folders);
        let Some(file) = file_of(&asked) else {
            return false;
        };
        let part = Part::File(FilePart {
            access: file.access,
            path: Some(path.to_owned()),
        });
        let needs = Needs {
            call: *call,
            folders,
            parts: vec![part],
            is_unreadable: false,
        };
        let decision = self.decide_needs(&needs);
        match (decision.verdict, decision.reason) {
            (Verdict::Deny, _) => true,
            (Verdict::Ask, Reason::Rule { rule, .. }) => {
                let mut asking = self.rules(ListKind::Ask);
                let was_asked = asking.any(|(_, one)| {
                    one.text() == rule
                        && asked
                            .parts
                            .iter()
                            .any(|part| one.touches(part, &asked) != Touch::No)
                });
                !was_asked
            }
            (Verdict::Ask | Verdict::Allow, _) => false,
        }
    }
}

/// The file or folder that a file tool is called with.
fn file_of<'a>(needs: &'a Needs<'_>) -> Option<&'a FilePart> {
    let is_command = needs.call.command().is_some();
    let file = needs.parts.iter().find_map(|part| match part {
        Part::File(file) => Some(file),
        Part::Command(_) | Part::Network(_) | Part::Tool => None,
    });
    file.filter(|_| !is_command)
}
