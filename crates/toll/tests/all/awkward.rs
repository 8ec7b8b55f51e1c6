//! Every source counts awkward programs as these count themselves, and agrees with the kernel's accounts. The programs are those
//! of `tests/awkward`: one that mixes threads, executions, signals and ways into the kernel by a seed, and one of 32 bits.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tollgate_testkit::{fast, need, skip, skip_case};
use tollgate_toll::Kind::{Call, Exec, Signal, Task};
use tollgate_toll::{Counted, Counts, Extras, Limits, Source, Wanted, join, run};

const WINDOWS: Extras = Extras { timeline: false, stacks: false, windows: true };
const PLAIN: Extras = Extras { timeline: false, stacks: false, windows: false };
const SOURCES: [(Source, Extras); 4] =
    [(Source::Bpf, PLAIN), (Source::Bpf, WINDOWS), (Source::Perf, PLAIN), (Source::Ptrace, PLAIN)];

/// Actions of the program, each of which can go wrong by itself.
const SHAPES: [&str; 15] = [
    "calls",
    "fork",
    "vfork",
    "clone",
    "abandoned",
    "threads",
    "idle",
    "exit-group",
    "first-thread-ends",
    "exec",
    "exec-storm",
    "killed",
    "killed-late",
    "handled",
    "group",
];

/// A program of `tests/awkward`, compiled into a folder.
struct Program {
    folder: TempDir,
    path: PathBuf,
}

impl Program {
    fn compiled(source: &str, options: &[&str]) -> Result<Self, String> {
        let gcc = need("gcc", "apt-get install gcc libc6-dev").map_err(|missing| missing.to_string())?;
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("program");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/awkward").join(source);
        let mut command = Command::new(gcc);
        let output = command.args(options).arg("-o").arg(&path).arg(source).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        output.status.success().then_some(Self { folder, path }).ok_or(words)
    }

    fn awkward() -> Result<Self, String> {
        Self::compiled("awkward.c", &["-O1", "-static", "-pthread"])
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("counters")
    }

    /// What it says it did, in the run that was counted.
    fn said(&self) -> Vec<u64> {
        let bytes = fs::read(self.file()).unwrap();
        bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect()
    }

    /// Counts it, or says why this source is refused.
    fn counted(&self, (source, extras): (Source, Extras), words: &[&str]) -> Result<Counted, String> {
        _ = fs::remove_file(self.file());
        let mut command: Vec<OsString> = vec![self.path.clone().into(), self.file().into()];
        command.extend(words.iter().map(OsString::from));
        let counted = run(&command, Wanted::Only(source), Limits::default(), extras).unwrap();
        if counted.source == source { Ok(counted) } else { Err(format!("{:?}", counted.warnings)) }
    }
}

/// Places of the program's counters.
const THREADS: usize = 4;
const EXECS: usize = 5;
const SIGNALS: usize = 6;

/// What was counted where the program says something else.
fn differences(counts: &Counts, said: &[u64], first: u64) -> Vec<String> {
    let mut due: Vec<(_, String, u64)> = vec![
        (Call, "getppid".into(), said[0]),
        (Task, "process".into(), said[3]),
        (Task, "thread".into(), said[THREADS]),
        (Exec, "exec".into(), said[EXECS] + first),
    ];
    if cfg!(target_arch = "x86_64") {
        due.extend([(Call, "getppid (i386)".into(), said[1]), (Call, "getppid (x32)".into(), said[2])]);
    }
    let mut differences: Vec<String> = due
        .into_iter()
        .filter(|(kind, name, due)| counts.count(*kind, name) != *due)
        .map(|(kind, name, due)| format!("{} of {name} where {due} are due", counts.count(kind, &name)))
        .collect();
    // The kernel also sends SIGCHLD, which is ignored.
    let signals: BTreeMap<&str, u64> = counts
        .boundaries
        .iter()
        .filter(|((kind, name), _)| *kind == Signal && name != "SIGCHLD")
        .map(|((_, name), tally)| (name.as_str(), tally.count))
        .collect();
    let (sum, due) = (signals.values().sum::<u64>(), said[SIGNALS..].iter().sum::<u64>());
    let numbers = [
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGUSR1, "SIGUSR1"),
        (40, "signal 40"),
    ];
    for (number, name) in numbers {
        let (got, due) = (signals.get(name).copied().unwrap_or(0), said[SIGNALS + number as usize]);
        differences.extend((got != due).then(|| format!("{got} of {name} where {due} are due")));
    }
    differences.extend((sum != due).then(|| format!("{signals:?} where {due} signals are due")));
    differences
}

