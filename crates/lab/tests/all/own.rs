//! A user's own kernel: against the bundled ones, against counts made by hand, and broken in every way.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use tollgate_cores::Core;
use tollgate_lab::own::{Own, TEMPLATE};
use tollgate_lab::source::{Library, Recipe, load};
use tollgate_lab::{Crossing, Design, Embedded, Engine, Experiment, LabError, Phase, Phases, QEMU};
use tollgate_riscv::Isa;

const GETPID: Crossing = Crossing::Call(172);

/// A kernel of a text, and the folder of its file.
fn written(name: &str, text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn own(name: &str, text: &str) -> Own {
    let (_folder, path) = written(name, text);
    Own::load(&path).unwrap()
}

/// The error of a kernel, without the folder of its file.
fn error(text: &str) -> String {
    let (folder, path) = written("mine.s", text);
    let checked = Own::load(&path).and_then(|mut own| own.check(GETPID).map(drop));
    checked.unwrap_err().to_string().replace(&format!("{}/", folder.path().display()), "")
}

fn measure(design: &Design<'_>) -> Phases {
    let bill = Embedded.measure(&Experiment { design, crossing: GETPID, iterations: 20 }).unwrap();
    bill.each().expect("all crossings alike")
}

fn kernel(name: &str) -> String {
    let path = format!("{}/../../guests/riscv/kernels/{name}.S", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap()
}

/// The bundled ones are built by GNU's assembler and linker.
#[test]
fn the_source_of_a_bundled_kernel_has_its_bill_on_every_core() {
    let machine = format!("#define KERNEL_M\n{}", kernel("full"));
    for (name, text) in [("full", kernel("full")), ("full-m", machine)] {
        let bundled = Design::find(name).unwrap();
        let mut own = own("full.S", &text);
        assert_eq!(own.check(GETPID).unwrap(), [""; 0]);
        let own = own.design();
        assert_eq!(measure(&own), measure(bundled), "{name}");
        for core in Core::PRESETS {
            let core = Core::preset(core).unwrap();
            let cycles = |design| {
                let experiment = Experiment { design, crossing: GETPID, iterations: 60 };
                Embedded.measure_cycles(&experiment, &core).unwrap().cycles
            };
            let (own, bundled) = (cycles(&own), cycles(bundled));
            assert_eq!(own.warm, bundled.warm, "{name} on {}", core.name);
            assert_eq!((own.each, own.after), (bundled.each, bundled.after), "{name} on {}", core.name);
        }
    }
    let caller = own("caller.S", &kernel("caller"));
    assert_eq!(measure(&caller.design()), measure(Design::find("caller").unwrap()));
}

/// Each number is a line of the template.
#[test]
fn the_template_costs_what_it_lists_with_labels_and_without() {
    let of = |text: &str| {
        let each = measure(&own("mine.s", text).design());
        let phases = [
            Phase::StackSwitch,
            Phase::Save,
            Phase::Dispatch,
            Phase::Handler,
            Phase::Restore,
            Phase::Return,
            Phase::Other,
        ];
        phases.map(|phase| each[phase].instructions)
    };
    // `call` is two instructions, the handler has `li` and `ret`.
    assert_eq!(of(TEMPLATE), [2, 1 + 15, 3 + 3 + 2, 2, 15 + 1, 1, 0]);
    // The stack pointer's moves at either end then are moves of the stack.
    let plain: String =
        TEMPLATE.lines().filter(|line| !line.starts_with("phase_")).map(|it| format!("{it}\n")).collect();
    assert_ne!(plain, TEMPLATE);
    assert_eq!(of(&plain), [2 + 2, 15, 8, 2, 15, 1, 0]);
}

#[test]
fn a_kernel_that_was_linked_has_the_bill_of_its_source() {
    let (folder, path) = written("mine.s", TEMPLATE);
    let recipe =
        Recipe { base: 0x8001_2000, library: Library::None, ..Recipe::new("rv64gc", Isa::default()) };
    let linked = folder.path().join("mine.elf");
    fs::write(&linked, load(&path, &recipe).unwrap().elf).unwrap();
    let (source, linked) = (Own::load(&path).unwrap(), Own::load(&linked).unwrap());
    assert_eq!(measure(&linked.design()), measure(&source.design()));
    assert_eq!((source.design().name, linked.design().name), ("mine.s", "mine.elf"));
    let elsewhere = Recipe { base: 0x8000_0000, ..recipe };
    let path = folder.path().join("elsewhere.elf");
    fs::write(&path, load(&folder.path().join("mine.s"), &elsewhere).unwrap().elf).unwrap();
    let error = Own::load(&path).unwrap_err().to_string();
    assert!(error.starts_with("it is at 0x80000000, ") && error.contains("-Wl,-Ttext=0x80010000"), "{error}");
}

#[test]
fn a_kernel_in_c_is_billed() {
    if tollgate_testkit::program("riscv64-unknown-elf-gcc").is_none() {
        return tollgate_testkit::skip!(
            "riscv64-unknown-elf-gcc is missing: apt-get install gcc-riscv64-unknown-elf"
        );
    }
    let mut own = own(
        "mine.c",
        r#"__attribute__((interrupt, aligned(4))) void trap_entry(void) {
            unsigned long epc;
            __asm__ volatile("csrr %0, mepc" : "=r"(epc));
            __asm__ volatile("csrw mepc, %0" ::"r"(epc + 4));
        }"#,
    );
    assert_eq!(own.check(GETPID).unwrap(), [""; 0]);
    let each = measure(&own.design());
    assert_eq!((each[Phase::Return].instructions, each[Phase::Other].instructions), (1, 0));
    // What is saved is restored.
    assert!(each[Phase::Save].stores > 0);
    assert_eq!(each[Phase::Save].stores, each[Phase::Restore].loads);
}

#[test]
fn a_kernel_says_which_registers_it_loses() {
    let text = TEMPLATE.replace("ld      t0, 8(sp)", "").replace("ld      a3, 80(sp)", "li a3, -1");
    let mut own = own("mine.s", &text);
    assert_eq!(own.check(GETPID).unwrap(), ["t0", "a3"]);
    assert_eq!(own.design().about, "M-mode, loses t0 a3");
    let design = own.design();
    let missing = QEMU.measure(&Experiment { design: &design, crossing: GETPID, iterations: 1 });
    assert!(matches!(missing, Err(LabError::NotHere { .. })));
}

#[test]
fn a_broken_kernel_is_refused_with_the_line_and_the_reason() {
    let line = |text: &str, what: &str| 1 + text.lines().position(|line| line.contains(what)).unwrap();
    let cases: [(&str, &str, &str); 15] = [
        ("sd      ra, 0(sp)", "", " loses ra (was 0x8020003c, is 0x0): save and restore it"),
        ("csrrw   sp, mscratch, sp        # the program", "# ", "loses sp (was "),
        ("addi    t0, t0, 4 ", "# ", "goes to the ecall itself, which would trap for ever: add 4 to mepc"),
        (
            "addi    t0, t0, 4 ",
            "addi t0, t0, 8 #",
            "and the instruction after the ecall is at 0x80200016: mepc must be",
        ),
        (
            "phase_return:",
            "j phase_return\nphase_return: j phase_return\n",
            "the trap never returns: after 1000000 instructions it is at mine.s:",
        ),
        ("phase_return:", "wfi\n", "the trap never returns: wfi at mine.s:"),
        (
            "        mret",
            "li t0, 0x1800\ncsrs mstatus, t0\nmret",
            "in M-mode: mstatus.MPP must be that of U-mode",
        ),
        ("        mret", "ret", "there is no mret and no sret"),
        ("trap_entry", "trap_enty", "there is no label trap_entry; the nearest is 'trap_enty'"),
        (".balign 4\n", ".balign 4\nc.nop\n", "write .balign 4 before the label"),
        ("phase_save", "phase_sav", "no phase is called 'sav'; the nearest is 'save'"),
        ("li      a0, 1", "lw a0, 4(zero)", "the kernel traps itself: load access fault at mine.s:"),
        ("call    handle", "call handel", "mine.s:"),
        ("li      a0, 1", "li s3, 1", "loses s3 (was "),
        (
            "        .text",
            "        .text\n.globl kernel_enter\nkernel_enter: j kernel_enter",
            "the program makes no call",
        ),
    ];
    for (old, new, expected) in cases {
        let text = TEMPLATE.replacen(old, new, if old == "trap_entry" { 9 } else { 1 });
        assert_ne!(text, TEMPLATE, "{old}");
        let error = error(&text);
        assert!(error.contains(expected), "{old} -> {new}: {error}");
    }
    let text = TEMPLATE.replace("li      a0, 1", "lw a0, 4(zero)");
    let at = format!("mine.s:{}: `lw a0,4(zero)`", line(&text, "lw a0"));
    assert!(error(&text).contains(&at), "{}", error(&text));
}
