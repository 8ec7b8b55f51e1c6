//! What is written about a program besides its bill: inlined calls, the timeline, the trace of instructions.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;
use tollgate_cores::{CacheCounter, Core};
use tollgate_lab::exec::{Alone, ExecJob, Limits, Linux, Prepared, Ran, Ready, Views};
use tollgate_record::family::ProgramAsked;
use tollgate_record::{Measurement, counter};
use tollgate_riscv::{Access, AccessKind, Decoder, Insn, Isa, Observer, Privilege, Retired};

const IMAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images");
const COMPILER: &str = "riscv64-linux-gnu-gcc";
const MISSING: &str = "riscv64-linux-gnu-gcc is missing: apt-get install gcc-riscv64-linux-gnu";

fn isa() -> Isa {
    "rv64gc_zba_zbb_zbs_zicbom_zicboz_sstc_svinval_svpbmt".parse().unwrap()
}

fn job(program: &Path) -> ExecJob {
    ExecJob {
        program: program.to_str().unwrap().to_owned(),
        sysroot: "/usr/riscv64-linux-gnu".into(),
        ..ExecJob::default()
    }
}

fn alone(job: ExecJob) -> Ran {
    let machine = Alone { isa: isa(), ram_bytes: 64 << 20, seed: 0 };
    Prepared::new(job).unwrap().run_alone(machine, &limits()).unwrap()
}

fn limits() -> Limits<'static> {
    Limits { instructions: 2_000_000_000, interrupted: &|| false, output: None }
}

fn record(ran: &Ran) -> Measurement {
    ran.record(ProgramAsked::default()).unwrap()
}

/// Compiles a static program; `None` if there is no compiler.
fn compiled(dir: &Path, source: &str, options: &[&str]) -> Option<PathBuf> {
    tollgate_testkit::program(COMPILER)?;
    fs::write(dir.join("calls.c"), source).unwrap();
    let mut command = std::process::Command::new(COMPILER);
    command.current_dir(dir).args(["-static", "-o", "calls", "calls.c"]).args(options);
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(dir.join("calls"))
}

/// `hundred` is inlined in lines 5 and 6, `both` in line 10 with both of them; the compiler makes all other instructions.
const INLINED: &str = "static inline __attribute__((always_inline)) void hundred(void) {\n\
    __asm__ volatile(\".rept 100\\nnop\\n.endr\");\n\
    }\n\
    static inline __attribute__((always_inline)) void both(void) {\n\
    hundred();\n\
    hundred();\n\
    }\n\
    __attribute__((noinline)) void outer(void) {\n\
    hundred();\n\
    both();\n\
    }\n\
    int main(void) { for (int i = 0; i < 10; i++) outer(); return 0; }\n";

#[test]
fn inlined_calls_have_their_function_and_their_place() {
    let dir = tempfile::tempdir().unwrap();
    for options in [&["-O2", "-g"][..], &["-O2", "-g", "-gdwarf-4"]] {
        let Some(program) = compiled(dir.path(), INLINED, options) else {
            return tollgate_testkit::skip!("{MISSING}");
        };
        let entry = record(&alone(job(&program)));
        let found = entry.found.program().unwrap();
        let of =
            |name: &str| found.functions.iter().find(|it| it.name == name).map_or(0, |it| it.instructions);
        // Three copies of a hundred instructions, ten times.
        assert_eq!(of("hundred (inlined)"), 3_000, "{options:?}");
        assert!((10..100).contains(&of("outer")), "{}", of("outer"));
        let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
        for path in &found.paths {
            let callers = std::iter::successors(path.caller, |at| found.paths[*at as usize].caller);
            let mut names: Vec<&str> =
                callers.map(|at| found.paths[at as usize].function.as_str()).take(3).collect();
            names.insert(0, &path.function);
            *stacks.entry(names.join(" < ")).or_default() += path.cycles;
        }
        let at = |stack: &str| {
            let found = stacks.iter().filter(|it| it.0.starts_with(stack));
            found.map(|it| it.1).sum::<u64>()
        };
        assert_eq!(at("hundred (inlined at calls.c:9) < outer < main"), 1_000);
        for line in [5, 6] {
            let stack =
                format!("hundred (inlined at calls.c:{line}) < both (inlined at calls.c:10) < outer < main");
            assert_eq!(at(&stack), 1_000, "{stacks:?}");
        }
        // The total is that of the program without debug information.
        let plain = compiled(dir.path(), INLINED, &["-O2"]).unwrap();
        let plain = record(&alone(job(&plain)));
        assert_eq!(plain.counter(counter::INSTRUCTIONS), entry.counter(counter::INSTRUCTIONS));
    }
}

