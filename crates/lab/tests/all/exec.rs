//! Bills of programs inside of Linux, and alone.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use tollgate_cores::Core;
use tollgate_lab::exec::{
    Alone, Ended, ExecError, ExecJob, Limits, Linux, PassOn, Prepared, Ran, Ready, Views,
};
use tollgate_record::family::{GuestExec, ProgramAsked, ProgramFound};
use tollgate_record::{Measurement, counter, phase};
use tollgate_riscv::Isa;

use crate::exec_views::check_timeline;

const IMAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images");
const COMPILER: &str = "riscv64-linux-gnu-gcc";

fn isa() -> Isa {
    "rv64gc_zba_zbb_zbs_zicbom_zicboz_sstc_svinval_svpbmt".parse().unwrap()
}

fn job(program: &Path, arguments: &[&str]) -> ExecJob {
    ExecJob {
        program: program.to_str().unwrap().to_owned(),
        arguments: arguments.iter().map(ToString::to_string).collect(),
        environment: vec!["LANG=C".into()],
        sysroot: "/usr/riscv64-linux-gnu".into(),
        ..ExecJob::default()
    }
}

fn limits() -> Limits<'static> {
    Limits { instructions: 2_000_000_000, interrupted: &|| false, output: None }
}

fn alone(job: ExecJob) -> Result<Ran, ExecError> {
    Prepared::new(job)?.run_alone(Alone { isa: isa(), ram_bytes: 64 << 20, seed: 0 }, &limits())
}

fn record(ran: &Ran) -> Measurement {
    ran.record(ProgramAsked::default()).unwrap()
}

fn found(entry: &Measurement) -> (&ProgramFound, &GuestExec) {
    let found = entry.found.program().unwrap();
    (found, found.exec.as_ref().unwrap())
}

/// The parts add up to the total, and the functions do, in instructions and cycles.
fn check(entry: &Measurement) {
    let (found, _) = found(entry);
    let total = entry.counter(counter::INSTRUCTIONS).unwrap();
    let parts: f64 = entry.phases.iter().filter_map(|phase| phase.instructions).sum();
    let functions: u64 = found.functions.iter().map(|function| function.instructions).sum();
    assert_eq!((parts, functions as f64), (total, total));
    let paths: u64 = found.paths.iter().map(|path| path.cycles).sum();
    let Some(cycles) = entry.counter(counter::CYCLES) else {
        // What interrupts came to is in no path; neither is it in the bill.
        assert!(paths as f64 <= total && paths as f64 > 0.95 * total, "{paths} of {total}");
        return;
    };
    let parts: f64 = entry.phases.iter().filter_map(|phase| Some(phase.cycles?.estimate)).sum();
    let causes: u64 = found.functions.iter().flat_map(|function| function.causes.values()).sum();
    assert_eq!((parts, causes as f64), (cycles, cycles));
    assert!(cycles > total);
}

fn count(entry: &Measurement, name: &str) -> u64 {
    found(entry)
        .1
        .crossings
        .iter()
        .filter(|it| it.name == name && it.stage == "program")
        .map(|it| it.count)
        .sum()
}

/// Compiles a program; `None` if there is no compiler.
fn compiled(dir: &Path, name: &str, source: &str, options: &[&str]) -> Option<PathBuf> {
    tollgate_testkit::program(COMPILER)?;
    let (file, out) = (dir.join(format!("{name}.c")), dir.join(name));
    fs::write(&file, source).unwrap();
    let mut command = std::process::Command::new(COMPILER);
    let done = command.arg("-O1").args(options).arg(&file).arg("-o").arg(&out).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(out)
}

/// The program makes one `getpid`, and prints in five pieces (guests/riscv/programs/ctx_switch.c).
#[test]
fn a_program_alone_is_billed_by_function_and_call() {
    let program = Path::new(IMAGES).join("ctx_switch-linux.elf");
    let ran = alone(job(&program, &[])).unwrap();
    assert_eq!(ran.ended, Ended::Exited(0));
    assert!(ran.output.starts_with(b"getpid 1000: "), "{}", String::from_utf8_lossy(&ran.output));
    let entry = record(&ran);
    check(&entry);
    assert_eq!(["getpid", "write", "read"].map(|name| count(&entry, name)), [1, 5, 0]);
    let (found, exec) = found(&entry);
    assert_eq!((exec.status, exec.kernel.as_deref()), (Some(0), None));
    let names: Vec<&str> = found.functions.iter().map(|function| function.name.as_str()).collect();
    assert!(names.contains(&"main") && names.contains(&"user_start"), "{names:?}");
    // Three instructions set gp and sp up and call main; two follow it (user/linux.S).
    let start = found.functions.iter().find(|function| function.name == "user_start").unwrap();
    assert!((4..=6).contains(&start.instructions), "{}", start.instructions);
    assert_eq!(record(&alone(job(&program, &[])).unwrap()), entry);
    let timed = ExecJob { core: Some(Core::preset("rocket").unwrap()), ..job(&program, &[]) };
    let timed = record(&alone(timed).unwrap());
    check(&timed);
    assert_eq!(timed.counter(counter::INSTRUCTIONS), entry.counter(counter::INSTRUCTIONS));
}

