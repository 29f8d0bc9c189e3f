//! The shared notes: what the whole team should know, now and later.

use crate::Actor;
use crate::mail::preview;
use protocol::{
    EventKind, MAX_NOTE_CHARS, MAX_NOTE_TAG_CHARS, MAX_NOTE_TAGS, Note, Sender, TaskId,
};
use teamdir::{AppendError, NotesRead, PathError, TeamDir, new_note_id, now};

/// How many notes an agent is shown without asking.
const DIGEST_NOTES: usize = 5;
/// The most characters of one of them.
const DIGEST_CHARS: usize = 240;

/// A note that somebody wants to write.
#[derive(Debug, Clone, Default)]
pub struct NewNote {
    pub text: String,
    pub tags: Vec<String>,
    pub task: Option<TaskId>,
}

/// Which notes are wanted. A note must fit all that is given.
#[derive(Debug, Clone, Default)]
pub struct NoteQuery {
    /// Words that must be in the text, the tags or the author's name, ignoring case.
    pub words: Option<String>,
    pub tag: Option<String>,
    pub task: Option<TaskId>,
}

/// Why a note was not written.
#[derive(Debug, thiserror::Error)]
pub enum NoteError {
    #[error("the note is empty")]
    Empty,
    #[error(
        "the note has {chars} characters, more than the {MAX_NOTE_CHARS} that it may have; write it to a \
         file and note the path"
    )]
    TooLong { chars: usize },
    #[error(
        "a note has at most {MAX_NOTE_TAGS} tags, each of 1 to {MAX_NOTE_TAG_CHARS} characters and \
         without spaces"
    )]
    Tags,
    #[error(
        "the notes are full: {} has {size} bytes; a person can move it to a place outside of the team \
         folder, and the next note begins a new one",
        path.display()
    )]
    Full { path: std::path::PathBuf, size: u64 },
    #[error(transparent)]
    Append(AppendError),
}

impl From<AppendError> for NoteError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Full { path, size } => Self::Full { path, size },
            error @ (AppendError::Lock(_) | AppendError::File(_)) => Self::Append(error),
        }
    }
}

/// Writes a note.
pub fn add_note(team: &TeamDir, me: &Actor, new: NewNote) -> Result<Note, NoteError> {
    let text = new.text.trim();
    let chars = text.chars().count();
    let fits = |tag: &String| {
        let length = tag.chars().count();
        (1..=MAX_NOTE_TAG_CHARS).contains(&length) && !tag.contains(char::is_whitespace)
    };
    match () {
        () if chars == 0 => return Err(NoteError::Empty),
        () if chars > MAX_NOTE_CHARS => return Err(NoteError::TooLong { chars }),
        () if new.tags.len() > MAX_NOTE_TAGS || !new.tags.iter().all(fits) => {
            return Err(NoteError::Tags);
        }
        () => {}
    }
    let from = Sender::Party(me.party.clone());
    let note = Note {
        id: Some(new_note_id()),
        from: Some(from.clone()),
        timestamp: Some(now()),
        task: new.task,
        tags: new.tags,
        ..Note::new(text)
    };
    team.add_note(&note)?;
    // The event is only for observers; the note is already stored.
    let _ = team.log_event(EventKind::Note {
        id: note.id.clone().unwrap_or_default(),
        from,
        preview: preview(text).unwrap_or_default(),
    });
    Ok(note)
}

/// The notes that fit a query, the oldest first.
pub fn find_notes(team: &TeamDir, query: &NoteQuery) -> Result<NotesRead, PathError> {
    let mut read = team.notes()?;
    read.notes.retain(|note| fits(note, query));
    Ok(read)
}

fn fits(note: &Note, query: &NoteQuery) -> bool {
    let has_tag = |tag: &String| note.tags.iter().any(|own| own.to_lowercase() == *tag);
    let has_words = |words: &String| {
        let author = note.from.as_ref().map(Sender::to_string);
        let all = format!(
            "{} {} {}",
            note.text,
            note.tags.join(" "),
            author.unwrap_or_default()
        );
        let all = all.to_lowercase();
        words.split_whitespace().all(|word| all.contains(word))
    };
    let lower = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
    lower(&query.words).is_none_or(|words| has_words(&words))
        && lower(&query.tag).is_none_or(|tag| has_tag(&tag))
        && query.task.is_none_or(|task| note.task == Some(task))
}

