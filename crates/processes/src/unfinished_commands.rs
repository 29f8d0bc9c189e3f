//! Finishes the commands of members that were killed: what such a command created under names that other
//! programs trust gets other names, and the lead is told.
//!
//! The kernel says which commands those are: nobody holds the lock of their records any more. The notice is
//! sent before the files are renamed and has an id of its own, so that it arrives once even if this process
//! is killed in between.

use protocol::{AgentName, NoticeCause, Recipient, TreeMode};
use sandbox::{RecordState, Unfinished, records};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use team::notice;
use teamdir::TeamDir;

/// How long the last processes of a killed member's command may take to end.
const END_LIMIT: Duration = Duration::from_millis(1000);
/// How often they are looked at: often at first, because most end at once, then less often.
const FIRST_POLL: Duration = Duration::from_micros(200);
const LONGEST_POLL: Duration = Duration::from_millis(5);
/// The most files that a notice names. A command can create any number.
const MOST_NAMES: usize = 20;

/// Finishes all commands that nobody else finishes. Returns what failed; the next repair tries again.
pub(crate) fn finish_commands(team: &TeamDir) -> Vec<String> {
    let folder = team.layout().commands_dir();
    let mut problems = Vec::new();
    let found = records(&folder).unwrap_or_else(|error| {
        problems.push(cannot_look(&folder, &error));
        Vec::new()
    });
    // One after the other: each that is looked at is an open file.
    for path in found {
        match RecordState::of(&path, &place_of(team, &path)) {
            Ok(RecordState::Held | RecordState::Gone) => {}
            Ok(RecordState::Left(command)) => problems.extend(finish(team, &path, command)),
            Err(error) => problems.push(cannot_look(&path, &error)),
        }
    }
    problems
}

/// Finishes the commands of a member whose process is gone, and waits for those that are just ending. What
/// is left then is for [`finish_commands`].
pub(crate) fn finish_commands_of(team: &TeamDir, owner: &Recipient) {
    let began = Instant::now();
    let folder = team.layout().commands_dir();
    let mut pause = FIRST_POLL;
    loop {
        let mut is_one_ending = false;
        let all = records(&folder).unwrap_or_default();
        for path in all.iter().filter(|path| owner_of(path) == owner.as_str()) {
            match RecordState::of(path, &place_of(team, path)) {
                Ok(RecordState::Held) => is_one_ending = true,
                // A repair reports what fails again.
                Ok(RecordState::Left(command)) => drop(finish(team, path, command)),
                Ok(RecordState::Gone) | Err(_) => {}
            }
        }
        if !is_one_ending || began.elapsed() > END_LIMIT {
            return;
        }
        std::thread::sleep(pause);
        pause = LONGEST_POLL.min(2 * pause);
    }
}

/// The commands that nobody has finished, by the names of their records. Changes nothing.
pub fn unfinished_commands(team: &TeamDir) -> Vec<String> {
    let found = records(&team.layout().commands_dir()).unwrap_or_default();
    let is_left = |path: &PathBuf| {
        let state = RecordState::of(path, &place_of(team, path));
        matches!(state, Ok(RecordState::Left(_)))
    };
    let left = found.into_iter().filter(is_left);
    left.map(|path| name_of(&path).to_owned()).collect()
}

fn finish(team: &TeamDir, path: &Path, command: Unfinished) -> Vec<String> {
    let owner = owner_of(path);
    let text = match command.created() {
        Some(created) if created.is_empty() => None,
        Some(created) => {
            // A command chooses the names, and must not choose the words of a notice.
            let names = created.iter().take(MOST_NAMES);
            let names = names.map(|path| format!("{:?}", inside(team, path)));
            let mut names = names.collect::<Vec<_>>().join(", ");
            if created.len() > MOST_NAMES {
                names.push_str(&format!(" and {} more", created.len() - MOST_NAMES));
            }
            Some(format!(
                "A command of {owner} was cut off. It had created {names}, which other programs trust; each gets \
                 a name that ends in .from-sandbox.N. Look at what is in there before you use it."
            ))
        }
        None => Some(format!(
            "A command of {owner} was cut off, and its record is damaged. It may have created files that other \
             programs trust: look for them with `git -c core.fsmonitor=false status --ignored`."
        )),
    };
    let mut problems = Vec::new();
    if let Some(text) = text {
        let id = format!("left_files/{}", name_of(path));
        let sent = notice(team, Recipient::Lead, NoticeCause::LeftFiles, &id, &text);
        problems.extend(sent.err().map(|error| error.to_string()));
    }
    match command.finish() {
        Ok(renamed) => {
            let failed = renamed
                .into_iter()
                .filter(|renamed| renamed.error.is_some());
            problems.extend(failed.map(|renamed| renamed.to_string()));
        }
        Err(error) => problems.push(format!("cannot remove {}: {error}", path.display())),
    }
    problems
}

fn cannot_look(path: &Path, error: &io::Error) -> String {
    format!(
        "cannot look for a command that was cut off at {}: {error}",
        path.display()
    )
}

fn name_of(record: &Path) -> &str {
    let name = record.file_name().and_then(|name| name.to_str());
    name.unwrap_or("?")
}

/// The member whose command it is.
fn owner_of(record: &Path) -> &str {
    let name = name_of(record);
    name.rsplit_once('.').map_or(name, |(owner, _)| owner)
}

/// The folder that the member's commands work in: the paths of a record are relative to it.
fn place_of(team: &TeamDir, record: &Path) -> PathBuf {
    let roster = team.roster().ok();
    let name = AgentName::new(owner_of(record)).ok();
    let member = roster.and_then(|roster| roster.member(&name?).cloned());
    match member.map(|member| member.spec) {
        Some(spec) if spec.tree == Some(TreeMode::Own) => team.layout().tree(&spec.name),
        Some(_) | None => team.workspace().to_path_buf(),
    }
}

/// A path as people in the workspace write it.
fn inside(team: &TeamDir, path: &Path) -> String {
    let relative = path.strip_prefix(team.workspace());
    relative.unwrap_or(path).display().to_string()
}