#[test]
fn one_more_call_and_its_instructions_are_seen_alone() {
    let dir = tempfile::tempdir().unwrap();
    let source = "#include <stdlib.h>\n#include <unistd.h>\n\
                  int main(int n, char **words) { for (int i = 0; i < atoi(words[1]); i++) getppid(); return n; }";
    let Some(program) = compiled(dir.path(), "calls", source, &["-static"]) else {
        return tollgate_testkit::skip!("{COMPILER} is missing: apt-get install gcc-riscv64-linux-gnu");
    };
    let bill = |calls: &str| {
        let ran = alone(job(&program, &[calls])).unwrap();
        assert_eq!(ran.ended, Ended::Exited(2));
        record(&ran)
    };
    let [one, two, three] = ["1", "2", "3"].map(bill);
    assert_eq!([&one, &two, &three].map(|entry| count(entry, "getppid")), [1, 2, 3]);
    let total = |entry: &Measurement| entry.counter(counter::INSTRUCTIONS).unwrap();
    let step = total(&two) - total(&one);
    assert_eq!(total(&three) - total(&two), step);
    // A turn of the loop with a call of atoi, and the stub around the call.
    assert!((10.0..200.0).contains(&step), "{step}");
    let calls = |entry: &Measurement| entry.found.program().unwrap().exec.clone().unwrap().crossings;
    let others = |entry| calls(entry).into_iter().filter(|it| it.name != "getppid").collect::<Vec<_>>();
    assert_eq!(others(&one), others(&two));
}

#[test]
fn a_program_alone_ends_as_it_would_under_a_kernel() {
    let dir = tempfile::tempdir().unwrap();
    let source = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <signal.h>\n\
        int main(int n, char **words) {\n\
          char line[64]; char *much = malloc(4 << 20); memset(much, 1, 4 << 20);\n\
          switch (words[1][0]) {\n\
          case 's': *(volatile int *)8 = 1; break;\n\
          case 'a': abort();\n\
          case 'l': for (;;) {}\n\
          case 'i': while (fgets(line, sizeof line, stdin)) fputs(line, stdout); return 7;\n\
          }\n\
          return much[5];\n\
        }";
    let Some(program) = compiled(dir.path(), "ends", source, &["-static"]) else {
        return tollgate_testkit::skip!("{COMPILER} is missing: apt-get install gcc-riscv64-linux-gnu");
    };
    let run = |word: &str, input: &str| {
        let job = ExecJob { input: input.into(), ..job(&program, &[word]) };
        let limits = Limits { instructions: 5_000_000, ..limits() };
        let machine = Alone { isa: isa(), ram_bytes: 64 << 20, seed: 0 };
        Prepared::new(job).unwrap().run_alone(machine, &limits).unwrap()
    };
    assert_eq!(run("x", "").ended, Ended::Exited(1));
    assert_eq!(run("s", "").ended, Ended::Killed(11));
    assert_eq!(run("a", "").ended, Ended::Killed(6));
    assert_eq!(run("l", "").ended.exit_status(), 124);
    let ran = run("i", "one\ntwo\n");
    assert_eq!((ran.ended, &ran.output[..]), (Ended::Exited(7), &b"one\ntwo\n"[..]));
    let dynamic = compiled(dir.path(), "dynamic", "int main() { return 0; }", &[]).unwrap();
    let error = alone(job(&dynamic, &[])).map(drop).unwrap_err().to_string();
    assert!(error.contains("is linked to be loaded by /lib/ld-linux-riscv64"), "{error}");
}

