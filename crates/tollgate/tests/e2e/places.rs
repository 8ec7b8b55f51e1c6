//! Bad places: no room, no rights, no home, one CPU, parts of the system missing.

use crate::case::{ANY, CASE, Case, go_through};
use crate::scene::{NOBODY, Scene, fill};
use object::{Object, ObjectSegment};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io, mem, ptr};

#[test]
fn bad_places() {
    go_through("e2e::places::bad_places", CASES);
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "an unwritable store",
        args: "run null --quick --store {dir}/locked",
        exit: 2,
        says: &["cannot write to the store {dir}/locked: Permission denied", "--store DIR", "--no-save"],
        scene: |scene| {
            scene.as_nobody()?;
            fs::create_dir(scene.path("locked")).map_err(|error| error.to_string())
        },
        ..CASE
    },
    Case {
        name: "an unwritable result",
        args: "list --out {dir}/list.txt",
        exit: 2,
        says: &["--out {dir}/list.txt cannot be written: Permission denied"],
        scene: Scene::as_nobody,
        ..CASE
    },
    Case {
        name: "somebody without rights",
        args: "run null syscall/getppid process/futex --quick --budget-ms 300 --json",
        says: &[],
        scene: Scene::as_nobody,
        then: |outcome| {
            let run = outcome.printed();
            assert_eq!(run["host"]["uid"], crate::scene::NOBODY);
            assert_eq!(crate::json::statuses(&run), ["measured"; 3]);
            assert_eq!(crate::scene::records(&outcome.path("home")).len(), 1, "saved at home");
        },
        ..CASE
    },
    Case {
        name: "a cache of another user, from which programs are run",
        args: "switch --runtime python --cache {dir}/theirs --quick --budget-ms 200 --no-save",
        exit: 2,
        says: &[
            "the cache {dir}/theirs is not safe: '{dir}/theirs' belongs to user",
            "(65534)",
            "--cache DIR",
        ],
        scene: |scene| theirs(scene, "theirs/file"),
        then: |outcome| {
            assert_eq!(fs::read_dir(outcome.path("theirs")).unwrap().count(), 1, "nothing is built")
        },
        ..CASE
    },
    Case {
        name: "a home of another user, kept by sudo",
        args: "switch --runtime python --quick --budget-ms 200 --no-save",
        exit: 2,
        says: &["/theirs' belongs to user", "(65534)", "XDG_CACHE_HOME=DIR"],
        scene: |scene| {
            theirs(scene, "theirs/.cache/file")?;
            let home = scene.path("theirs");
            scene.prepare(move |command| {
                command.env("HOME", home).env_remove("XDG_CACHE_HOME");
            });
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "a home of another user, from which interpreters take modules",
        args: "switch --runtime python --cache {dir}/cache --quick --budget-ms 200 --no-save",
        exit: 2,
        says: &["HOME={dir}/theirs is not safe", "(65534)", "set HOME to a directory of your own"],
        scene: |scene| {
            theirs(scene, "theirs/file")?;
            let home = scene.path("theirs");
            scene.prepare(move |command| {
                command.env("HOME", home);
            });
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "a cache that every user may write",
        args: "switch --runtime python --cache {dir}/open --quick --budget-ms 200 --no-save",
        exit: 2,
        says: &["every user may write to '{dir}/open'", "chmod go-w"],
        scene: |scene| {
            scene.file("open/file", "");
            fs::set_permissions(scene.path("open"), fs::Permissions::from_mode(0o777))
                .map_err(|it| it.to_string())
        },
        ..CASE
    },
    Case {
        name: "runtimes of another user, whose commands build them",
        args: "switch --runtimes {dir}/theirs --quick --budget-ms 200 --no-save",
        exit: 2,
        says: &["--runtimes {dir}/theirs: ", "belongs to user", "(65534)"],
        scene: |scene| theirs(scene, "theirs/runtimes.toml"),
        ..CASE
    },
    Case {
        name: "a core of another user",
        args: "riscv trap --core {dir}/theirs/core.toml --no-save",
        exit: 2,
        says: &["theirs' belongs to user", "(65534), who could change it"],
        scene: |scene| theirs(scene, "theirs/core.toml"),
        ..CASE
    },
    Case {
        name: "a machine that another user saved",
        args: "riscv boot --from {dir}/theirs/machine",
        exit: 125,
        says: &["theirs' belongs to user", "(65534), who could change it"],
        scene: |scene| theirs(scene, "theirs/machine"),
        ..CASE
    },
    Case {
        name: "rules of another user",
        args: "riscv bill --kernel {dir}/kernel --rules {dir}/theirs/rules.toml --no-save",
        exit: 2,
        says: &["theirs' belongs to user", "(65534), who could change it"],
        scene: |scene| {
            scene.file("kernel", "");
            theirs(scene, "theirs/rules.toml")
        },
        ..CASE
    },
    Case {
        name: "prices that another user could write",
        args: "exec --price saved --store {dir}/theirs -- true",
        exit: ANY,
        says: &["--price saved: ", "belongs to user", "(65534), who could change it"],
        scene: |scene| theirs(scene, "theirs/run.json"),
        ..CASE
    },
    Case {
        name: "a link of another user as the result",
        args: "list --out {dir}/link",
        exit: 2,
        says: &["--out {dir}/link cannot be written: '{dir}/link' belongs to user", "(65534)"],
        scene: |scene| {
            scene.file("victim", "mine");
            std::os::unix::fs::symlink(scene.path("victim"), scene.path("link"))
                .map_err(|it| it.to_string())?;
            std::os::unix::fs::lchown(scene.path("link"), Some(NOBODY), None)
                .map_err(|_| "only root can give a link to another user".into())
        },
        then: |outcome| assert_eq!(fs::read_to_string(outcome.path("victim")).unwrap(), "mine"),
        ..CASE
    },
    Case {
        name: "no home at all",
        args: "run null --quick --budget-ms 200 --json",
        scene: |scene| {
            scene.env("HOME", None);
            Ok(())
        },
        then: |outcome| not_saved(outcome, "there is no home directory to save in"),
        ..CASE
    },
    Case {
        name: "a home that does not exist, and may not be made",
        args: "run null --quick --budget-ms 200 --json",
        scene: |scene| {
            scene.as_nobody()?;
            scene.env("HOME", Some("/nonexistent"));
            Ok(())
        },
        then: |outcome| not_saved(outcome, "cannot write to the store /nonexistent"),
        ..CASE
    },
    Case {
        name: "runs without a home",
        args: "show",
        exit: 1,
        says: &["there is no home directory to look in; name one with --store DIR"],
        scene: |scene| {
            scene.env("HOME", None);
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "one CPU only",
        args: "run null core --quick --budget-ms 300 --json --no-save",
        scene: one_cpu,
        then: |outcome| {
            let run = outcome.printed();
            assert_eq!(crate::json::statuses(&run), ["measured", "skipped", "skipped", "skipped", "skipped"]);
            let pair = &run["results"][1];
            assert!(pair["reason"].as_str().unwrap().contains("needs two CPUs"));
            assert!(pair["enable"].as_str().unwrap().contains("second CPU"));
        },
        ..CASE
    },
    Case {
        name: "one CPU only, in the list",
        args: "list --why",
        prints: &["it needs two CPUs and only one may be used", "give the process a second CPU"],
        scene: one_cpu,
        ..CASE
    },
    Case {
        name: "a full disk",
        args: "run null --quick --store {dir}/small",
        exit: 2,
        says: &["the disk of the store {dir}/small is full", "free some space", "--store DIR", "--no-save"],
        scene: |scene| small_disk(scene, c"size=16k"),
        then: |outcome| assert_eq!(outcome.stderr.matches("No space left on device").count(), 1, "said once"),
        ..CASE
    },
    Case {
        name: "a disk that fills up in mid-run",
        args: "run null syscall/getppid --quick --budget-ms 4000 --store {dir}/small",
        exit: 1,
        says: &["the run was not saved: the disk of the store {dir}/small is full", "free some space"],
        prints: &["getppid"],
        scene: |scene| small_disk(scene, c"size=512k"),
        during: |running| {
            running.worker();
            // The mount is seen through the process that is in it.
            let inside = format!("/proc/{}/root{}/filler", running.id(), running.path("small").display());
            fill(Path::new(&inside)).unwrap();
        },
        ..CASE
    },
    Case {
        name: "a result onto a full disk",
        args: "list --json --out {dir}/small/list.txt",
        exit: 1,
        says: &["--out {dir}/small/list.txt cannot be written", "No space left on device"],
        scene: |scene| small_disk(scene, c"nr_inodes=2,size=4k,mode=777"),
        ..CASE
    },
    Case {
        name: "no /proc",
        args: "run null syscall/getppid --quick --budget-ms 300 --json --no-save",
        scene: |scene| hidden(scene, c"/proc"),
        then: |outcome| {
            let run = outcome.printed();
            assert_eq!(crate::json::statuses(&run), ["measured"; 2]);
            assert_eq!(run["host"]["unreadable"], serde_json::json!(["/proc"]));
        },
        ..CASE
    },
    Case {
        name: "no /sys",
        args: "run null core/futex --quick --budget-ms 300 --json --no-save",
        scene: |scene| {
            needs_cpus(2)?;
            hidden(scene, c"/sys")
        },
        then: |outcome| {
            let run = outcome.printed();
            assert_eq!(crate::json::statuses(&run), ["measured"; 2]);
            assert_eq!(run["host"]["unreadable"], serde_json::json!(["/sys"]));
        },
        ..CASE
    },
    Case {
        name: "no /proc, for the doctor",
        args: "doctor",
        prints: &["[missing-facts]"],
        scene: |scene| hidden(scene, c"/proc"),
        ..CASE
    },
    Case {
        name: "few descriptors",
        args: "run null process/pipe thread/pipe process/socketpair --quick --budget-ms 300 --json --no-save",
        scene: |scene| limited(scene, libc::RLIMIT_NOFILE, 8),
        then: |outcome| {
            let run = outcome.printed();
            assert_eq!(run["results"][0]["status"], "measured");
            // All are open at once, so the order decides which finds no descriptor left.
            let results = run["results"].as_array().unwrap();
            let skipped: Vec<_> = results.iter().filter(|result| result["status"] == "skipped").collect();
            assert!(!skipped.is_empty(), "{run:#}");
            for result in skipped {
                assert!(result["enable"].as_str().unwrap().contains("ulimit -n"), "{result}");
            }
        },
        ..CASE
    },
    Case {
        name: "no descriptor to start with",
        args: "run null --quick --no-save",
        exit: 1,
        says: &["ulimit -n"],
        scene: |scene| limited(scene, libc::RLIMIT_NOFILE, 4),
        ..CASE
    },
    Case {
        name: "no further process",
        args: "run null --quick --no-save",
        exit: 1,
        says: &["the worker process could not be started", "ulimit -u"],
        scene: |scene| {
            scene.as_nobody()?;
            limited(scene, libc::RLIMIT_NPROC, 0)
        },
        ..CASE
    },
    Case {
        name: "no further process for the probes",
        args: "run null process/futex thread/pipe spawn/fork --quick --budget-ms 300 --json --no-save",
        scene: |scene| {
            scene.as_nobody()?;
            // The program and its worker.
            limited(scene, libc::RLIMIT_NPROC, 2)
        },
        then: |outcome| {
            let run = outcome.printed();
            assert_eq!(crate::json::statuses(&run), ["measured", "skipped", "skipped", "skipped"]);
            for result in &run["results"].as_array().unwrap()[1..] {
                assert!(result["enable"].as_str().unwrap().contains("ulimit -u"), "{result}");
            }
        },
        ..CASE
    },
    Case {
        name: "little memory",
        args: "run null fault/anonymous --quick --budget-ms 300 --json --no-save",
        exit: crate::case::ANY,
        scene: |scene| limited(scene, libc::RLIMIT_AS, program_size() + (16 << 20)),
        then: |outcome| assert!(matches!(outcome.exit, Some(0 | 1))),
        ..CASE
    },
    Case {
        name: "a stack of 64 KiB, for a record",
        args: "show {dir}/store/20260101T000000Z-aaaaaa.json",
        prints: &["0 measured"],
        scene: |scene| {
            crate::stores::two_runs(scene)?;
            limited(scene, libc::RLIMIT_STACK, 64 << 10)
        },
        ..CASE
    },
    Case {
        name: "a stack of 64 KiB, for the list",
        args: "list",
        prints: &["getppid"],
        scene: |scene| limited(scene, libc::RLIMIT_STACK, 64 << 10),
        ..CASE
    },
    Case {
        name: "a stack of 64 KiB, for a run",
        args: "run null syscall/getppid --quick --budget-ms 300 --json --no-save",
        scene: |scene| limited(scene, libc::RLIMIT_STACK, 64 << 10),
        then: |outcome| assert_eq!(crate::json::statuses(&outcome.printed()), ["measured"; 2]),
        ..CASE
    },
    Case {
        name: "standard input closed",
        args: "run null --quick --budget-ms 200 --no-save",
        prints: &["null", "1 measured"],
        scene: |scene| {
            close(scene, &[0]);
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "every standard stream closed",
        args: "run null --quick --budget-ms 200 --store {dir}/store",
        scene: |scene| {
            close(scene, &[0, 1, 2]);
            Ok(())
        },
        then: |outcome| assert_eq!(outcome.saved()["complete"], true),
        ..CASE
    },
    Case {
        name: "a busy neighbor on the same CPU",
        args: "run null syscall/getppid --quick --budget-ms 1500 --json --no-save --cpu 0",
        scene: |scene| {
            scene.keep(Spinner::on(0)?);
            Ok(())
        },
        then: |outcome| {
            let run = outcome.printed();
            let warning =
                crate::json::warning(&run["warnings"], "other-task").expect("the run has the warning");
            assert!(warning.contains("another task ran on cpu 0"), "{warning}");
        },
        ..CASE
    },
];

fn not_saved(outcome: &crate::scene::Outcome, why: &str) {
    let run = outcome.printed();
    assert_eq!(run["complete"], true);
    let warning = crate::json::warning(&run["warnings"], "not-saved").expect("the run has the warning");
    assert!(warning.contains(why) && warning.contains("--store DIR"), "{warning}");
}

/// A file in a directory, both of which belong to another user.
fn theirs(scene: &Scene, file: &str) -> Result<(), String> {
    scene.file(file, "");
    let owned = |path: &Path| std::os::unix::fs::chown(path, Some(NOBODY), None);
    let below = Path::new(file).ancestors().filter(|path| !path.as_os_str().is_empty());
    below
        .map(|path| scene.path(&path.to_string_lossy()))
        .try_for_each(|path| owned(&path))
        .map_err(|_| "only root can give a file to another user".into())
}

/// A reason to skip when fewer CPUs may be used.
pub(crate) fn needs_cpus(wanted: usize) -> Result<(), String> {
    let allowed = tollgate_measure::placement::allowed().map_err(|error| error.to_string())?;
    // Cases name the CPUs from 0.
    let there = (0..wanted).all(|cpu| allowed.contains(&cpu));
    if there { Ok(()) } else { Err(format!("it needs the CPUs 0 to {}", wanted - 1)) }
}

pub(crate) fn one_cpu(scene: &mut Scene) -> Result<(), String> {
    needs_cpus(1)?;
    pin_child(scene, 0);
    Ok(())
}

/// The program may use one CPU only.
pub(crate) fn pin_child(scene: &mut Scene, cpu: usize) {
    scene.in_child(move || {
        // SAFETY: an all-zero cpu_set_t is the empty set, `cpu` is far below its size, and the set is
        // valid for the size passed.
        done(unsafe {
            let mut set: libc::cpu_set_t = mem::zeroed();
            libc::CPU_SET(cpu, &mut set);
            libc::sched_setaffinity(0, mem::size_of_val(&set), &set)
        })
    });
}

/// The bytes of memory that the program itself takes, which is most where it is built without optimization.
pub(crate) fn program_size() -> u64 {
    let program = fs::read(crate::scene::PROGRAM).unwrap();
    let program = object::File::parse(&*program).unwrap();
    program.segments().map(|segment| segment.size()).sum()
}

pub(crate) fn limited(scene: &mut Scene, what: libc::__rlimit_resource_t, most: u64) -> Result<(), String> {
    scene.in_child(move || {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // What the caller of the tests left open would count against the limit.
        let inherited = if what == libc::RLIMIT_NOFILE { 3..1024 } else { 0..0 };
        for descriptor in inherited {
            // SAFETY: takes integers; a descriptor that is not open is refused.
            unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
        // SAFETY: the limit is valid and only read.
        done(unsafe { libc::setrlimit(what, &limit) })
    });
    Ok(())
}

pub(crate) fn close(scene: &mut Scene, descriptors: &'static [i32]) {
    scene.in_child(move || {
        for &descriptor in descriptors {
            // SAFETY: takes an integer; the child is about to load the program.
            unsafe { libc::close(descriptor) };
        }
        Ok(())
    });
}

/// A small disk at `{dir}/small`.
pub(crate) fn small_disk(scene: &mut Scene, options: &'static CStr) -> Result<(), String> {
    fs::create_dir(scene.path("small")).map_err(|error| error.to_string())?;
    let at = CString::new(scene.path("small").as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    mounted(scene, at, options)
}

/// A directory of the system, hidden.
fn hidden(scene: &mut Scene, at: &CStr) -> Result<(), String> {
    mounted(scene, at.into(), c"size=4k")
}

/// A file system of its own, for this program only.
fn mounted(scene: &mut Scene, at: CString, options: &'static CStr) -> Result<(), String> {
    // SAFETY: no arguments.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let maps = [format!("0 {user} 1"), "deny".into(), format!("0 {group} 1")];
    scene.in_child(move || {
        // SAFETY: takes flags only.
        if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
            // Who is not root is root in a user namespace of his own, where that is allowed.
            // SAFETY: takes flags only.
            done(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) })?;
            let files = [c"/proc/self/uid_map", c"/proc/self/setgroups", c"/proc/self/gid_map"];
            for (file, text) in files.into_iter().zip(&maps) {
                // SAFETY: the path ends in a zero byte, the text is valid for its length, and the
                // descriptor is closed by the one that opened it.
                unsafe {
                    let descriptor = libc::open(file.as_ptr(), libc::O_WRONLY);
                    libc::write(descriptor, text.as_ptr().cast(), text.len());
                    libc::close(descriptor);
                }
            }
        }
        let none = ptr::null();
        // SAFETY: every string ends in a zero byte; what is null may be null with these flags.
        done(unsafe {
            libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, ptr::null())
        })?;
        // SAFETY: every string ends in a zero byte.
        done(unsafe {
            libc::mount(c"none".as_ptr(), at.as_ptr(), c"tmpfs".as_ptr(), 0, options.as_ptr().cast())
        })
    });
    Ok(())
}

pub(crate) fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A thread that keeps a CPU busy while it lives.
struct Spinner {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Spinner {
    fn on(cpu: usize) -> Result<Self, String> {
        needs_cpus(cpu + 1)?;
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            tollgate_measure::placement::pin(cpu).unwrap();
            while !told.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
