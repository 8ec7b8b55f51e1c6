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
fn ids_sort_by_time_and_by_order_within_a_millisecond() {
    let at = |ms| SystemTime::UNIX_EPOCH + Duration::from_millis(ms);
    let first = id::next(None, at(1_795_188_480_000));
    // 48 bits of milliseconds in ten characters of base 32, by hand from the ULID specification.
    assert!(first.to_string().starts_with("01M7WS4P00"), "{first}");
    let mut ids = vec![first];
    for ms in [1_795_188_480_000, 1_795_188_480_000, 1_795_188_480_001, 1_795_188_479_000, 1_795_188_481_000]
    {
        ids.push(id::next(ids.last().copied(), at(ms)));
    }
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    assert!(ids.is_sorted_by(|a, b| a.to_string() < b.to_string()), "{ids:?}");
    assert_ne!(id::next(None, at(1_795_188_480_000)), first, "two machines make two ids");
    assert!(ids.iter().all(|id| id::is_valid(&id.to_string())));
    assert_eq!(rfc3339(at(1_795_188_480_000)), "2026-11-20T15:28:00Z");
}

#[test]
fn an_id_of_either_form_has_its_time() {
    for (id, time) in [
        ("01M7WS4P00E5P6ZQ2M8RWTX9CD", Some(1_795_188_480_000)),
        ("20261120T152800Z-7f3a1c", Some(1_795_188_480_000)),
        ("20261120T152800Z", None),
        ("20261320T152800Z-7f3a1c", None),
        ("lmbench", None),
        ("01M7WS4P00E5P6ZQ2M8RWTX9CU", None),
        ("", None),
    ] {
        assert_eq!(id::time_ms(id), time, "{id}");
    }
    assert_eq!(id::started_ms("2026-11-20T15:28:00Z"), Some(1_795_188_480_000));
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
    // A device has no end.
    assert!(matches!(read_at_most(Path::new("/dev/zero"), 1 << 20), Err(StoreError::Unreadable(..))));
}

#[test]
fn a_run_is_removed_by_its_id_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    std::fs::create_dir(store.dir()).unwrap();
    for name in ["store/aab.json", "store/aac.json", "store/b.json", "elsewhere.json"] {
        std::fs::write(dir.path().join(name), "{}").unwrap();
    }
    assert!(matches!(store.remove(&["aa".into()]), Err(StoreError::Ambiguous(..))));
    for wrong in ["", "x", "latest", "../elsewhere", "../elsewhere.json"] {
        assert!(matches!(store.remove(&[wrong.into()]), Err(StoreError::UnknownId(..))), "{wrong}");
    }
    // All names are found before one is removed.
    assert!(store.remove(&["b".into(), "aa".into()]).is_err());
    let removed = |wanted: &[&str]| -> Vec<String> {
        let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        store.remove(&wanted).unwrap().into_iter().map(|entry| entry.id).collect()
    };
    assert_eq!(removed(&["b", "aab", "b"]), ["aab", "b"]);
    assert_eq!(store.paths().unwrap(), [store.dir().join("aac.json")]);
    assert!(dir.path().join("elsewhere.json").exists());
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
