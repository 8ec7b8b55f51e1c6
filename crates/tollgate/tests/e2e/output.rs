//! Where results go: devices, closed pipes, dumb terminals, narrow ones, foreign locales.

use crate::case::{ANY, CASE, Case, go_through};
use crate::scene::{Outcome, Scene, records};
use crate::stores::record;
use std::fs::{self, File};
use std::os::fd::FromRawFd;
use std::os::unix::fs::{FileTypeExt, symlink};
use tollgate_record::{Estimate, Measurement, Per, Status, document};

#[test]
fn output() {
    go_through("e2e::output::output", CASES);
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "standard output on a full device",
        args: "list",
        exit: 1,
        says: &["standard output cannot be written", "No space left on device", "--out FILE"],
        scene: |scene| {
            let full = File::options().write(true).open("/dev/full").map_err(|error| error.to_string())?;
            scene.stdout(full);
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "standard output on a full device, after a run",
        args: "run null --quick --budget-ms 200 --store {dir}/store",
        exit: 1,
        says: &["standard output cannot be written", "tollgate show"],
        scene: |scene| {
            let full = File::options().write(true).open("/dev/full").map_err(|error| error.to_string())?;
            scene.stdout(full);
            Ok(())
        },
        then: |outcome| assert_eq!(outcome.saved()["complete"], true, "the run itself is not lost"),
        ..CASE
    },
    Case {
        name: "a result onto a full device",
        args: "list --out {dir}/full",
        exit: 1,
        says: &["--out {dir}/full cannot be written", "No space left on device"],
        // Only root could replace the device itself by mistake.
        scene: |scene| {
            let _ = scene.as_nobody();
            symlink("/dev/full", scene.path("full")).map_err(|error| error.to_string())
        },
        then: |outcome| {
            assert!(fs::metadata(outcome.path("full")).unwrap().file_type().is_char_device());
        },
        ..CASE
    },
    Case {
        name: "a result through a link",
        args: "list --out {dir}/link",
        scene: |scene| {
            scene.file("target", "before");
            symlink("target", scene.path("link")).map_err(|error| error.to_string())
        },
        then: |outcome| {
            assert!(fs::symlink_metadata(outcome.path("link")).unwrap().is_symlink());
            assert!(fs::read_to_string(outcome.path("target")).unwrap().contains("getppid"));
        },
        ..CASE
    },
    Case {
        name: "a result in place of an older one",
        args: "list --out {dir}/list.txt",
        scene: |scene| {
            use std::os::unix::fs::PermissionsExt;
            scene.file("list.txt", "before");
            let private = fs::Permissions::from_mode(0o600);
            fs::set_permissions(scene.path("list.txt"), private).map_err(|error| error.to_string())
        },
        then: |outcome| {
            use std::os::unix::fs::PermissionsExt;
            let facts = fs::metadata(outcome.path("list.txt")).unwrap();
            assert_eq!(facts.permissions().mode() & 0o777, 0o600, "its permissions stay");
            assert!(outcome.stdout.is_empty());
        },
        ..CASE
    },
    Case { name: "a reader of the list that has gone", args: "list", ..GONE },
    Case { name: "a reader of a document that has gone", args: "list --json", ..GONE },
    Case { name: "a reader of the help that has gone", args: "--help", ..GONE },
    Case { name: "a reader of a command's help that has gone", args: "ring --help", ..GONE },
    Case { name: "a reader of the version that has gone", args: "--version", ..GONE },
    Case { name: "a reader of findings that has gone", args: "doctor", ..GONE },
    Case { name: "a reader of a bill that has gone", args: "riscv trap --no-save", ..GONE },
    Case { name: "a reader of a guest that has gone", args: "riscv run {dir}/guest.elf", ..GONE },
    Case { name: "a reader of a kernel that has gone", args: "riscv boot --kernel {dir}/guest.elf", ..GONE },
    Case { name: "a reader of a listing that has gone", args: "show --store {dir}/store", ..GONE },
    Case { name: "a reader of a saved run that has gone", args: "show latest --store {dir}/store", ..GONE },
    Case {
        name: "a reader of an export that has gone",
        args: "export latest --format csv --store {dir}/store",
        ..GONE
    },
    Case { name: "a reader of an import that has gone", args: "import {dir}/figures.txt --no-save", ..GONE },
    Case {
        name: "a reader of a comparison that has gone",
        args: "compare {dir}/a.json {dir}/b.json",
        ..GONE
    },
    Case {
        name: "a reader of a history that has gone",
        args: "history --all-hosts --store {dir}/store",
        ..GONE
    },
    Case { name: "a reader of a script that has gone", args: "generate completions bash", ..GONE },
    Case {
        name: "a reader that has gone in mid-run",
        args: "run null --quick --budget-ms 200 --store {dir}/new",
        then: |outcome| {
            by_sigpipe(outcome);
            assert!(outcome.says("saved as"));
            let new = records(&outcome.path("new"));
            assert!(fs::read_to_string(&new[0]).unwrap().contains("\"complete\": true"));
        },
        ..GONE
    },
    Case {
        name: "a guest's output on a full device",
        args: "riscv run {dir}/guest.elf",
        exit: 125,
        says: &["No space left on device"],
        scene: |scene| {
            guest(scene)?;
            let full = File::options().write(true).open("/dev/full").map_err(|error| error.to_string())?;
            scene.stdout(full);
            Ok(())
        },
        then: |outcome| assert_eq!(outcome.stderr.matches("No space left").count(), 1, "{}", outcome.stderr),
        ..CASE
    },
    Case {
        name: "standard error that nobody reads",
        args: "run futx",
        exit: 2,
        scene: |scene| {
            let (reader, writer) = pipe()?;
            drop(reader);
            scene.stderr(writer);
            Ok(())
        },
        says: &[],
        then: |outcome| assert!(outcome.stderr.is_empty()),
        ..CASE
    },
    Case {
        name: "plain ASCII where the locale wants it",
        args: "run null syscall/getppid process/pipe --quick --budget-ms 300 --no-save",
        prints: &["getppid"],
        scene: |scene| {
            scene.env("LANG", Some("C"));
            Ok(())
        },
        then: |outcome| assert!(outcome.stdout.is_ascii() && outcome.stderr.is_ascii()),
        ..CASE
    },
    Case {
        name: "LC_ALL before LANG",
        args: "run null --quick --budget-ms 200 --no-save",
        scene: |scene| {
            scene.env("LC_ALL", Some("POSIX"));
            Ok(())
        },
        then: |outcome| assert!(outcome.stdout.is_ascii()),
        ..CASE
    },
    Case {
        name: "a run in 80 columns",
        args: "run null thread process/pipe --quick --budget-ms 600 --no-save",
        then: narrow,
        ..CASE
    },
    Case { name: "the list in 80 columns", args: "list --why", then: narrow, ..CASE },
    Case { name: "the doctor in 80 columns", args: "doctor", then: narrow, ..CASE },
    Case {
        name: "a dumb terminal",
        args: "list",
        scene: |scene| {
            scene.env("TERM", Some("dumb"));
            Ok(())
        },
        then: |outcome| assert!(!outcome.stdout.contains('\u{1b}')),
        ..CASE
    },
    Case {
        name: "a terminal",
        args: "list",
        scene: |scene| terminal(scene, 60),
        then: |outcome| assert!(screen(outcome).contains('\u{1b}'), "colors on a terminal"),
        ..CASE
    },
    Case {
        name: "forced colors",
        args: "list",
        scene: |scene| {
            scene.env("CLICOLOR_FORCE", Some("1"));
            Ok(())
        },
        then: |outcome| assert!(outcome.stdout.contains('\u{1b}')),
        ..CASE
    },
    Case {
        name: "forced colors that are not wanted",
        args: "list",
        scene: |scene| {
            scene.env("CLICOLOR_FORCE", Some("1"));
            scene.env("NO_COLOR", Some("1"));
            Ok(())
        },
        then: |outcome| assert!(!outcome.stdout.contains('\u{1b}')),
        ..CASE
    },
    Case {
        name: "progress on a terminal",
        args: "run null --quick --budget-ms 700 --no-save",
        scene: |scene| progress(scene, "xterm"),
        then: |outcome| {
            let screen = screen(outcome);
            assert!(screen.contains(" %"), "a bar with its percentage: {screen:?}");
            assert!(!outcome.stdout.contains(['\r', '\u{1b}']), "and only there");
        },
        ..CASE
    },
    Case {
        name: "progress of the doctor on a terminal",
        args: "doctor",
        scene: |scene| progress(scene, "xterm"),
        then: |outcome| {
            let screen = screen(outcome);
            assert!(screen.contains("watching cpu"), "{screen:?}");
        },
        ..CASE
    },
    Case {
        name: "no progress on a dumb terminal",
        args: "run null --quick --budget-ms 300 --no-save",
        scene: |scene| progress(scene, "dumb"),
        then: |outcome| {
            let screen = screen(outcome);
            assert!(!screen.contains('\u{1b}') && !screen.contains('%'), "{screen:?}");
        },
        ..CASE
    },
    Case {
        name: "no progress in a file",
        args: "run null --quick --budget-ms 300 --no-save",
        then: |outcome| {
            assert!(!outcome.stderr.contains(['\r', '\u{1b}', '%']), "{:?}", outcome.stderr);
        },
        ..CASE
    },
    Case {
        name: "a terminal without colors",
        args: "list",
        scene: |scene| {
            scene.env("NO_COLOR", Some("1"));
            terminal(scene, 60)
        },
        then: |outcome| assert!(!screen(outcome).contains('\u{1b}')),
        ..CASE
    },
    Case {
        name: "a dumb terminal, and narrow",
        args: "list",
        scene: |scene| {
            scene.env("TERM", Some("dumb"));
            terminal(scene, 50)
        },
        then: |outcome| {
            let screen = screen(outcome);
            assert!(!screen.contains('\u{1b}') && screen.contains("getppid"));
            let widest = screen.lines().map(|line| line.trim_end().chars().count()).max();
            assert!(widest <= Some(50), "{widest:?} columns\n{screen}");
        },
        ..CASE
    },
];