/// Slices of the timeline nest, and the steps are the bill.
pub(crate) fn check_timeline(ran: &mut Ran) -> Vec<Value> {
    let entry = record(ran);
    let (text, dropped) = ran.timeline().unwrap();
    assert_eq!(dropped, 0);
    let document: Value = serde_json::from_str(&text).unwrap();
    let mut events = document["traceEvents"].as_array().unwrap().clone();
    events.retain(|event| event["ph"] == "X");
    let time = |event: &Value, key: &str| (event[key].as_f64().unwrap() * 1e3).round() as u64;
    let mut parts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut open: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut last = 0;
    for event in &events {
        let (from, length) = (time(event, "ts"), time(event, "dur"));
        assert!(from >= last && length > 0, "{event}");
        last = from;
        let open = open.entry(event["tid"].as_u64().unwrap()).or_default();
        while open.last().is_some_and(|end| *end <= from) {
            open.pop();
        }
        assert!(open.last().is_none_or(|end| from + length <= *end), "{event} in {open:?}");
        open.push(from + length);
        if event["cat"] == "step" && event["pid"] == 1 {
            *parts.entry(event["args"]["part"].as_str().unwrap()).or_default() += length;
        }
    }
    let is_timed = entry.cycles.is_some();
    for phase in entry.phases.iter().filter(|_| !is_timed) {
        assert_eq!(
            parts.get(&*phase.name).copied(),
            phase.instructions.map(|it| it as u64),
            "{}",
            phase.name
        );
    }
    if is_timed {
        let own = entry.phases.iter().find(|phase| phase.name == "own-code").unwrap();
        let (drawn, counted) = (parts["own-code"] as f64, own.cycles.unwrap().estimate);
        assert!((drawn / counted - 1.0).abs() < 0.02, "{drawn} of {counted}");
    }
    events
}

#[test]
fn the_timeline_of_a_program_alone_is_its_bill() {
    let program = Path::new(IMAGES).join("ctx_switch-linux.elf");
    let views = Views { timeline: true, ..Views::default() };
    let mut ran = alone(ExecJob { views: views.clone(), ..job(&program) });
    assert!(alone(job(&program)).timeline().is_none());
    let entry = record(&ran);
    assert!(!entry.phases.is_empty());
    let events = check_timeline(&mut ran);
    let calls = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    assert_eq!(["getpid", "write", "program"].map(calls), [1, 5, 1]);
    check_timeline(&mut alone(ExecJob {
        views,
        core: Some(Core::preset("rocket").unwrap()),
        ..job(&program)
    }));
}

/// A record of DynamoRIO's `trace_entry.h`, version 7: type, size, value. The numbers below are counted from its enumerations.
type Entry = (u16, u16, u64);

fn entries(file: &Path) -> Vec<Entry> {
    let bytes = fs::read(file).unwrap();
    assert_eq!(bytes.len() % 12, 0);
    let entry = |it: &[u8]| {
        let short = |at: usize| u16::from_le_bytes([it[at], it[at + 1]]);
        (short(0), short(2), u64::from_le_bytes(it[4..].try_into().unwrap()))
    };
    bytes.chunks(12).map(entry).collect()
}

/// What a reader learns from a trace.
#[derive(Default)]
struct Replay {
    instructions: u64,
    calls: Vec<u64>,
    /// Instructions between the beginning and the end of the kernel's part of each call.
    kernel: Vec<(u64, u64)>,
    events: u64,
    misses: [u64; 2],
}

