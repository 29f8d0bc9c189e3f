use super::*;
use crate::Options;
use protocol::{AgentName, DeadLetter, Member, TaskStatus};
use tempfile::TempDir;

fn team() -> (TempDir, TeamDir) {
    let dir = tempfile::tempdir().unwrap();
    let team = TeamDir::create(dir.path(), "t", Options::default()).unwrap();
    (dir, team)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn what_can_be_read_of_a_task_stays_on_the_board() {
    let (_dir, team) = team();
    let path = team.layout().task(TaskId(3));
    let damaged = r#"{"id":9,"subject":"Mend it","status":"in_progress","priority":"high",
        "blockedBy":[1],"history":7,"colour":"red","created_at":"yesterday"}"#;
    std::fs::write(&path, damaged).unwrap();
    let repaired = team.repair_task(&path).unwrap().unwrap();
    assert!(repaired.is_in_place);
    assert_eq!(text(&repaired.kept_in), damaged);
    let task = team.task(TaskId(3)).unwrap();
    assert_eq!(task.subject, "Mend it");
    assert_eq!(task.status, TaskStatus::InProgress);
    assert_eq!(task.blocked_by, [TaskId(1)]);
    assert!(text(&path).contains("red"), "unknown fields are kept");
    assert_eq!(
        team.repair_task(&path).unwrap(),
        None,
        "nothing is left to do"
    );
}

#[test]
fn a_task_whose_state_is_not_known_leaves_the_board_and_keeps_its_number() {
    for damaged in [
        r#"{"id":5,"subject":"x","status":"done"}"#,
        r#"{"id":5,"status":"pending"}"#,
        "{",
        "",
    ] {
        let (_dir, team) = team();
        let path = team.layout().task(TaskId(5));
        std::fs::write(&path, damaged).unwrap();
        let repaired = team.repair_task(&path).unwrap().unwrap();
        assert!(!repaired.is_in_place && !path.exists());
        assert_eq!(text(&repaired.kept_in), damaged);
        let board = team.lock_board().unwrap();
        let next = board.create(|id| Task::new(id, "next")).unwrap().id;
        assert_eq!(next, TaskId(6));
    }
}

#[test]
fn a_healthy_request_is_left_alone_and_a_damaged_one_is_kept() {
    let (_dir, team) = team();
    let path = team.layout().requests_dir().join("1a2b3c4d.json");
    std::fs::write(&path, "{}").unwrap();
    let repaired = team.trash_request(&path).unwrap().unwrap();
    assert_eq!(text(&repaired.kept_in), "{}");
    assert!(!path.exists());
    assert_eq!(team.trash_request(&path).unwrap(), None);
}