/// Standard output on a terminal of so many columns; what it shows is kept in a file.
fn terminal(scene: &mut Scene, columns: u16) -> Result<(), String> {
    let its = pty(scene, columns)?;
    scene.stdout(its);
    Ok(())
}

/// The same for standard error, where progress is shown.
fn progress(scene: &mut Scene, term: &str) -> Result<(), String> {
    scene.env("TERM", Some(term));
    let its = pty(scene, 80)?;
    scene.stderr(its);
    Ok(())
}

/// The program's end of a new terminal.
fn pty(scene: &mut Scene, columns: u16) -> Result<File, String> {
    let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut ours, mut its) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: both numbers are valid for writing, the size is only read, the rest may be null.
    let opened =
        unsafe { libc::openpty(&mut ours, &mut its, none, none.cast(), (&raw const size).cast_mut()) };
    if opened != 0 {
        return Err(format!("no terminal is available: {}", std::io::Error::last_os_error()));
    }
    // SAFETY: openpty has just opened both, and nobody else owns them.
    let (mut ours, its) = unsafe { (File::from_raw_fd(ours), File::from_raw_fd(its)) };
    let path = scene.path("screen");
    let reader = std::thread::spawn(move || {
        let mut shown = Vec::new();
        // It ends with an error when the last writer has closed its end.
        let _ = std::io::Read::read_to_end(&mut ours, &mut shown);
        fs::write(path, shown).unwrap();
    });
    scene.keep(Reader(Some(reader)));
    Ok(its)
}

