//! A command line that is wrong: exit status 2, and a sentence that names the option and a value that
//! works. Nothing is measured, nothing is saved.

use crate::case::{CASE, Case, go_through};
use crate::places::{one_cpu, pin_child};
use crate::scene::records;

const BAD: Case = Case {
    exit: 2,
    then: |outcome| {
        assert!(outcome.stdout.is_empty(), "a mistake prints nothing on standard output");
        assert!(records(&outcome.path("")).is_empty(), "a mistake saves nothing");
    },
    ..CASE
};

#[test]
fn bad_input() {
    go_through("e2e::bad_input::bad_input", CASES);
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "a command of earlier versions: runs",
        args: "runs --delete x",
        says: &["tollgate: 'runs' is now 'tollgate show'"],
        ..BAD
    },
    Case {
        name: "a command of earlier versions: completions",
        args: "completions bash",
        says: &["tollgate: 'completions' is now 'tollgate generate completions SHELL'"],
        ..BAD
    },
    Case {
        name: "a command of earlier versions: man",
        args: "man --out man1",
        says: &["tollgate: 'man' is now 'tollgate generate man DIR'"],
        ..BAD
    },
    Case {
        name: "a command of earlier versions: profile",
        args: "riscv profile a.elf --core cva6",
        says: &["tollgate: 'profile' is now 'tollgate riscv run PROGRAM --core CORE'"],
        ..BAD
    },
    Case {
        name: "a probe that does not exist",
        args: "run futx --quick",
        says: &["no probe is called 'futx'", "the nearest is 'thread/futex'", "tollgate list"],
        ..BAD
    },
    Case {
        name: "a family with a slip",
        args: "run sycall",
        says: &["'sycall'", "the nearest is 'syscall'"],
        ..BAD
    },
    Case {
        name: "a pattern that matches nothing",
        args: "run null thread/z*",
        says: &["no probe is called 'thread/z*'", "the nearest is 'thread'"],
        ..BAD
    },
    Case {
        name: "a row of another command",
        args: "run hardware/pair",
        says: &["'hardware/pair' is measured by another command: tollgate crossing"],
        ..BAD
    },
    Case {
        name: "a family of another command",
        args: "run switch",
        says: &["'switch' is measured by another command: tollgate switch"],
        ..BAD
    },
    Case {
        name: "a command like no other",
        args: "xyzzyx",
        says: &["unrecognized subcommand 'xyzzyx'", "--help"],
        then: |outcome| assert!(!outcome.stderr.contains("tip:"), "{}", outcome.stderr),
        ..BAD
    },
    Case { name: "a patternless list", args: "list nosuch", says: &["no probe is called 'nosuch'"], ..BAD },
    Case {
        name: "a day that is not one",
        args: "show --since yesterday",
        says: &["a day is YYYY-MM-DD", "7d"],
        ..BAD
    },
    Case {
        name: "a kernel that does not exist",
        args: "riscv boot --kernel {dir}/none",
        exit: 127,
        says: &["none: No such file"],
        ..BAD
    },
    Case {
        name: "a device as a kernel",
        args: "riscv boot --kernel /dev/zero",
        exit: 126,
        says: &["/dev/zero: is a device or a pipe"],
        ..BAD
    },
    Case {
        name: "a kernel for another machine",
        args: "riscv boot --kernel /proc/self/exe",
        exit: 125,
        says: &["as the kernel: an ELF file for another machine"],
        ..BAD
    },
    Case {
        name: "a snapshot that is something else",
        args: "riscv boot --from /proc/self/exe",
        exit: 125,
        says: &["not a snapshot of a machine"],
        ..BAD
    },
    Case {
        name: "more harts than there can be",
        args: "riscv boot --kernel Image --harts 9",
        exit: 125,
        says: &["--harts 9: give a number from 1 to 8"],
        ..BAD
    },
    Case {
        name: "a machine without memory",
        args: "riscv boot --kernel Image --memory 0",
        exit: 125,
        says: &["--memory 0: give MiB from 1 to 65536"],
        ..BAD
    },
    Case {
        name: "an empty pattern",
        args: "run ''",
        says: &["no probe is called ''", "tollgate list"],
        ..BAD
    },
    Case {
        name: "a command that does not exist",
        args: "frobnicate",
        says: &["unrecognized subcommand 'frobnicate'", "--help"],
        ..BAD
    },
    Case { name: "a command with a slip", args: "docter", says: &["'docter'", "'doctor'"], ..BAD },
    Case {
        name: "a command with two letters swapped",
        args: "rnu",
        says: &["'rnu'", "'run'"],
        then: |outcome| {
            (BAD.then)(outcome);
            assert!(!outcome.says("'ring'") && !outcome.says("'runs'"), "one name, the nearest");
        },
        ..BAD
    },
    Case {
        name: "a command of another command with a slip",
        args: "riscv tarp",
        says: &["'tarp'", "'trap'"],
        ..BAD
    },
    Case {
        name: "a pattern like nothing",
        args: "run nosuch/*",
        says: &["no probe is called 'nosuch/*'"],
        then: |outcome| {
            (BAD.then)(outcome);
            assert!(!outcome.says("nearest"), "nothing is like it");
        },
        ..BAD
    },
    Case {
        name: "a report of a file that is not there",
        args: "report nosuch.json",
        says: &["there is no file 'nosuch.json'"],
        ..BAD
    },
    Case {
        name: "a probe in place of a command",
        args: "thread/futex",
        says: &["unrecognized subcommand 'thread/futex'", "tollgate run 'thread/futex'"],
        ..BAD
    },
    Case {
        name: "options before the command",
        args: "--quick run null",
        says: &["options come after the command", "tollgate run null --quick"],
        ..BAD
    },
    Case { name: "an option that does not exist", args: "--frob", says: &["'--frob'", "--help"], ..BAD },
    Case { name: "an option with a slip", args: "run null --quik", says: &["'--quik'", "'--quick'"], ..BAD },
    Case {
        name: "an option of another command",
        args: "list --seed 1",
        says: &["unexpected argument '--seed'"],
        ..BAD
    },
    Case { name: "an argument too many", args: "doctor yesterday", says: &["'yesterday'", "--help"], ..BAD },
    Case {
        name: "delete without an id",
        args: "show --delete",
        says: &["--delete <RUN>...", "--help"],
        ..BAD
    },
    Case {
        name: "a clock that does not exist",
        args: "--clock sundial",
        says: &["'sundial'", "--clock", "possible values: auto, tsc, os"],
        ..BAD
    },
    Case { name: "an option without its value", args: "--cpu", says: &["--cpu <N>"], ..BAD },
    Case {
        name: "a CPU that does not exist",
        args: "run null --cpu 99999",
        says: &["--cpu: cpu 99999 does not exist; this machine has 0"],
        ..BAD
    },
    Case {
        name: "a peer that does not exist",
        args: "run null --peer-cpu 99999",
        says: &["--peer-cpu: cpu 99999 does not exist; this machine has 0"],
        ..BAD
    },
    Case {
        name: "a CPU that does not exist, for the doctor",
        args: "doctor --cpu 99999",
        says: &["--cpu: cpu 99999 does not exist"],
        ..BAD
    },
    Case {
        name: "a negative CPU",
        args: "run null --cpu -1",
        says: &["'-1'", "--cpu <N>", "a CPU is a whole number from 0, for example 0"],
        ..BAD
    },
    Case {
        name: "a CPU in letters",
        args: "run null --cpu one",
        says: &["'one'", "--cpu <N>", "a CPU is a whole number from 0, for example 0"],
        ..BAD
    },
    Case {
        name: "a CPU beyond all numbers",
        args: "run null --cpu 99999999999999999999999",
        says: &["--cpu <N>", "a CPU is a whole number from 0"],
        ..BAD
    },
    Case {
        name: "a CPU outside the set",
        args: "run null --cpu 1",
        says: &["--cpu: cpu 1 is outside the set of CPUs that this process may use: 0"],
        scene: |scene| {
            crate::places::needs_cpus(2)?;
            pin_child(scene, 0);
            Ok(())
        },
        ..BAD
    },
    Case {
        name: "a peer that is the measured CPU",
        args: "run null --cpu 0 --peer-cpu 0",
        says: &["--peer-cpu", "the peer must be another CPU than the measured one, which is cpu 0"],
        ..BAD
    },
    Case {
        name: "the only CPU as the peer",
        args: "run null --peer-cpu 0",
        says: &["--peer-cpu", "another CPU"],
        scene: one_cpu,
        ..BAD
    },
    Case {
        name: "a negative seed",
        args: "run null --seed -1",
        says: &["'-1'", "--seed <N>", "a whole number from 0 to 18446744073709551615, for example 42"],
        ..BAD
    },
    Case {
        name: "a seed in letters",
        args: "run null --seed banana",
        says: &["'banana'", "--seed <N>", "for example 42"],
        ..BAD
    },
    Case {
        name: "a seed too big",
        args: "run null --seed 18446744073709551616",
        says: &["--seed <N>", "for example 42"],
        ..BAD
    },
    Case {
        name: "quick and thorough",
        args: "run null --quick --thorough",
        says: &["--quick", "--thorough", "cannot be used with"],
        ..BAD
    },
    Case {
        name: "a store that is not to be used",
        args: "run null --no-save --store {dir}/store",
        says: &["--no-save", "--store", "cannot be used with"],
        ..BAD
    },
    Case {
        name: "a store that is a file",
        args: "run null --store {dir}/file",
        says: &["the store {dir}/file is not a directory", "--store DIR"],
        scene: |scene| {
            scene.file("file", "mine");
            Ok(())
        },
        then: |outcome| assert_eq!(std::fs::read_to_string(outcome.path("file")).unwrap(), "mine"),
        ..BAD
    },
    Case {
        name: "a list of runs in a file",
        args: "show --store {dir}/file",
        says: &["the store {dir}/file is not a directory"],
        scene: |scene| {
            scene.file("file", "mine");
            Ok(())
        },
        ..BAD
    },
    Case {
        name: "a store below a file",
        args: "run null --store {dir}/file/store",
        says: &["{dir}/file/store", "--store DIR", "--no-save"],
        scene: |scene| {
            scene.file("file", "mine");
            Ok(())
        },
        ..BAD
    },
    Case {
        name: "a result into a directory that is missing",
        args: "run null --out {dir}/missing/run.json",
        says: &["--out {dir}/missing/run.json cannot be written", "choose a file in a directory"],
        ..BAD
    },
    Case {
        name: "a result in place of a directory",
        args: "list --out {dir}",
        says: &["--out {dir} is a directory; add a file name: --out {dir}/run.json"],
        ..BAD
    },
    Case {
        name: "a result into a file as a directory",
        args: "list --out {dir}/file/run.json",
        says: &["--out {dir}/file/run.json cannot be written"],
        scene: |scene| {
            scene.file("file", "mine");
            Ok(())
        },
        ..BAD
    },
];
