//! Guests on the embedded machine: their exit status, signals, full disks, little stack, hostile names.

use crate::case::{CASE, Case, go_through};
use crate::places::{limited, small_disk};
use crate::scene::{Running, Scene};
use std::fs;

#[test]
fn guests() {
    go_through("e2e::guests::guests", CASES);
}

/// A kernel with traps, which prints and switches the machine virt off.
macro_rules! full {
    ($before:literal, $behind:literal) => {
        concat!($before, env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/full.elf", $behind)
    };
}

/// `li a0, STATUS; li a7, 93; ecall`.
const fn exits(status: u32) -> [u32; 3] {
    [status << 20 | 0x513, 0x05d0_0893, 0x73]
}

/// `addi t0, t0, 1; j -4`: no endless loop that can be recognized as one.
const COUNTS: &[u32] = &[0x0012_8293, 0xffdf_f06f];
/// Writes `5 << 16 | 0x3333` to the test finisher.
const FINISHES: &[u32] = &[0x0010_02b7, 0x0005_3337, 0x3333_0313, 0x0062_a023, 0x6f];
/// `ebreak` without a trap handler.
const BREAKS: &[u32] = &[0x0010_0073];

/// `vsetivli a0, 4, e8, m1, ta, ma; li a7, 93; ecall`: ends with the four elements that fit.
const VECTORS: &[u32] = &[0xcc02_7557, 0x05d0_0893, 0x73];

/// Puts a bare program at 0x80000000 into the scene.
fn program(scene: &Scene, code: &[u32]) -> Result<(), String> {
    program_at(scene, 0x8000_0000, code)
}

/// A static program for Linux.
fn user(scene: &Scene, code: &[u32]) -> Result<(), String> {
    program_at(scene, 0x2_0000, code)
}

fn program_at(scene: &Scene, base: u64, code: &[u32]) -> Result<(), String> {
    let code: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let len = code.len() as u64;
    let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xf3\0\x01\0\0\0".to_vec();
    out.extend([base, 64, 0].iter().flat_map(|n| n.to_le_bytes()));
    out.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
    out.extend([1_u32, 7].iter().flat_map(|n| n.to_le_bytes()));
    out.extend([64 + 56, base, base, len, len, 4].iter().flat_map(|n| n.to_le_bytes()));
    out.extend(code);
    fs::write(scene.path("a.elf"), out).map_err(|error| error.to_string())
}

/// Puts a program that ends at once into the scene, with other bytes at a place of its headers.
fn changed(scene: &Scene, at: usize, with: &[u8]) -> Result<(), String> {
    user(scene, &exits(5))?;
    let mut bytes = fs::read(scene.path("a.elf")).map_err(|error| error.to_string())?;
    bytes[at..at + with.len()].copy_from_slice(with);
    fs::write(scene.path("a.elf"), bytes).map_err(|error| error.to_string())
}

/// Waits until the program has its handler of SIGINT, and a moment more, then sends the signal.
fn interrupt(running: &mut Running) {
    let status = format!("/proc/{}/status", running.id());
    let caught = || {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        (mask >> (libc::SIGINT - 1) & 1 != 0).then_some(())
    };
    crate::processes::until("a handler of SIGINT", caught);
    running.signal(libc::SIGINT);
}

const INTERRUPTED: Case = Case {
    exit: 130,
    says: &["interrupted after"],
    scene: |scene| program(scene, COUNTS),
    during: interrupt,
    ..CASE
};

/// A static program for Linux, which prints what one getpid costs.
macro_rules! calls {
    ($before:literal) => {
        concat!($before, env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/ctx_switch-linux.elf")
    };
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "the bill of a program without a kernel",
        args: calls!("riscv exec --no-save --user-only -- "),
        exit: 0,
        says: &["exit status 0, without a kernel", "own code", "getpid"],
        ..CASE
    },
    Case {
        name: "a program that the machine cannot execute",
        args: "riscv exec --no-save --user-only -- {dir}/a.elf",
        exit: 126,
        says: &["not an ELF file: give a linked program for riscv64"],
        scene: |scene| fs::write(scene.path("a.elf"), "#!/bin/sh\n").map_err(|error| error.to_string()),
        ..CASE
    },
    Case {
        name: "a program that is not there, for the guest",
        args: "riscv exec --no-save --user-only -- {dir}/none",
        exit: 127,
        says: &["not found, neither here nor in the root"],
        ..CASE
    },
    Case {
        name: "a program for another machine, without a kernel",
        args: "riscv exec --no-save --user-only -- {dir}/a.elf",
        exit: 126,
        says: &["a program for x86-64, and the machine is a riscv64"],
        scene: |scene| changed(scene, 18, &[62, 0]),
        ..CASE
    },
    Case {
        name: "a program that is cut off, without a kernel",
        args: "riscv exec --no-save --user-only -- {dir}/a.elf",
        exit: 126,
        says: &["damaged ELF file: a segment ends behind the file"],
        scene: |scene| changed(scene, 64 + 39, &[1]),
        ..CASE
    },
    Case {
        name: "a program with more memory than the machine",
        args: "riscv exec --no-save --user-only -- {dir}/a.elf",
        exit: 126,
        says: &["does not fit into the machine's memory"],
        scene: |scene| changed(scene, 64 + 45, &[1]),
        ..CASE
    },
    Case {
        name: "a program whose loader is missing",
        args: concat!(
            "riscv exec --no-save --user-only --sysroot {dir} -- ",
            env!("CARGO_MANIFEST_DIR"),
            "/../../guests/preload/images/caller-riscv64"
        ),
        exit: 126,
        says: &["its interpreter /lib/ld-linux-riscv64-lp64d.so.1 is missing"],
        ..CASE
    },
    Case {
        name: "a crash without a kernel",
        args: "riscv exec --no-save --user-only -- {dir}/a.elf",
        exit: 139,
        says: &["the program: killed by signal 11 (SIGSEGV)"],
        // ld a0, 0(zero)
        scene: |scene| user(scene, &[0x0000_3503]),
        ..CASE
    },
    Case {
        name: "an illegal instruction without a kernel",
        args: "riscv exec --no-save --user-only -- {dir}/a.elf",
        exit: 132,
        says: &["the program: killed by signal 4 (SIGILL)"],
        scene: |scene| user(scene, &[0]),
        ..CASE
    },
    Case {
        name: "a program with vectors on a machine without them",
        args: "riscv exec --no-save --user-only -- {dir}/a.elf",
        exit: 132,
        says: &["the program: killed by signal 4 (SIGILL)"],
        scene: |scene| user(scene, VECTORS),
        ..CASE
    },
    Case {
        name: "a program with vectors",
        args: "riscv exec --no-save --user-only --isa rv64gcv -- {dir}/a.elf",
        exit: 4,
        says: &["exit status 4, without a kernel"],
        scene: |scene| user(scene, VECTORS),
        ..CASE
    },
    Case {
        name: "a program for a machine that there is not",
        args: "riscv exec --no-save --user-only --isa rv64gcw -- {dir}/a.elf",
        exit: 125,
        says: &["--isa: unknown letter 'w'"],
        scene: |scene| user(scene, VECTORS),
        ..CASE
    },
    Case {
        name: "a loop for ever without a kernel",
        args: "riscv exec --no-save --user-only --max-instructions 100000 -- {dir}/a.elf",
        exit: 124,
        says: &["has not ended; --max-instructions gives it more"],
        scene: |scene| user(scene, COUNTS),
        ..CASE
    },
    Case {
        name: "a program that forks for ever, without a kernel",
        args: "riscv exec --no-save --user-only --max-instructions 100000 -- {dir}/a.elf",
        exit: 124,
        says: &[
            "has not ended",
            "the system call clone is not answered without a kernel; give one with --kernel",
        ],
        // li a7, 220; ecall; j -8
        scene: |scene| user(scene, &[0x0dc0_0893, 0x73, 0xff9f_f06f]),
        ..CASE
    },
    Case {
        name: "a program that needs a network, without a kernel",
        args: "riscv exec --no-save --user-only -- {dir}/a.elf",
        exit: 5,
        says: &["the system call socket is not answered without a kernel"],
        // li a7, 198; ecall
        scene: |scene| user(scene, &[&[0x0c60_0893, 0x73], &exits(5)[..]].concat()),
        ..CASE
    },
    Case {
        name: "a root that is a compressed archive",
        args: calls!("riscv exec --no-save --kernel {dir}/none --root {dir}/root.tar -- "),
        exit: 125,
        says: &["root.tar: not an archive of tar, nor a directory; decompress a compressed one first"],
        scene: |scene| {
            fs::write(scene.path("root.tar"), [0x1f_u8, 0x8b, 8, 0].repeat(300)).map_err(|it| it.to_string())
        },
        ..CASE
    },
    Case {
        name: "a root that is not there",
        args: calls!("riscv exec --no-save --kernel {dir}/none --root {dir}/root.tar -- "),
        exit: 125,
        says: &["root.tar: No such file"],
        ..CASE
    },
    Case {
        name: "a file that is not a kernel, for a program",
        args: calls!("riscv exec --no-save --kernel {dir}/a.elf -- "),
        exit: 125,
        says: &["a.elf"],
        scene: |scene| fs::write(scene.path("a.elf"), "text").map_err(|error| error.to_string()),
        ..CASE
    },
    Case {
        name: "a kernel that is not there, for a program",
        args: calls!("riscv exec --no-save --kernel {dir}/none -- "),
        exit: 125,
        says: &["none: No such file"],
        ..CASE
    },
    Case {
        name: "a saved machine that is damaged",
        args: calls!("riscv exec --no-save --from {dir}/a.elf -- "),
        exit: 125,
        says: &["a.elf", "not a snapshot"],
        scene: |scene| fs::write(scene.path("a.elf"), "text").map_err(|error| error.to_string()),
        ..CASE
    },
    Case {
        name: "a saved machine that is not there, for a program",
        args: calls!("riscv exec --no-save --from {dir}/none.snap -- "),
        exit: 125,
        says: &["none.snap: No such file"],
        ..CASE
    },
    Case {
        name: "the status of a bare program",
        args: "riscv run {dir}/a.elf",
        exit: 5,
        says: &["the program ended with status 5 after 2 instructions"],
        scene: |scene| program(scene, &exits(5)),
        ..CASE
    },
    Case {
        name: "the status of a program, of which a shell sees eight bits",
        args: "riscv run {dir}/a.elf",
        exit: 2,
        says: &["the program ended with status 258"],
        scene: |scene| program(scene, &exits(258)),
        ..CASE
    },
    Case {
        name: "the status of a program that is profiled",
        args: "riscv run {dir}/a.elf --core rocket --no-save",
        exit: 7,
        scene: |scene| program(scene, &exits(7)),
        ..CASE
    },
    Case {
        name: "the status of a program on virt",
        args: "riscv run --machine virt {dir}/a.elf",
        exit: 5,
        scene: |scene| program(scene, FINISHES),
        ..CASE
    },
    Case {
        name: "the status of a kernel",
        args: "riscv boot --kernel {dir}/a.elf",
        exit: 5,
        says: &["the kernel ended with status 5"],
        scene: |scene| program(scene, FINISHES),
        ..CASE
    },
    Case {
        name: "instructions that are used up",
        args: "riscv run {dir}/a.elf --max-instructions 100000",
        exit: 124,
        says: &["has not ended after 100,000 instructions; --max-instructions gives it more"],
        scene: |scene| program(scene, COUNTS),
        ..CASE
    },
    Case {
        name: "traps for ever, below the limit",
        args: "riscv run {dir}/a.elf --max-instructions 1000000",
        exit: 125,
        says: &["breakpoint at 0x80000000", "no trap handler is set (mtvec is 0)"],
        scene: |scene| program(scene, BREAKS),
        ..CASE
    },
    Case {
        name: "an endless loop of a program without tohost",
        args: "riscv run {dir}/a.elf",
        exit: 125,
        says: &["jumps to itself, and no interrupt can come", "no symbol tohost"],
        scene: |scene| program(scene, &[0x6f]),
        ..CASE
    },
    Case {
        name: "a program that starts at an odd address",
        args: "riscv run {dir}/a.elf",
        exit: 126,
        says: &["the entry point 0x80000001 is not a multiple of 2"],
        scene: |scene| {
            program(scene, &exits(5))?;
            let mut bytes = fs::read(scene.path("a.elf")).map_err(|error| error.to_string())?;
            bytes[24] = 1;
            fs::write(scene.path("a.elf"), bytes).map_err(|error| error.to_string())
        },
        ..CASE
    },
    Case { name: "SIGINT of a program", args: "riscv run {dir}/a.elf", ..INTERRUPTED },
    Case {
        name: "SIGINT of a program that is profiled",
        args: "riscv run {dir}/a.elf --core rocket --store {dir}/store",
        prints: &["total"],
        then: |outcome| {
            let run = outcome.saved();
            assert_eq!(run["complete"], false);
            assert_eq!(run["results"].as_array().unwrap().len(), 1);
        },
        ..INTERRUPTED
    },
    Case { name: "SIGINT of a kernel", args: "riscv boot --kernel {dir}/a.elf", ..INTERRUPTED },
    Case {
        name: "SIGINT of a kernel with a timeline",
        args: "riscv boot --kernel {dir}/a.elf --timeline {dir}/timeline.json",
        then: |outcome| assert!(outcome.path("timeline.json").exists()),
        ..INTERRUPTED
    },
    Case {
        name: "a timeline onto a full disk",
        args: full!("riscv boot --kernel ", " --timeline {dir}/small/timeline.json"),
        exit: 125,
        says: &["the timeline is not saved: No space left on device", "powered off after"],
        prints: &["toll call number 255"],
        scene: |scene| small_disk(scene, c"nr_inodes=2,size=4k,mode=777"),
        then: |outcome| {
            assert!(!outcome.stderr.contains("/small/."), "{}", outcome.stderr);
        },
        ..CASE
    },
    Case {
        name: "a snapshot onto a full disk",
        args: full!("riscv boot --kernel ", " --save-at 500000 {dir}/small/snapshot"),
        exit: 125,
        says: &[
            "the machine is not saved: No space left on device",
            "the kernel runs on",
            "powered off after",
        ],
        prints: &["toll call number 255"],
        scene: |scene| small_disk(scene, c"nr_inodes=2,size=4k,mode=777"),
        then: |outcome| assert!(!outcome.stderr.contains("/small/."), "{}", outcome.stderr),
        ..CASE
    },
    Case {
        name: "a snapshot where nothing can be written",
        args: full!("riscv boot --kernel ", " --save-at 500000 {dir}/none/snapshot"),
        exit: 125,
        says: &["{dir}/none/snapshot: cannot be written: No such file or directory"],
        ..CASE
    },
    Case {
        name: "a signature onto a full disk",
        args: full!("riscv run ", " --machine virt --signature {dir}/none/signature"),
        exit: 125,
        ..CASE
    },
    Case {
        name: "a stack of 64 KiB, for a kernel",
        args: full!("riscv boot --kernel ", ""),
        says: &["powered off after"],
        prints: &["toll call number 255"],
        scene: |scene| limited(scene, libc::RLIMIT_STACK, 64 << 10),
        ..CASE
    },
    Case {
        name: "a stack of 64 KiB, for a profile",
        args: full!("riscv run ", " --core cva6 --no-save"),
        prints: &["total"],
        says: &["ended after"],
        scene: |scene| limited(scene, libc::RLIMIT_STACK, 64 << 10),
        ..CASE
    },
    Case {
        name: "a program with a hostile name",
        args: "riscv run {dir}/\u{202e}\u{1b}[2J\u{9b}x",
        exit: 127,
        says: &["??[2J?x: No such file"],
        ..CASE
    },
    Case {
        name: "a command with a hostile name",
        args: "\u{202e}\u{1b}]0;x\u{7}run",
        exit: 2,
        says: &["unrecognized subcommand"],
        ..CASE
    },
    Case {
        name: "an option with a hostile value",
        args: "riscv run --isa \u{202e}\u{1b}[31mrv64 {dir}/a.elf",
        exit: 125,
        says: &["--isa"],
        scene: |scene| program(scene, &exits(0)),
        ..CASE
    },
    Case {
        name: "a record with a hostile name",
        args: "show {dir}/\u{202e}\u{1b}[2J.json",
        exit: 2,
        says: &["No such file"],
        ..CASE
    },
    Case {
        name: "an import with a hostile name and line",
        args: "import --from lmbench {dir}/\u{202e}\u{1b}[2Jx",
        exit: crate::case::ANY,
        scene: |scene| {
            scene.file("\u{202e}\u{1b}[2Jx", "\u{202e}\u{1b}[2J what is that\n");
            Ok(())
        },
        ..CASE
    },
];

/// A file decides how much memory its machine takes only as far as it is allowed to.
#[test]
fn a_snapshot_takes_no_more_memory_than_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let snapshot = dir.path().join("snapshot");
    let snapshot = snapshot.to_str().unwrap();
    let booted = full!("riscv boot --memory 2049 --kernel ", "");
    crate::scene::call(&format!("{booted} --save-at 1000 {snapshot}"), 0);
    let from = format!("riscv boot --from {snapshot} --max-instructions 1000");
    let refused = crate::scene::call(&from, 125);
    let why =
        "the snapshot's machine has 2049 MiB of RAM, and at most 2048 are allowed; --memory 2049 allows it";
    assert!(refused.says(why), "{}", refused.stderr);
    crate::scene::call(&format!("{from} --memory 2049"), 124);
    assert!(crate::scene::call(&format!("{from} --memory 512"), 125).says("at most 512 are allowed"));
}
