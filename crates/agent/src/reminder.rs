//! What has changed in a reminder since the last one.

use std::collections::HashSet;

/// The first line of a reminder that has only what has changed.
const CHANGED: &str = "Changed:";
/// What begins the line of those that are not there any more.
const GONE: &str = "Gone: ";
/// What begins a line that says how many more things a list has than it shows.
const MORE: &str = "More ";
/// What begins an entry of a list that only has the newest ones.
const ENTRY: &str = "- ";

/// What is told when there is nothing any more of what was told before.
pub(crate) const NOTHING: &str = "Nothing is left of how things stood before.";

/// The reminder, or only its changed lines between its first line and its last one, if that is shorter.
///
/// A line replaces the one before about the same subject, which is its beginning up to a colon or a bracket. What
/// is not there any more is listed by its subject, except for an entry that begins with `- `: newer ones take its
/// place. All is told where this could be misread: if two lines have the same subject, and if something has left
/// a list that is not shown whole, which has a line that begins with `More `.
pub(crate) fn changes(before: &str, now: &str) -> String {
    let lines = |text| -> Option<(&str, Vec<&str>, &str)> {
        let mut lines: Vec<&str> = str::lines(text).collect();
        let last = lines.pop()?;
        (!lines.is_empty()).then(|| (lines.remove(0), lines, last))
    };
    let (Some((first, old, last)), Some((new_first, new, new_last))) = (lines(before), lines(now))
    else {
        return now.to_owned();
    };
    if !are_unique(&old) || !are_unique(&new) {
        return now.to_owned();
    }
    let changed: Vec<&str> = new
        .iter()
        .copied()
        .filter(|line| !old.contains(line))
        .collect();
    let mut gone: Vec<&str> = Vec::new();
    for line in old.iter().filter(|line| !new.contains(line)) {
        let about = subject(line);
        let is_there = new.iter().any(|line| subject(line) == about);
        if !is_entry(line) && !is_there {
            gone.push(about);
        }
    }
    let is_partial = old.iter().chain(&new).any(|line| is_rest(line));
    if is_partial && !gone.is_empty() {
        return now.to_owned();
    }
    let gone = (!gone.is_empty()).then(|| format!("{GONE}{}", gone.join(", ")));
    let frame = [first, CHANGED].into_iter().chain(changed.iter().copied());
    let told: Vec<&str> = frame.chain(gone.as_deref()).chain([last]).collect();
    let told = told.join("\n");
    let has_changes = !changed.is_empty() || gone.is_some();
    let is_framed_alike = (first, last) == (new_first, new_last);
    if is_framed_alike && has_changes && told.len() < now.len() {
        told
    } else {
        now.to_owned()
    }
}

fn is_entry(line: &str) -> bool {
    line.trim_start().starts_with(ENTRY)
}

fn is_rest(line: &str) -> bool {
    line.trim_start().starts_with(MORE)
}

/// Whether each line has a subject of its own.
fn are_unique(lines: &[&str]) -> bool {
    let mut known = HashSet::new();
    let mut listed = lines.iter().filter(|line| !is_entry(line));
    listed.all(|line| known.insert(subject(line)))
}

/// What a line is about: `  [>] #3: Write it @bob` is about `#3`.
fn subject(line: &str) -> &str {
    let line = line.trim_start();
    let is_marked = line.starts_with('[') && line.as_bytes().get(2..4) == Some(b"] ");
    let line = if is_marked {
        line.get(4..).unwrap_or(line)
    } else {
        line
    };
    line.split([':', '(']).next().unwrap_or(line).trim_end()
}

#[cfg(test)]
mod tests {
    use super::changes;

    const BEFORE: &str = "<team-state>\nYour teammates:\n  alice (coder): working, task #1\n  bob (coder): idle\n\
         Tasks (0 of 3 done):\n  [>] #1: Write part 1 @alice\n  [ ] #2: Write part 2\n  [ ] #3: Write part 3\n\
         </team-state>";

    #[test]
    fn only_lines_that_have_changed_are_told() {
        let now = BEFORE
            .replace("working, task #1", "idle")
            .replace("0 of 3", "1 of 3")
            .replace("  [>] #1: Write part 1 @alice\n", "");
        let told = "<team-state>\nChanged:\n  alice (coder): idle\nTasks (1 of 3 done):\nGone: #1\n</team-state>";
        assert_eq!(changes(BEFORE, &now), told);
    }

    #[test]
    fn what_is_not_shorter_is_told_whole() {
        for now in [
            "<team-state>\nTeam: lead, you\n</team-state>",
            "<other>\n  alice (coder): idle\n</other>",
            "one line",
        ] {
            assert_eq!(changes(BEFORE, now), now);
        }
        assert_eq!(changes("", BEFORE), BEFORE);
        // Only the order is another.
        let swapped = BEFORE.replace(
            "#2: Write part 2\n  [ ] #3: Write part 3",
            "#3: Write part 3\n  [ ] #2: Write part 2",
        );
        assert_eq!(changes(BEFORE, &swapped), swapped);
    }

    /// The lines between the first and the last one of a state of the team.
    fn state(lines: &[&str]) -> String {
        let lines = lines.iter().map(|line| format!("{line}\n"));
        format!("<team-state>\n{}</team-state>", lines.collect::<String>())
    }

    const TITLE: &str = "Newest notes of the team (the tool notes has all):";

    #[test]
    fn all_is_told_if_two_lines_have_the_same_subject() {
        let rest = "  alice (coder): working, task #1";
        let to_do = "  [ ] bob: review parser";
        let both = state(&[rest, "  bob (coder): idle", to_do]);
        let one = state(&[rest, to_do]);
        assert_eq!(changes(&both, &one), one, "bob has left");
        assert_eq!(changes(&one, &both), both);
    }

    #[test]
    fn a_note_that_newer_ones_replace_is_not_said_to_be_gone() {
        let (first, second) = ("  - bob: tabs, not spaces", "  - alice: port 80");
        let others = "Team: lead, you, alice (coder), bob (coder), carol (reviewer)";
        let before = state(&[others, TITLE, first, "  - alice: use the cache"]);
        let now = state(&[others, TITLE, "  - alice: use the cache", second]);
        let told = format!("<team-state>\nChanged:\n{second}\n</team-state>");
        assert_eq!(changes(&before, &now), told);
        // Nothing but the absence is new.
        let less = state(&[others, TITLE, "  - alice: use the cache"]);
        assert_eq!(changes(&before, &less), less);
    }

    #[test]
    fn all_is_told_when_something_has_left_a_list_that_is_not_shown_whole() {
        let (one, two) = ("  [ ] #1: Write part 1", "  [ ] #2: Write part 2");
        let more = "  More tasks: 6";
        let before = state(&["Tasks (1 of 9 done):", one, two, more]);
        let now = state(&[
            "Tasks (0 of 9 done):",
            "  [ ] #0: Plan",
            one,
            "  More tasks: 7",
        ]);
        assert_eq!(changes(&before, &now), now, "task 2 is open");
        let whole = state(&["Tasks (7 of 9 done):", one, two]);
        assert_eq!(changes(&before, &whole), whole);
        // What has only changed is told alone.
        let taken = before.replace("[ ] #2: Write part 2", "[>] #2: Write part 2 @bob");
        let told = state(&["Changed:", "  [>] #2: Write part 2 @bob"]);
        assert_eq!(changes(&before, &taken), told);
    }
}
