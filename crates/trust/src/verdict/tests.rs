use super::*;
use crate::risky::Risk;

fn setting(risk: Risk, key: &str, value: &str) -> RiskySetting {
    RiskySetting {
        risk,
        key: key.to_owned(),
        value: value.to_owned(),
        origin: "file".into(),
    }
}

fn tools() -> RiskySetting {
    setting(Risk::Tools, "roles.coder.tools", "read_file")
}

fn exec(value: &str) -> RiskySetting {
    setting(Risk::Exec, "members.carol.exec", value)
}

fn itself() -> RiskySetting {
    setting(Risk::Folder, "folder", "made elsewhere")
}

fn files(settings: &[RiskySetting]) -> Facts {
    Facts {
        files: settings.iter().cloned().collect(),
        folder: None,
    }
}

fn folder(id: &str, settings: &[RiskySetting]) -> Facts {
    Facts {
        files: RiskySettings::default(),
        folder: Some(FolderFacts {
            id: FolderId::parse(id).unwrap(),
            itself: itself(),
            settings: settings.iter().cloned().collect(),
        }),
    }
}

#[test]
fn a_workspace_without_risky_settings_needs_no_trust() {
    assert!(judge(&Facts::default(), &Record::default(), None).is_trusted());
}

#[test]
fn settings_need_trust_once_and_again_when_they_change() {
    let facts = files(&[tools()]);
    let verdict = judge(&facts, &Record::default(), None);
    assert_eq!(
        (&verdict.added[..], verdict.was_trusted),
        (&[tools()][..], false)
    );
    let record = Record::trusting(&facts);
    assert!(judge(&facts, &record, None).is_trusted());

    let changed = judge(&files(&[tools(), exec("./x")]), &record, None);
    assert_eq!(
        (changed.added, changed.removed),
        (vec![exec("./x")], vec![])
    );
    assert!(changed.was_trusted);
    // The restriction of the tools is gone, which widens what the members may do.
    let removed = judge(&Facts::default(), &record, None);
    assert_eq!((removed.added, removed.removed), (vec![], vec![tools()]));
}

#[test]
fn a_folder_counts_as_a_whole_and_its_settings_one_by_one() {
    let own = folder("1-1", &[]);
    let verdict = judge(&own, &Record::default(), None);
    assert_eq!(verdict.added, [itself()]);
    let mut record = Record::trusting(&own);
    record.files = None;
    assert!(judge(&own, &record, None).is_trusted());
    assert_eq!(
        judge(&folder("1-1", &[exec("a")]), &record, None).added,
        [exec("a")]
    );

    let mut record = Record::trusting(&folder("1-1", &[exec("a"), exec("b")]));
    record.files = None;
    // A member that is gone takes its setting with it, and nobody has to be asked about that.
    assert!(judge(&folder("1-1", &[exec("b")]), &record, None).is_trusted());
    // Another folder in its place has nothing of its trust.
    let replaced = judge(&folder("1-2", &[exec("b")]), &record, None);
    assert_eq!(replaced.added, [itself(), exec("b")]);
}

#[test]
fn a_grant_is_worth_as_much_as_a_record_for_exactly_its_settings() {
    let facts = Facts {
        files: files(&[tools()]).files,
        ..folder("1-1", &[exec("a")])
    };
    let grant = Grant::of(&facts);
    let none = Record::default();
    assert!(judge(&facts, &none, Some(&grant)).is_trusted());
    let other = Facts {
        files: files(&[exec("evil")]).files,
        ..folder("1-1", &[exec("evil"), exec("a")])
    };
    let verdict = judge(&other, &none, Some(&grant));
    assert_eq!(verdict.added, [exec("evil"), exec("evil")]);
    let elsewhere = folder("2-2", &[exec("a")]);
    assert_eq!(
        judge(&elsewhere, &none, Some(&grant)).added,
        [itself(), exec("a")]
    );
}

#[test]
fn very_many_settings_are_counted() {
    let many: Vec<RiskySetting> = (0..MAX_LISTED_SETTINGS + 5)
        .map(|at| exec(&at.to_string()))
        .collect();
    let lines = judge(&files(&many), &Record::default(), None).lines();
    assert_eq!(lines.len(), MAX_LISTED_SETTINGS + 1);
    assert!(lines.last().unwrap().contains("and 5 more"), "{lines:?}");
}