/// Runs programs inside the kernel at `TOLLGATE_LINUX` (Debian's linux-image for riscv64).
#[test]
fn a_program_inside_of_linux_is_billed_with_the_kernel() {
    let Some(path) = env::var_os("TOLLGATE_LINUX") else {
        return tollgate_testkit::skip!("TOLLGATE_LINUX does not name a riscv64 kernel");
    };
    let dir = tempfile::tempdir().unwrap();
    let source = "#include <stdio.h>\n#include <unistd.h>\n#include <sys/wait.h>\n\
        static int work(int n) { int s = 0; for (volatile int i = 0; i < n; i++) s += i; return s; }\n\
        int main(int n, char **words) {\n\
          printf(\"%s %d\\n\", words[1], work(1000)); fflush(stdout); getppid(); getppid();\n\
          if (fork() == 0) { work(5000); _exit(0); }\n\
          wait(0); fprintf(stderr, \"err\"); return 9;\n\
        }";
    let (Some(dynamic), Some(fixed)) =
        (compiled(dir.path(), "dynamic", source, &[]), compiled(dir.path(), "fixed", source, &["-static"]))
    else {
        return tollgate_testkit::skip!("{COMPILER} is missing: apt-get install gcc-riscv64-linux-gnu");
    };
    let image = fs::read(Path::new(&path)).unwrap();
    let [snapshot, two_harts] = [1, 2].map(|harts| {
        let linux =
            Linux { image: &image, map: None, rules: None, isa: isa(), ram_bytes: 512 << 20, harts, seed: 0 };
        Ready::boot(linux, &|| false).unwrap().save().unwrap()
    });
    let run_in = |snapshot: &[u8], job: ExecJob| {
        let ready = Ready::restore(snapshot, None, None, 512 << 20).unwrap();
        let ran = Prepared::new(job).unwrap().run(ready, &limits()).unwrap();
        assert_eq!((ran.ended, &ran.errors[..]), (Ended::Exited(9), &b"err"[..]));
        assert_eq!(ran.output, b"hello 499500\n");
        let entry = record(&ran);
        check(&entry);
        entry
    };
    let run = |job: ExecJob| run_in(&snapshot, job);
    let of = |entry: &Measurement, name| entry.phase(name).and_then(|it| it.instructions).unwrap_or(0.0);
    let bills = [&dynamic, &fixed].map(|program| run(job(program, &["hello"])));
    for entry in &bills {
        assert_eq!(["getppid", "clone", "wait4"].map(|name| count(entry, name)), [2, 1, 1]);
        assert!(!entry.warnings.iter().any(|warning| warning.code == "unnamed"), "{:?}", entry.warnings);
        let names: Vec<&str> = found(entry).0.functions.iter().map(|it| it.name.as_str()).collect();
        assert!(
            ["work", "kernel:do_trap_ecall_u", "kernel:handle_mm_fault"].iter().all(|it| names.contains(it))
        );
        // Both tasks execute it: six instructions and more a turn.
        let work = found(entry).0.functions.iter().find(|it| it.name == "work").unwrap().instructions;
        assert!((36_000..80_000).contains(&work), "{work}");
        for part in
            [phase::PROGRAM_START, phase::ENTRY_CODE, phase::KERNEL_WORK, phase::SWITCHES, phase::PROGRAM_END]
        {
            assert!(of(entry, part) > 100.0, "{}", part.name);
        }
        let site = found(entry).1.sites.iter().any(|it| {
            it.crossing == "getppid" && it.count == 2 && it.callers.iter().any(|caller| caller == "main")
        });
        assert!(site, "{:?}", found(entry).1.sites);
    }
    let loader = bills.each_ref().map(|entry| of(entry, phase::LOADER));
    assert!(loader[0] > 100_000.0 && loader[1] < 50_000.0, "{loader:?}");
    assert_eq!(run(job(&dynamic, &["hello"])), bills[0]);
    // What is passed on while it runs takes no instruction.
    let source = "#include <stdio.h>\n int main(void) {\n\
        puts(\"begun\"); fflush(stdout); fputs(\"err\", stderr);\n\
        for (volatile int i = 0; i < 1000000; i++) {}\n\
        puts(\"done\"); return 9; }";
    let slow = compiled(dir.path(), "slow", source, &["-static"]).unwrap();
    let early = RefCell::new([Vec::<u8>::new(), Vec::new()]);
    let to = |file: usize, text: &[u8]| early.borrow_mut()[file].extend(text);
    let [quiet, passed_on] = [None, Some(PassOn { to: &to, every: Duration::ZERO })].map(|output| {
        let ready = Ready::restore(&snapshot, None, None, 512 << 20).unwrap();
        let ran = Prepared::new(job(&slow, &[])).unwrap().run(ready, &Limits { output, ..limits() }).unwrap();
        assert_eq!(ran.ended, Ended::Exited(9));
        (record(&ran), ran.output, ran.errors)
    });
    assert_eq!((&quiet.1[..], &quiet.2[..]), (&b"begun\ndone\n"[..], &b"err"[..]));
    assert_eq!((&passed_on.1[..], &passed_on.2[..]), (&b"done\n"[..], &b""[..]));
    assert_eq!(early.into_inner(), [b"begun\n".to_vec(), b"err".to_vec()]);
    assert_eq!(passed_on.0, quiet.0);
    // On two harts the program executes the same code and makes the same calls.
    let twice = [0, 1].map(|_| run_in(&two_harts, job(&fixed, &["hello"])));
    assert_eq!(twice[0], twice[1]);
    let [one, two] = [&bills[1], &twice[0]].map(|entry| {
        let work = found(entry).0.functions.iter().find(|it| it.name == "work").unwrap().instructions;
        (work, ["getppid", "clone", "wait4", "write"].map(|name| count(entry, name)))
    });
    assert_eq!(one, two);
    let timed = ExecJob { core: Some(Core::preset("rocket").unwrap()), ..job(&fixed, &["hello"]) };
    both_harts_run(dir.path(), &two_harts);
    let timed = run(timed);
    assert_eq!(timed.counter(counter::INSTRUCTIONS), bills[1].counter(counter::INSTRUCTIONS));
}