/// Waits for its thread.
struct Reader(Option<std::thread::JoinHandle<()>>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.take().map(std::thread::JoinHandle::join);
    }
}

fn screen(outcome: &Outcome) -> String {
    fs::read_to_string(outcome.path("screen")).unwrap()
}

fn narrow(outcome: &Outcome) {
    for line in outcome.stdout.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        assert!(!line.contains('\u{1b}'), "colors in a file");
    }
}

/// A program whose output nobody reads ends as `cat` does, by SIGPIPE and without a word.
const GONE: Case = Case { exit: ANY, scene: nobody_reads, then: by_sigpipe, ..CASE };

fn by_sigpipe(outcome: &Outcome) {
    assert_eq!(outcome.signal, Some(libc::SIGPIPE));
    assert!(!outcome.stderr.to_lowercase().contains("pipe"), "{}", outcome.stderr);
}

/// A program that prints.
fn guest(scene: &mut Scene) -> Result<(), String> {
    let image = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/caller.elf");
    scene.file("guest.elf", fs::read(image).map_err(|error| error.to_string())?);
    Ok(())
}

fn nobody_reads(scene: &mut Scene) -> Result<(), String> {
    guest(scene)?;
    scene.file("figures.txt", "Simple syscall: 0.1040 microseconds\n");
    for (file, id) in [("a.json", "20260101T000000Z-aaaaaa"), ("b.json", "20260102T000000Z-bbbbbb")] {
        let mut run = document::from_json(record(id).as_bytes()).map_err(|error| error.to_string())?;
        let row = Measurement::empty("syscall/getppid", "host", Per::Syscall, Status::Measured);
        run.results = vec![Measurement { ns: Some(Estimate::point(100.0)), ..row }];
        let text = document::to_json(&run).map_err(|error| error.to_string())?;
        scene.file(&format!("store/{id}.json"), &text);
        scene.file(file, text);
    }
    let (reader, writer) = pipe()?;
    drop(reader);
    scene.stdout(writer);
    Ok(())
}

fn pipe() -> Result<(std::io::PipeReader, std::io::PipeWriter), String> {
    std::io::pipe().map_err(|error| error.to_string())
}