/// Counts a program by each source, and compares.
fn check(program: &Program, words: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    for source in SOURCES {
        let counted = match program.counted(source, words) {
            Ok(counted) => counted,
            Err(why) => {
                skip_case!(source.0.name(), "it is refused here: {why}");
                continue;
            }
        };
        let mut found = differences(counted.counts.as_ref().unwrap(), &program.said(), 1);
        let contradicted = counted.warnings.iter().filter(|it| it.code == "contradicted");
        // Children that nobody waits for are in no account of a process.
        found.extend(
            contradicted.map(|it| it.text.clone()).filter(|it| !it.starts_with("user and kernel time")),
        );
        wrong.extend(found.into_iter().map(|text| format!("{words:?}: {source:?}: {text}")));
    }
    wrong
}

#[test]
fn each_awkward_action_is_counted_as_it_happens() {
    let program = match Program::awkward() {
        Ok(program) => program,
        Err(why) => return skip!("{why}"),
    };
    let wrong: Vec<String> = SHAPES.iter().flat_map(|shape| check(&program, &["shape", shape])).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn mixtures_of_awkward_actions_are_counted_as_they_happen() {
    let program = match Program::awkward() {
        Ok(program) => program,
        Err(why) => return skip!("{why}"),
    };
    let seeds = if fast() { 1..2 } else { 1..5 };
    let wrong: Vec<String> =
        seeds.flat_map(|seed| check(&program, &["random", &(1000 * seed).to_string(), "2"])).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_program_of_32_bits_makes_calls_with_their_own_names() {
    let program = match Program::compiled(
        "compat.c",
        &["-m32", "-O1", "-nostdlib", "-static", "-no-pie", "-fno-pie"],
    ) {
        Ok(program) => program,
        Err(why) => return skip!("there is no compiler for 32 bits: {why}"),
    };
    if Command::new(&program.path).status().is_err() {
        return skip!("this kernel runs no program of 32 bits");
    }
    for source in SOURCES {
        let counted = match program.counted(source, &[]) {
            Ok(counted) => counted,
            Err(why) => {
                skip_case!(source.0.name(), "it is refused here: {why}");
                continue;
            }
        };
        let counts = counted.counts.unwrap();
        // asm/unistd_32.h: getppid is 64, getuid32 199, exit_group 252.
        for (name, due) in [("getppid (i386)", 1000), ("getuid32 (i386)", 300), ("exit_group (i386)", 1)] {
            assert_eq!(counts.count(Call, name), due, "{source:?}: {name}: {counts:?}");
        }
        assert_eq!(counts.total(Call), 1302, "with its own execution: {source:?}: {counts:?}");
    }
}

/// A process that runs already, with idle threads and a busy one.
#[test]
fn a_process_is_counted_from_the_middle_of_its_life() {
    let program = match Program::awkward() {
        Ok(program) => program,
        Err(why) => return skip!("{why}"),
    };
    for extras in [PLAIN, WINDOWS] {
        let mut command = Command::new(&program.path);
        command.arg(program.file()).arg("attach").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        output.read_exact(&mut [0]).unwrap();
        let pid = child.id() as libc::pid_t;
        let counted = join(pid, Limits::default(), extras, || input.write_all(b"g").unwrap());
        let counted = match counted {
            Ok(counted) => counted,
            Err(why) => {
                child.kill().unwrap();
                child.wait().unwrap();
                return skip!("{why}");
            }
        };
        child.wait().unwrap();
        let mut wrong = differences(counted.counts.as_ref().unwrap(), &program.said(), 0);
        let contradicted = counted.warnings.iter().filter(|it| it.code == "contradicted");
        wrong.extend(contradicted.map(|it| it.text.clone()));
        assert!(wrong.is_empty(), "{extras:?}: {wrong:#?}");
    }
}

/// Tasks that sleep all the time use none of it.
#[test]
fn a_process_that_sleeps_uses_no_cpu_time() {
    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
    let limits = Limits { time: Some(Duration::from_millis(300)) };
    let counted = join(child.id() as libc::pid_t, limits, PLAIN, || ());
    child.kill().unwrap();
    child.wait().unwrap();
    let counted = match counted {
        Ok(counted) => counted,
        Err(why) => return skip!("{why}"),
    };
    let stamped = counted.counts.as_ref().and_then(|counts| counts.stamped).unwrap();
    assert_eq!((stamped.cpu_ns, stamped.user_ns, counted.account.cpu), (0, 0, Duration::ZERO), "{stamped:?}");
}
