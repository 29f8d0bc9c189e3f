//! What has changed in a reminder since the last one.

/// The first line of a reminder that has only what has changed.
const CHANGED: &str = "Changed:";
/// What begins the line of those that are not there any more.
const GONE: &str = "Gone: ";

/// What is told when there is nothing any more of what was told before.
pub(crate) const NOTHING: &str = "Nothing is left of how things stood before.";

/// The reminder, or only its changed lines between its first line and its last one, if that is shorter.
///
/// A line replaces the one before about the same subject, which is its beginning up to a colon or a bracket. What
/// is not there any more is listed by its subject.
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
    let changed: Vec<&str> = new
        .iter()
        .copied()
        .filter(|line| !old.contains(line))
        .collect();
    let mut gone: Vec<&str> = Vec::new();
    for line in old.iter().filter(|line| !new.contains(line)) {
        let about = subject(line);
        let is_there = new.iter().any(|line| subject(line) == about);
        if !is_there && !gone.contains(&about) {
            gone.push(about);
        }
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
}
