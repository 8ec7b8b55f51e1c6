use super::*;
use crate::Table;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

/// A folder `a` with one file, and its table entry.
fn scene(build: &[&str]) -> (tempfile::TempDir, Sources, Runtime) {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("a/target")).unwrap();
    fs::write(root.path().join("a/source"), "one").unwrap();
    fs::write(root.path().join("a/target/left"), "over").unwrap();
    let text = format!(
        "[[runtime]]\nid = 'a'\nname = 'A'\nlanguage = 'C'\nfolder = 'a'\nkind = 'thread'\nrun = ['./a']\n\
         build = [['sh', '-c', '{}']]\nversion = [['sh', '-c', 'cat version 2>/dev/null || echo 1']]\nbase_bytes = 1\n\
         mechanisms = [{{ id = 'yield', what = 'yields', task_bytes = 1 }}]\n",
        build.join("; ")
    );
    let runtime = Table::parse(&text).unwrap().runtimes.remove(0);
    let sources = Sources::Folder(root.path().into());
    (root, sources, runtime)
}

fn build(cache: &Cache, runtime: &Runtime, sources: &Sources) -> (Result<PathBuf, BuildError>, Vec<String>) {
    let mut told = Vec::new();
    let folder = cache.folder(runtime, sources, &AtomicBool::new(false), &mut |line| told.push(line));
    (folder, told)
}

#[test]
fn it_builds_once_until_a_source_changes() {
    let (root, sources, runtime) = scene(&["cp source made"]);
    let cache = Cache::new(root.path().join("cache"));
    let (first, told) = build(&cache, &runtime, &sources);
    let first = first.unwrap();
    assert_eq!(fs::read_to_string(first.join("made")).unwrap(), "one");
    assert!(!first.join("target").exists(), "files of another build are not copied");
    assert!(told.iter().any(|line| line.contains("cp source made")), "{told:?}");
    let (again, told) = build(&cache, &runtime, &sources);
    assert_eq!(again.unwrap(), first);
    assert!(told.is_empty());

    fs::write(root.path().join("a/source"), "two").unwrap();
    let (other, _) = build(&cache, &runtime, &sources);
    let other = other.unwrap();
    assert_ne!(other, first);
    assert_eq!(fs::read_to_string(other.join("made")).unwrap(), "two");
}

#[test]
fn another_toolchain_is_another_build() {
    let (root, sources, mut runtime) = scene(&["true"]);
    let cache = Cache::new(root.path().join("cache"));
    let (first, _) = build(&cache, &runtime, &sources);
    runtime.version = vec![vec!["echo".into(), "2".into()]];
    let (second, _) = build(&cache, &runtime, &sources);
    assert_ne!(first.unwrap(), second.unwrap());
}

#[test]
fn a_failed_build_reports_its_last_output_and_leaves_nothing() {
    let (root, sources, runtime) = scene(&["echo line 3: expected a semicolon >&2", "exit 7"]);
    let cache = Cache::new(root.path().join("cache"));
    let error = build(&cache, &runtime, &sources).0.unwrap_err().to_string();
    assert!(error.contains("status 7") && error.contains("expected a semicolon"), "{error}");
    assert_eq!(fs::read_dir(cache.dir()).unwrap().count(), 0);
}

#[test]
fn a_build_removes_what_a_killed_one_left_and_no_living_one() {
    let (root, sources, runtime) = scene(&["true"]);
    let cache = Cache::new(root.path().join("cache"));
    fs::create_dir_all(cache.dir().join(".tollgate-building-a-killed/target")).unwrap();
    fs::create_dir(cache.dir().join(".config")).unwrap();
    fs::create_dir(cache.dir().join(".tollgate-building-a-living")).unwrap();
    let living = fs::File::open(cache.dir().join(".tollgate-building-a-living")).unwrap();
    living.lock().unwrap();
    let built = build(&cache, &runtime, &sources).0.unwrap();
    let mut left: Vec<_> = fs::read_dir(cache.dir()).unwrap().map(|it| it.unwrap().path()).collect();
    left.sort();
    // `--cache` may name a directory with other hidden ones, such as a home.
    let other = cache.dir().join(".config");
    assert_eq!(left, [other, cache.dir().join(".tollgate-building-a-living"), built]);
}

#[test]
fn a_cache_that_is_not_a_directory_is_an_error_with_a_remedy() {
    let (root, sources, runtime) = scene(&["true"]);
    fs::write(root.path().join("file"), "").unwrap();
    let cache = Cache::new(root.path().join("file/cache"));
    let error = build(&cache, &runtime, &sources).0.unwrap_err().to_string();
    assert!(
        error.contains("file/cache cannot be written") && error.contains("XDG_CACHE_HOME=DIR"),
        "{error}"
    );
}

#[test]
fn what_another_user_could_change_is_not_executed() {
    let (root, sources, runtime) = scene(&["cp source made"]);
    let above = root.path().join("home");
    let cache = Cache::new(above.join("cache"));
    let built = build(&cache, &runtime, &sources).0.unwrap();
    let refused = || {
        let error = build(&cache, &runtime, &sources).0.unwrap_err();
        assert!(matches!(error, BuildError::Unsafe(..)), "{error}");
        error.to_string()
    };
    for path in [&above, cache.dir(), &built] {
        let before = path.metadata().unwrap().permissions();
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(refused().contains("every user may write to"));
        fs::set_permissions(path, before).unwrap();
    }
    let paths = [&above, cache.dir(), &built, &built.join("made"), &root.path().join("a/source")];
    for path in paths {
        if chown(path, Some(65_534), None).is_err() {
            return tollgate_testkit::skip!("only root can give a file to another user");
        }
        if path.ends_with("source") {
            let error = build(&cache, &runtime, &sources).0.unwrap_err().to_string();
            assert!(
                error.starts_with("the sources cannot be read: '") && error.contains("(65534)"),
                "{error}"
            );
        } else {
            assert!(refused().contains("belongs to user"));
        }
        chown(path, Some(0), None).unwrap();
    }
    // A link in place of a build leads where its owner wants.
    fs::rename(&built, above.join("elsewhere")).unwrap();
    symlink(above.join("elsewhere"), &built).unwrap();
    build(&cache, &runtime, &sources).0.unwrap();
    lchown(&built, Some(65_534), None).unwrap();
    refused();
}

#[test]
fn the_default_directory_follows_xdg() {
    let dir =
        |cache: Option<&str>, home: Option<&str>| default_dir(cache.map(Into::into), home.map(Into::into));
    assert_eq!(dir(Some("/c"), Some("/h")), Some("/c/tollgate/runtimes".into()));
    assert_eq!(dir(Some("relative"), Some("/h")), Some("/h/.cache/tollgate/runtimes".into()));
    assert_eq!(dir(None, None), None);
}
