use super::*;
use std::fs::Permissions;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

const NOBODY: u32 = 65_534;

/// `above/file`, in a directory that only this user can change.
fn scene() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("above")).unwrap();
    fs::set_permissions(root.path().join("above"), Permissions::from_mode(0o755)).unwrap();
    let file = root.path().join("above/file");
    fs::write(&file, "content").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    (root, file)
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// All three ways say the same.
fn refusal(path: &Path) -> String {
    let error = check(path).unwrap_err().to_string();
    assert_eq!(open(path).unwrap_err().to_string(), error);
    error
}

#[test]
fn a_file_of_this_user_is_opened_by_its_path_without_links() {
    let (root, file) = scene();
    let plain = fs::canonicalize(&file).unwrap();
    let link = root.path().join("link");
    symlink("above/../above/./file", &link).unwrap();
    for path in [&file, &link] {
        assert_eq!(check(path).unwrap(), plain);
        let mut text = String::new();
        open(path).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "content");
    }
    assert_eq!(check(&root.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    symlink("ring", root.path().join("ring")).unwrap();
    assert!(refusal(&root.path().join("ring")).contains("too many symbolic links"));
}

#[test]
fn what_others_may_write_is_refused_by_the_name_of_who_may() {
    let (_root, file) = scene();
    let above = file.parent().unwrap().to_owned();
    for (path, bits) in [(&file, 0o646), (&above, 0o777), (&above, 0o757)] {
        let before = path.metadata().unwrap().mode();
        mode(path, bits);
        let error = refusal(&file);
        assert!(error.starts_with("every user may write to '") && error.contains("chmod go-w"), "{error}");
        mode(path, before);
    }
    // Entries of a sticky directory are safe, but not the directory itself.
    mode(&above, 0o1777);
    check(&file).unwrap();
    assert!(refusal(&above).contains("every user may write"));
}

#[test]
fn what_another_user_owns_is_refused_with_the_owner() {
    let (root, file) = scene();
    if user() != 0 {
        return tollgate_testkit::skip!("only root can give a file to another user");
    }
    let above = file.parent().unwrap().to_owned();
    for path in [&file, &above] {
        chown(path, Some(NOBODY), None).unwrap();
        let error = refusal(&file);
        assert!(
            error.contains("belongs to user") && error.contains("(65534), who could change it"),
            "{error}"
        );
        assert!(error.contains("for user root (0)"), "{error}");
        chown(path, Some(0), None).unwrap();
    }
    // A link of another user leads today to this file, and tomorrow elsewhere.
    let link = root.path().join("link");
    symlink(&file, &link).unwrap();
    lchown(&link, Some(NOBODY), None).unwrap();
    assert!(refusal(&link).contains("(65534)"));
    assert!(check_link(&link).is_err() && check_link(&file).is_ok());
    // For root no group is private.
    mode(&file, 0o664);
    assert!(refusal(&file).starts_with("group "));
}

#[test]
fn everything_in_a_tree_is_judged_and_what_its_links_lead_to() {
    let (root, file) = scene();
    let above = file.parent().unwrap().to_owned();
    symlink("nowhere", above.join("dangling")).unwrap();
    assert_eq!(tree(&above).unwrap(), fs::canonicalize(&above).unwrap());
    fs::create_dir(above.join("deep")).unwrap();
    fs::write(above.join("deep/file"), "").unwrap();
    mode(&above.join("deep/file"), 0o666);
    assert!(tree(&above).unwrap_err().to_string().contains("deep/file'"));
    mode(&above.join("deep/file"), 0o600);
    tree(&above).unwrap();
    fs::write(root.path().join("outside"), "").unwrap();
    mode(&root.path().join("outside"), 0o602);
    symlink(root.path().join("outside"), above.join("deep/link")).unwrap();
    assert!(tree(&above).unwrap_err().to_string().contains("outside'"));
}

#[test]
fn the_modes_in_a_tree_that_only_its_owner_may_search_do_not_count() {
    let (_root, file) = scene();
    let above = file.parent().unwrap().to_owned();
    mode(&file, 0o666);
    assert!(tree(&above).is_err());
    mode(&above, 0o700);
    tree(&above).unwrap();
    if user() == 0 {
        chown(&file, Some(NOBODY), None).unwrap();
        assert!(tree(&above).is_err(), "its owner can have it open");
    }
}

#[test]
fn a_directory_is_made_only_where_no_other_user_wants_it() {
    let (root, file) = scene();
    let made = make(&root.path().join("a/b")).unwrap();
    assert_eq!(made.metadata().unwrap().mode() & 0o777, 0o700);
    assert_eq!(make(&root.path().join("a/b")).unwrap(), made);
    let above = file.parent().unwrap().to_owned();
    mode(&above, 0o1777);
    make(&above.join("new")).unwrap();
    mode(&above, 0o777);
    let error = make(&above.join("other")).unwrap_err();
    assert!(is_untrusted(&error) && !above.join("other").exists(), "{error}");
    mode(&above, 0o755);
    assert!(!is_untrusted(&make(&file.join("in-a-file")).unwrap_err()));
}

#[test]
fn a_pipe_does_not_keep_it_waiting() {
    let (root, _) = scene();
    let pipe = root.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&pipe).status().unwrap().success());
    open(&pipe).unwrap();
}

#[test]
fn a_group_is_private_if_nobody_else_is_in_it() {
    let users = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/:/bin/sh\nbob:x:1001:1001::/:/bin/sh\n";
    let groups = "root:x:0:\nann:x:1000:\nbob:x:1001:bob,ann\nstaff:x:50:ann\n";
    assert!(is_private(1000, 1000, users, groups));
    assert!(!is_private(1001, 1001, users, groups), "ann is in it, too");
    assert!(!is_private(1000, 50, users, groups), "it is not the user's own");
    let shared = users.replace("1001:1001", "1001:1000");
    assert!(!is_private(1000, 1000, &shared, groups), "bob has it, too");
    assert!(!is_private(1002, 1002, users, groups) && !is_private(1000, 1000, users, ""));
}

#[test]
fn owners_outside_of_a_user_namespace_have_one_number() {
    assert_eq!(outside("         0          0 4294967295\n", "65534\n"), None);
    assert_eq!(outside("         0       1000          1\n", "65534\n"), Some(65_534));
    assert_eq!(outside("0 1000 1\n1 100000 65536\n", "65534\n"), None);
    assert_eq!(outside("", "65534"), None);
}