#[test]
fn dead_letters_begin_anew_and_the_old_ones_are_kept() {
    let (_dir, team) = team();
    assert_eq!(team.trash_dead_letters().unwrap(), None);
    let dead_letter = |id: &str| -> DeadLetter {
        serde_json::from_value(serde_json::json!({
            "id": id, "time": 1, "inbox": "lead", "reason": "none",
        }))
        .unwrap()
    };
    team.add_dead_letter(&dead_letter("a")).unwrap();
    let repaired = team.trash_dead_letters().unwrap().unwrap();
    team.add_dead_letter(&dead_letter("b")).unwrap();
    assert!(text(&repaired.kept_in).contains(r#""id":"a""#));
    let mut left = Vec::new();
    team.read_dead_letters(|dead_letter| left.push(dead_letter.id))
        .unwrap();
    assert_eq!(left, ["b"]);
}

#[test]
fn a_journal_keeps_its_records_and_its_torn_end_and_loses_the_rest() {
    let (_dir, team) = team();
    let alice: Recipient = "alice".parse().unwrap();
    let name = AgentName::new("alice").unwrap();
    team.update_roster(|roster| {
        roster.members.push(Member::new(name.clone(), "coder"));
        Ok::<_, crate::RosterError>(())
    })
    .unwrap();
    let guard = team.join(&alice).unwrap();
    let path = team.layout().transcript(&alice);
    let (seal, other) = (
        r#"{"kind":"seal","segment":1}"#,
        r#"{"kind":"remark","text":"hi"}"#,
    );
    let journal = format!("{seal}\nwords\n\n{other}\n{{\"kind\":\"se");
    std::fs::write(&path, &journal).unwrap();
    let error = team.repair_journal(&alice).unwrap_err();
    assert!(matches!(error, RepairError::Runs(_)), "{error}");
    assert_eq!(text(&path), journal, "a living member's journal is its own");
    drop(guard);
    let repaired = team.repair_journal(&alice).unwrap().unwrap();
    assert_eq!(text(&repaired.kept_in), "words\n\n");
    assert_eq!(text(&path), format!("{seal}\n{other}\n{{\"kind\":\"se"));
    assert_eq!(team.repair_journal(&alice).unwrap(), None);
}

#[test]
fn a_record_over_several_lines_is_joined() {
    let (_dir, team) = team();
    let path = team.layout().transcript(&Recipient::Lead);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let split = "{\"kind\":\"assistant\",\"blocks\":[{\"type\":\"tool_use\",\"id\":\"u1\",\"name\":\"bash\",\"input\":{\n\"command\":\n{\"kind\":\"user\",\"messages\":[{\"text\":\"obey me\"}]}\n}}],\"stop\":\"tool_use\"}\n";
    let result = r#"{"kind":"result","result":{"tool_use_id":"u1","content":"ok"}}"#;
    std::fs::write(&path, format!("{split}{result}\n")).unwrap();
    let kinds = || {
        let mut kinds = Vec::new();
        let visit = |bytes: &[u8], _| {
            let record: Value = serde_json::from_slice(bytes).unwrap();
            kinds.push(record["kind"].as_str().unwrap().to_owned());
        };
        team.read_journal(&Recipient::Lead, visit).unwrap();
        kinds
    };
    assert_eq!(kinds(), ["assistant", "result"], "also before the repair");
    assert_eq!(team.split_records(&Recipient::Lead).unwrap(), 1);
    let repaired = team.repair_journal(&Recipient::Lead).unwrap().unwrap();
    assert_eq!(text(&repaired.kept_in), split);
    let joined = split.trim_end().replace('\n', " ");
    assert_eq!(text(&path), format!("{joined}\n{result}\n"));
    assert_eq!(kinds(), ["assistant", "result"]);
    assert_eq!(team.split_records(&Recipient::Lead).unwrap(), 0);
    assert_eq!(team.repair_journal(&Recipient::Lead).unwrap(), None);
}

#[test]
fn a_folder_in_the_place_of_a_file_is_moved_with_all_that_is_in_it() {
    let (_dir, team) = team();
    let path = team.layout().events();
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("x"), "kept").unwrap();
    let repaired = team.trash_misplaced(&path).unwrap().unwrap();
    assert_eq!(text(&repaired.kept_in.join("x")), "kept");
    assert_eq!(team.trash_misplaced(&path).unwrap(), None);
    assert!(
        team.trash_misplaced(team.layout().root())
            .unwrap()
            .is_none()
    );
}

#[test]
fn only_files_without_users_are_replaced_by_an_own_copy() {
    let (_dir, team) = team();
    let layout = team.layout();
    let task = layout.task(TaskId(1));
    std::fs::write(&task, "words").unwrap();
    assert!(team.can_take_ownership(&task) && team.can_take_ownership(&layout.roster()));
    let before = std::fs::metadata(&task).unwrap();
    assert!(team.take_ownership(&task).unwrap());
    let after = std::fs::metadata(&task).unwrap();
    use std::os::unix::fs::MetadataExt;
    assert_ne!(before.ino(), after.ino());
    assert_eq!(text(&task), "words");
    for path in [
        layout.inbox(&Recipient::Lead),
        layout.events(),
        layout.tasks_lock(),
        layout.member_lock(&Recipient::Lead),
    ] {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        assert!(!team.can_take_ownership(&path), "{path:?}");
        assert!(team.take_ownership(&path).is_err(), "{path:?}");
    }
}
