//! Full disks and power cuts.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use test_support::{LoopDisk, SmallDisk, report_skip};

/// Writes a new file and, if asked, syncs it and the folder that names it.
fn put(dir: &Path, name: &str, bytes: &[u8], sync: bool) -> io::Result<()> {
    let mut file = File::create(dir.join(name))?;
    file.write_all(bytes)?;
    if sync {
        file.sync_all()?;
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

#[test]
fn a_small_disk_is_soon_full() {
    let disk = match SmallDisk::tmpfs(64 << 10) {
        Ok(disk) => disk,
        Err(skip) => return report_skip("a_small_disk_is_soon_full", skip),
    };
    put(disk.path(), "small", &[1; 1000], false).unwrap();
    let error = put(disk.path(), "large", &[1; 100_000], false).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{error}");

    // Room comes back when something is deleted.
    fs::remove_file(disk.path().join("large")).unwrap();
    put(disk.path(), "fits", &[1; 10_000], false).unwrap();

    let path = disk.path().to_path_buf();
    drop(disk);
    assert!(!path.exists());
}

#[test]
fn a_cut_forgets_what_was_not_synced() {
    let mut disk = match LoopDisk::ext4() {
        Ok(disk) => disk,
        Err(skip) => return report_skip("a_cut_forgets_what_was_not_synced", skip),
    };
    let bytes = [7; 5000];
    for round in 0..3 {
        put(&disk.path(), &format!("kept-{round}"), &bytes, true).unwrap();
        let lost = disk.path().join(format!("lost-{round}"));
        put(&disk.path(), &format!("lost-{round}"), &bytes, false).unwrap();
        assert_eq!(fs::read(&lost).unwrap(), bytes);
        disk.cut().unwrap();
        put(&disk.path(), "too-late", &bytes, false).unwrap_err();
        disk.remount().unwrap();

        for earlier in 0..=round {
            let kept = disk.path().join(format!("kept-{earlier}"));
            assert_eq!(fs::read(kept).unwrap(), bytes);
        }
        // The journal may have saved the name on its own, but not the bytes.
        let length = fs::metadata(&lost).map_or(0, |data| data.len());
        assert!(length < 5000, "{length} bytes outlived the cut");
    }
    let path = disk.path();
    drop(disk);
    assert!(!path.exists());
}

#[test]
fn a_remount_without_a_cut_forgets_nothing() {
    let mut disk = match LoopDisk::ext4() {
        Ok(disk) => disk,
        Err(skip) => return report_skip("a_remount_without_a_cut_forgets_nothing", skip),
    };
    put(&disk.path(), "kept", b"bytes", false).unwrap();
    disk.remount().unwrap();
    assert_eq!(fs::read(disk.path().join("kept")).unwrap(), b"bytes");
}

#[test]
fn a_disk_in_use_is_not_remounted() {
    let mut disk = match LoopDisk::ext4() {
        Ok(disk) => disk,
        Err(skip) => return report_skip("a_disk_in_use_is_not_remounted", skip),
    };
    let user = File::open(disk.path()).unwrap();
    disk.cut().unwrap();
    let error = disk.remount().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ResourceBusy, "{error}");
    drop(user);
    disk.remount().unwrap();
}
