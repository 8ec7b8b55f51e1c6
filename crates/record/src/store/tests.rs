use super::*;
use std::time::{Duration, SystemTime};

#[test]
fn the_default_directory_follows_the_xdg_rules() {
    let of = |data: Option<&str>, home: Option<&str>| default_dir(data.map(Into::into), home.map(Into::into));
    assert_eq!(of(Some("/data"), Some("/home/a")), Some("/data/tollgate".into()));
    assert_eq!(of(None, Some("/home/a")), Some("/home/a/.local/share/tollgate".into()));
    assert_eq!(of(Some(""), Some("/home/a")), Some("/home/a/.local/share/tollgate".into()));
    assert_eq!(of(Some("relative"), Some("/home/a")), Some("/home/a/.local/share/tollgate".into()));
    assert_eq!(of(None, None), None);
}

#[test]
fn ids_sort_by_time_and_differ_within_a_second() {
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let (first, again, later) =
        (new_id(at(1_795_188_480)), new_id(at(1_795_188_480)), new_id(at(1_795_188_481)));
    assert!(first.starts_with("20261120T152800Z-"), "{first}");
    assert_ne!(first, again);
    assert!(first < later && again < later);
    assert!([&first, &again, &later].iter().all(|id| id::is_valid(id)));
    assert_eq!(rfc3339(at(1_795_188_480)), "2026-11-20T15:28:00Z");
}

#[test]
fn an_id_cannot_leave_the_directory() {
    for bad in ["", ".", "..", "../x", "a/b", ".hidden", "a b", "ä", "a\0", &"x".repeat(101)] {
        assert!(!id::is_valid(bad), "{bad:?}");
    }
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("big.json");
    std::fs::write(&path, vec![b' '; 2 << 20]).unwrap();
    let error = read_at_most(&path, 1 << 20).unwrap_err();
    assert!(
        error.to_string().ends_with("big.json is larger than 1 MiB, which no run is; is it the right file?")
    );
    // A device does not tell its size.
    assert!(matches!(read_at_most(Path::new("/dev/zero"), 1 << 20), Err(StoreError::TooLarge { .. })));
}

#[test]
fn only_old_files_in_the_making_are_swept() {
    let dir = tempfile::tempdir().unwrap();
    let old = SystemTime::now() - 2 * ABANDONED;
    let make = |name: &str, age: Option<SystemTime>| {
        let file = File::create(dir.path().join(name)).unwrap();
        age.into_iter().for_each(|time| file.set_modified(time).unwrap());
    };
    make(".tollgate-killed.tmp", Some(old));
    make(".tollgate-at-work.tmp", None);
    make(".another.tmp", Some(old));
    make("a.json", Some(old));
    Store::open(dir.path().into()).unwrap();
    let mut left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".another.tmp", ".tollgate-at-work.tmp", "a.json"]);
}

#[test]
fn a_full_disk_and_a_forbidden_one_are_told_apart() {
    let store = Store::open("/nowhere".into()).unwrap();
    let say = |code| store.unwritable(io::Error::from_raw_os_error(code)).to_string();
    // ENOSPC, EDQUOT; EACCES, EROFS.
    for full in [28, 122] {
        let text = say(full);
        assert!(text.starts_with("the disk of the store /nowhere is full"), "{text}");
        assert!(text.contains("--store DIR") && text.contains("--no-save"), "{text}");
    }
    for forbidden in [13, 30] {
        let text = say(forbidden);
        assert!(text.starts_with("cannot write to the store /nowhere"), "{text}");
        assert!(text.contains("--store DIR") && text.contains("--no-save"), "{text}");
    }
}
