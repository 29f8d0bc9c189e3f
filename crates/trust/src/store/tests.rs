use super::*;
use crate::risky::Risk;
use crate::verdict::{FolderFacts, judge};
use std::fs;
use std::os::unix::fs::PermissionsExt;

struct Place {
    folder: tempfile::TempDir,
    store: Store,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        let store = Store::new(Some(folder.path().join("state/team-lead")));
        Self { folder, store }
    }

    fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// Makes the folder `name` as a program of the user does.
    fn make(&self, name: &str) -> FolderId {
        let locked = self.store.lock(&self.workspace()).unwrap();
        let path = self.workspace().join(name);
        fs::create_dir(&path).unwrap();
        let id = FolderId::of(&path).unwrap();
        locked.made(id.clone()).unwrap();
        id
    }
}

fn setting(value: &str) -> RiskySetting {
    RiskySetting {
        risk: Risk::Exec,
        key: "members.carol.exec".to_owned(),
        value: value.to_owned(),
        origin: "o".into(),
    }
}

fn facts(id: &FolderId, files: &[RiskySetting], settings: &[RiskySetting]) -> Facts {
    Facts {
        files: files.iter().cloned().collect(),
        folder: Some(FolderFacts {
            id: id.clone(),
            itself: setting("itself"),
            settings: settings.iter().cloned().collect(),
        }),
    }
}

#[test]
fn what_was_trusted_is_trusted_until_it_is_revoked() {
    let place = Place::new();
    let id = place.make("folder");
    let facts = facts(&id, &[setting("a")], &[setting("b")]);
    let is_trusted = |workspace: &Path| {
        let record = place.store.record(workspace).unwrap();
        judge(&facts, &record, None).is_trusted()
    };
    assert!(!is_trusted(&place.workspace()));
    place.store.trust(&place.workspace(), &facts).unwrap();
    assert!(is_trusted(&place.workspace()));
    // The same folder by another name.
    let link = place.folder.path().join("link");
    std::os::unix::fs::symlink(place.workspace(), &link).unwrap();
    assert!(is_trusted(&link));
    // Another folder with the same content.
    let copy = place.folder.path().join("copy");
    fs::create_dir(&copy).unwrap();
    assert!(!is_trusted(&copy));
    assert!(place.store.revoke(&place.workspace()).unwrap());
    assert!(!is_trusted(&place.workspace()));
    assert!(!place.store.revoke(&place.workspace()).unwrap());
}

#[test]
fn typed_settings_are_added_and_if_they_are_many_those_that_are_gone_forgotten() {
    let place = Place::new();
    let id = place.make("folder");
    let allow = |id: &FolderId, typed: &str, present: &[RiskySetting]| {
        let present = present.iter().cloned().collect();
        let allowed = place
            .store
            .allow(&place.workspace(), id, &[setting(typed)], &present);
        allowed.unwrap();
    };
    let settings = || {
        let record = place.store.record(&place.workspace()).unwrap();
        let settings = record.folder.unwrap().settings;
        let values = settings.iter().map(|setting| setting.value.clone());
        values.collect::<Vec<_>>()
    };
    allow(&id, "a", &[]);
    allow(&id, "b", &[]);
    assert_eq!(settings(), ["a", "b"]);
    let many: Vec<RiskySetting> = (0..MAX_KEPT_SETTINGS)
        .map(|at| setting(&format!("x{at}")))
        .collect();
    place
        .store
        .trust(&place.workspace(), &facts(&id, &[], &many))
        .unwrap();
    allow(&id, "c", &[setting("x1")]);
    assert_eq!(settings(), ["c", "x1"]);
    // A setting for a folder that is not the user's own is not taken.
    let other = FolderId::of(&place.workspace()).unwrap();
    allow(&other, "z", &[]);
    assert!(!settings().contains(&"z".to_owned()));
}

#[test]
fn what_a_killed_process_left_behind_does_not_matter() {
    let place = Place::new();
    let id = place.make("folder");
    let folder = place.folder.path().join("state/team-lead/trust");
    let records = || {
        let entries = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let records = entries.filter(|path| path.extension().is_some_and(|e| e == "json"));
        records.collect::<Vec<_>>()
    };
    let [record] = &records()[..] else {
        panic!("{:?}", records());
    };
    fs::write(record.with_extension("new"), "{\"workspace\": \"/torn").unwrap();
    let known = place.store.record(&place.workspace()).unwrap();
    assert_eq!(known.folder.unwrap().id, id);
    let facts = facts(&id, &[setting("a")], &[]);
    place.store.trust(&place.workspace(), &facts).unwrap();
    let known = place.store.record(&place.workspace()).unwrap();
    assert!(judge(&facts, &known, None).is_trusted());
    assert_eq!(records().len(), 1);
}

#[test]
fn records_are_private_and_damaged_ones_trust_nothing() {
    let place = Place::new();
    let id = place.make("folder");
    place
        .store
        .trust(&place.workspace(), &facts(&id, &[], &[]))
        .unwrap();
    let folder = place.folder.path().join("state/team-lead/trust");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let mut records = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            records += 1;
            fs::write(&path, "{").unwrap();
        }
    }
    assert_eq!(records, 1);
    let record = place.store.record(&place.workspace()).unwrap();
    assert_eq!(record, Record::default());
}

#[test]
fn many_writers_lose_nothing() {
    let place = Place::new();
    let id = place.make("folder");
    let present: RiskySettings = (0..8).map(|at| setting(&at.to_string())).collect();
    std::thread::scope(|scope| {
        for at in 0..8 {
            let (store, id, present) = (&place.store, &id, &present);
            let workspace = place.workspace();
            scope.spawn(move || {
                let typed = [setting(&at.to_string())];
                store.allow(&workspace, id, &typed, present).unwrap();
            });
        }
    });
    let record = place.store.record(&place.workspace()).unwrap();
    assert_eq!(record.folder.unwrap().settings, present);
}

#[test]
fn without_a_state_folder_nothing_is_trusted_and_nothing_kept() {
    let store = Store::new(None);
    let workspace = tempfile::tempdir().unwrap();
    let record = store.record(workspace.path()).unwrap();
    assert_eq!(record, Record::default());
    let error = store
        .trust(workspace.path(), &Facts::default())
        .unwrap_err();
    assert!(matches!(error, StoreError::NoFolder), "{error}");
}