/// Reads a trace as DynamoRIO's reader does, checks what its invariant checker checks, and replays it in the caches of a core.
fn replay(file: &Path, core: &Core) -> Replay {
    const MARKER: u16 = 28;
    let all = entries(file);
    assert_eq!(all[0], (25, 0, 7), "a header of version 7");
    assert_eq!(all[1], (MARKER, 12, 7), "the version");
    assert_eq!((all[2].0, all[2].1), (MARKER, 9), "the file type");
    assert_eq!(all[2].2, 0x200 | 0x400 | 0x1000 | 0x1_0000);
    assert_eq!(all.last(), Some(&(26, 0, 0)), "a footer");
    let decoder = Decoder::new(isa());
    let mut caches = CacheCounter::new(core).unwrap();
    let mut replay = Replay::default();
    let mut words: HashMap<u64, (u32, u16)> = HashMap::new();
    let mut pages: HashMap<(u64, u64), u64> = HashMap::new();
    let (mut process, mut physical) = (0, None);
    // The addresses at which the next instruction of each thread may be.
    let mut thread = 0;
    let mut follows: HashMap<u64, Option<u64>> = HashMap::new();
    let mut target = None;
    let mut open: HashMap<u64, (u64, u64)> = HashMap::new();
    let mut at = 3;
    while at < all.len() {
        let (kind, size, value) = all[at];
        at += 1;
        match (kind, size) {
            (22, _) => {
                thread = value;
                // It was switched to inside of the kernel.
                follows.insert(thread, None);
            }
            (24, _) => process = value,
            (47, length) => {
                assert!(length == 2 || length == 4);
                words.insert(u64::MAX, (value as u32, length));
            }
            (MARKER, 15) => physical = Some(value),
            (MARKER, 17) => {
                pages.insert((process, value >> 12), physical.take().unwrap() >> 12);
            }
            (MARKER, 29) => target = Some(value),
            (MARKER, 25) => {
                assert_eq!((all[at - 3].1, all[at - 2].1), (2, 3), "a time and a core before a call");
                assert_eq!(words[&all[at - 4].2].0, 0x73, "a call behind its instruction");
                assert_eq!(all[at], (MARKER, 27, value), "the kernel's part behind a call");
                replay.calls.push(value);
                open.insert(thread, (value, replay.instructions));
                follows.insert(thread, None);
            }
            (MARKER, 27) => {}
            (MARKER, 28) => {
                let (call, from) = open.remove(&thread).unwrap();
                assert_eq!(call, value);
                replay.kernel.push((call, replay.instructions - from));
            }
            (MARKER, 0) => {
                replay.events += 1;
                follows.insert(thread, None);
            }
            (10..=16 | 48 | 49, length) => {
                if let Some(word) = words.remove(&u64::MAX) {
                    words.insert(value, word);
                }
                let (word, bytes) = words[&value];
                assert_eq!(bytes, length, "the encoding is as long as the instruction");
                if let Some(expected) = follows.get(&thread).copied().flatten() {
                    assert_eq!(value, expected, "record {at} of {}", all.len());
                }
                let insn = decoder.decode(word).unwrap();
                let indirect = matches!(kind, 12 | 15 | 16);
                assert_eq!(target.is_some(), indirect, "{kind}");
                let next = match kind {
                    10 | 49 => Some(value + u64::from(length)),
                    11 | 14 | 48 => Some(value.wrapping_add(insn.imm as u64)),
                    _ => target.take(),
                };
                follows.insert(thread, next);
                // An instruction in front of its event, or a call in front of its time, was fetched and did not retire.
                let raises =
                    all[at] == (MARKER, 0, value) || word == 0x73 && (all[at].0, all[at].1) == (MARKER, 2);
                replay.instructions += u64::from(!raises);
                let pa = |va: u64| pages[&(process, va >> 12)] << 12 | va & 0xfff;
                while let Some(&(store @ 0..=1, size, va)) = all.get(at) {
                    at += 1;
                    let (kind, size) = (AccessKind::Data, size as u8);
                    caches.access(&Access { kind, store: store == 1, va, pa: pa(va), size, value: 0 });
                }
                // Each half of an instruction has its own physical address; it takes effect behind the last one. Of one that raises an
                // exception the core looks up the line of the first byte.
                let fetched = if raises { 2 } else { u64::from(length) };
                for half in (0..fetched).step_by(2) {
                    let is_last = half + 2 == u64::from(length);
                    let effect = if is_last { insn } else { decoder.decode(0x13).unwrap() };
                    // The kernel's pages follow each other in memory.
                    let at = match pages.contains_key(&(process, (value + half) >> 12)) {
                        true => pa(value + half),
                        false => pa(value) + half,
                    };
                    caches.retire(&Retired {
                        pc: at,
                        pa: at,
                        next_pc: 0,
                        insn: Insn { len: 2, ..effect },
                        word,
                        privilege: Privilege::Machine,
                        value: 0,
                        operands: [0; 2],
                        taken: false,
                        instret: 0,
                    });
                }
            }
            (MARKER, 1..=3 | 10 | 18) | (23 | 26, _) => {}
            other => panic!("{other:?}"),
        }
    }
    let counts = caches.counts();
    replay.misses = [counts.l1i_misses, counts.l1d_misses];
    replay
}