/// A note in a line: `alice: the parser is in src/parse.rs (task #3, #layout)`.
pub fn note_line(note: &Note) -> String {
    let from = note
        .from
        .as_ref()
        .map_or_else(String::new, |from| format!("{from}: "));
    let task = note.task.iter().map(|task| format!("task #{task}"));
    let tags = note.tags.iter().map(|tag| format!("#{tag}"));
    let about: Vec<String> = task.chain(tags).collect();
    match about.is_empty() {
        true => format!("{from}{}", note.text),
        false => format!("{from}{} ({})", note.text, about.join(", ")),
    }
}

/// The newest notes for an agent that did not ask for them, a short line each. Empty if there are none.
pub fn newest_note_lines(team: &TeamDir) -> Vec<String> {
    // Notes that cannot be read are a matter for `doctor`, not for the agent.
    let notes = team.newest_notes().unwrap_or_default().notes;
    let newest = notes.iter().skip(notes.len().saturating_sub(DIGEST_NOTES));
    let short = newest.map(|note| {
        let line = note_line(note);
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(DIGEST_CHARS) {
            Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
            None => line,
        }
    });
    short.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{AgentName, Incarnation};
    use teamdir::Options;
    use test_support::TempTeam;

    fn alice() -> Actor {
        Actor::member(AgentName::new("alice").unwrap(), Incarnation(1))
    }

    fn note(text: &str) -> NewNote {
        NewNote {
            text: text.to_owned(),
            ..NewNote::default()
        }
    }

    #[test]
    fn notes_are_found_by_words_tags_and_tasks() {
        let temp = TempTeam::new(&["alice"], Options::default());
        let team = temp.team();
        add_note(team, &alice(), note("  The parser is in src/parse.rs \n")).unwrap();
        let tagged = NewNote {
            tags: vec!["Build".to_owned()],
            task: Some(TaskId(3)),
            ..note("Use make check")
        };
        let second = add_note(team, &Actor::user(), tagged).unwrap();
        assert_eq!(note_line(&second), "user: Use make check (task #3, #Build)");
        let found = |query: NoteQuery| {
            let read = find_notes(team, &query).unwrap();
            read.notes
                .into_iter()
                .map(|note| note.text)
                .collect::<Vec<_>>()
        };
        let words = |words: &str| NoteQuery {
            words: Some(words.to_owned()),
            ..NoteQuery::default()
        };
        assert_eq!(
            found(words("PARSER alice")),
            ["The parser is in src/parse.rs"]
        );
        assert_eq!(found(words("parser make")), [""; 0]);
        let tag = Some("build".to_owned());
        assert_eq!(
            found(NoteQuery {
                tag,
                ..NoteQuery::default()
            }),
            ["Use make check"]
        );
        let task = Some(TaskId(3));
        assert_eq!(
            found(NoteQuery {
                task,
                ..NoteQuery::default()
            }),
            ["Use make check"]
        );
        let events = std::fs::read_to_string(team.layout().events()).unwrap();
        assert!(events.contains(r#""event":"note""#), "{events}");
        let lines = newest_note_lines(team);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0], "alice: The parser is in src/parse.rs");
    }

    #[test]
    fn notes_that_are_too_large_are_refused_and_shown_in_short() {
        let temp = TempTeam::new(&["alice"], Options::default());
        let team = temp.team();
        let refused = |new: NewNote| add_note(team, &alice(), new).unwrap_err().to_string();
        assert_eq!(refused(note(" \n")), "the note is empty");
        let long = refused(note(&"x".repeat(2_001)));
        assert!(long.starts_with("the note has 2001 characters"), "{long}");
        for tags in [vec!["two words".to_owned()], vec!["t".to_owned(); 9]] {
            let new = NewNote { tags, ..note("x") };
            assert!(refused(new).starts_with("a note has at most 8 tags"));
        }
        for number in 0..20 {
            add_note(
                team,
                &alice(),
                note(&format!("{number}\n{}", "ä".repeat(1_900))),
            )
            .unwrap();
        }
        let lines = newest_note_lines(team);
        assert_eq!(lines.len(), DIGEST_NOTES);
        assert!(lines[4].starts_with("alice: 19 ä"), "{}", lines[4]);
        assert!(
            lines
                .iter()
                .all(|line| line.chars().count() <= DIGEST_CHARS + 3)
        );
    }
}