/// The parent works on hart 0, the child four times as much on hart 1, as Linux confirms.
fn both_harts_run(dir: &Path, two_harts: &[u8]) {
    let source = "#define _GNU_SOURCE\n#include <sched.h>\n#include <stdio.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
        static int on(int hart, int n) {\n\
          cpu_set_t set; CPU_ZERO(&set); CPU_SET(hart, &set); sched_setaffinity(0, sizeof set, &set);\n\
          for (volatile int i = 0; i < n; i++) {}\n\
          return sched_getcpu();\n\
        }\n\
        int main(void) {\n\
          int status; if (fork() == 0) _exit(on(1, 200000));\n\
          int hart = on(0, 50000); wait(&status); printf(\"%d %d\", hart, WEXITSTATUS(status)); return 0;\n\
        }";
    let program = compiled(dir, "both", source, &["-static"]).unwrap();
    let [counted, timed] = [None, Some(Core::preset("rocket").unwrap())].map(|core| {
        let views = Views { timeline: true, ..Views::default() };
        let ready = Ready::restore(two_harts, None, None, 512 << 20).unwrap();
        let mut ran = Prepared::new(ExecJob { core, views, ..job(&program, &[]) })
            .unwrap()
            .run(ready, &limits())
            .unwrap();
        assert_eq!((ran.ended, &ran.output[..]), (Ended::Exited(0), &b"0 1"[..]));
        check_timeline(&mut ran);
        record(&ran)
    });
    let of = |entry: &Measurement, hart: usize, unit: &str| {
        entry.counters[&counter::HART.part(&format!("{hart}/{unit}"))]
    };
    for entry in [&counted, &timed] {
        check(entry);
        let harts = [0, 1].map(|hart| of(entry, hart, "instructions"));
        assert_eq!(Some(harts[0] + harts[1]), entry.counter(counter::INSTRUCTIONS));
        // A turn of the loop has a load, an addition, a store and a branch, or more.
        assert!(harts[0] > 4.0 * 50_000.0 && harts[1] > 4.0 * 200_000.0, "{harts:?}");
    }
    // The cores do not change what the program does.
    assert_eq!(timed.counter(counter::INSTRUCTIONS), counted.counter(counter::INSTRUCTIONS));
    let cycles = [0, 1].map(|hart| of(&timed, hart, "cycles"));
    assert_eq!(Some(cycles[0] + cycles[1]), timed.counter(counter::CYCLES));
    assert!((0..2).all(|hart| cycles[hart] > of(&timed, hart, "instructions")), "{cycles:?}");
    // A trace is that of one hart.
    let views = Views { drmemtrace: Some(dir.join("trace")), ..Views::default() };
    let ready = Ready::restore(two_harts, None, None, 512 << 20).unwrap();
    let refused = Prepared::new(ExecJob { views, ..job(&program, &[]) }).unwrap().run(ready, &limits()).err();
    assert!(refused.unwrap().to_string().starts_with("the machine has 2 harts"));
}