#[test]
fn a_trace_of_a_program_alone_is_read_back_and_misses_the_same_lines() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trace");
    let core = Core::preset("spike").unwrap();
    let views = Views { drmemtrace: Some(file.clone()), ..Views::default() };
    let program = Path::new(IMAGES).join("ctx_switch-linux.elf");
    let mut ran = alone(ExecJob { views, core: Some(core.clone()), ..job(&program) });
    assert_eq!(ran.finish_trace().unwrap(), Some(0));
    let found = replay(&file, &core);
    assert_eq!(Some(found.misses), ran.misses());
    let [mut calls, mut expected] = [found.calls, vec![172, 64, 64, 64, 64, 64, 93]];
    calls.sort_unstable();
    expected.sort_unstable();
    assert_eq!(calls, expected, "getpid, five writes and the exit");
    let own = record(&ran).counter(counter::INSTRUCTIONS).unwrap() as u64;
    assert!(found.instructions > own, "{} and {own}", found.instructions);
}

/// Fifty calls, each twice: the first time cold, the second time warm.
const CALLS: &str = "#define _GNU_SOURCE\n#include <unistd.h>\n#include <sys/syscall.h>\n\
    static const int numbers[] = {172,173,174,175,176,177,178,153,154,155,156,157,160,163,165,166,169,179,\n\
    113,114,115,118,119,120,121,123,124,125,126,127,130,132,134,135,140,141,148,150,155,158,17,23,24,25,29,\n\
    43,44,46,57,62,63,64,72,78,79,80,81,90,96,98,99};\n\
    int main(void) {\n\
      for (int round = 0; round < 2; round++)\n\
        for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)\n\
          syscall(numbers[i], -1, 0, 0, 0, 0, 0);\n\
      return 0;\n\
    }\n";

/// Runs inside the kernel at `TOLLGATE_LINUX` (Debian's linux-image for riscv64).
#[test]
fn the_views_of_a_program_inside_of_linux_have_the_kernel() {
    let Some(path) = env::var_os("TOLLGATE_LINUX") else {
        return tollgate_testkit::skip!("TOLLGATE_LINUX does not name a riscv64 kernel");
    };
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compiled(dir.path(), CALLS, &["-O1"]) else {
        return tollgate_testkit::skip!("{MISSING}");
    };
    let image = fs::read(Path::new(&path)).unwrap();
    let linux =
        Linux { image: &image, map: None, rules: None, isa: isa(), ram_bytes: 512 << 20, harts: 1, seed: 0 };
    let snapshot = Ready::boot(linux, &|| false).unwrap().save().unwrap();
    let run = |job: ExecJob| {
        let ready = Ready::restore(&snapshot, None, None, 512 << 20).unwrap();
        Prepared::new(job).unwrap().run(ready, &limits()).unwrap()
    };
    let file = dir.path().join("trace");
    let core = Core::preset("spike").unwrap();
    let views = Views { timeline: true, drmemtrace: Some(file.clone()) };
    let mut plain = run(ExecJob { views: views.clone(), ..job(&program) });
    let events = check_timeline(&mut plain);
    let calls = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    assert_eq!((calls("getpid"), calls("start (execve)"), calls("loader")), (2, 1, 1));
    assert!(calls("load fault") > 0);

    let mut ran = run(ExecJob { views, core: Some(core.clone()), ..job(&program) });
    check_timeline(&mut ran);
    assert_eq!(ran.finish_trace().unwrap(), Some(0));
    let found = replay(&file, &core);
    assert_eq!(Some(found.misses), ran.misses());
    assert!(found.events > 10, "{}", found.events);
    let getpid: Vec<u64> = found.kernel.iter().filter(|it| it.0 == 172).map(|it| it.1).collect();
    let kinds: std::collections::BTreeSet<u64> = found.kernel.iter().map(|it| it.0).collect();
    assert!(kinds.len() >= 50, "{} kinds", kinds.len());
    // A getpid of Linux takes some 200 instructions, cold and warm the same.
    assert_eq!((getpid.len(), getpid[0]), (2, getpid[1]), "{getpid:?}");
    assert!((100..400).contains(&getpid[0]), "{getpid:?}");
}
