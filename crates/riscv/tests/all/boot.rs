//! Kernels and firmware made by hand: how they are started, what the built-in firmware answers, and several harts.

use crate::common::{self, Asm};
use tollgate_riscv::{
    Boot, BootError, Config, Firmware, Insn, LoadError, Machine, MachineKind, Op, Operands, Privilege, Stop,
    Xlen,
};

const RAM: u64 = 0x8000_0000;
const PAYLOAD: u64 = 0x8020_0000;
const A0: u8 = 10;
const A1: u8 = 11;
const A2: u8 = 12;
const A6: u8 = 16;
const A7: u8 = 17;
const T0: u8 = 5;
const T1: u8 = 6;
const T2: u8 = 7;

const TIME: i32 = 0x5449_4d45;
const HSM: i32 = 0x48_534d;
const SRST: i32 = 0x5352_5354;
const DBCN: i32 = 0x4442_434e;
const IPI: i32 = 0x73_5049;

fn config(harts: usize) -> Config {
    Config { machine: MachineKind::Virt, ram_bytes: 8 << 20, harts, ..Config::default() }
}

fn boot(kernel: &[u8]) -> Boot<'_> {
    Boot { kernel, firmware: None, initrd: None, drive: None, console: false, network: false, seed: 0 }
}

fn start(kernel: &[u8], harts: usize) -> Machine {
    let mut machine = Machine::new(config(harts)).unwrap();
    machine.boot(boot(kernel)).unwrap();
    machine
}

/// An SBI call; its arguments are in place.
fn call(a: &mut Asm, extension: i32, function: i32) {
    a.li(A7, extension).li(A6, function).op(Op::Ecall, 0, 0, 0, 0);
}

fn print(a: &mut Asm, byte: u8) {
    a.li(A0, i32::from(byte));
    call(a, DBCN, 2);
}

fn power_off(a: &mut Asm) {
    a.li(A0, 0).li(A1, 0);
    call(a, SRST, 0);
}

fn supervisor(code: &Asm) -> Vec<u8> {
    common::elf(true, PAYLOAD, &code.0)
}

#[test]
fn a_kernel_above_firmware_starts_in_supervisor_mode_and_is_switched_off_by_a_call() {
    let mut a = Asm::default();
    // The first word of the device tree, whose magic number is big-endian: 0xd00dfeed.
    a.op(Op::Lbu, T0, A1, 0, 0);
    a.op(Op::Add, A0, T0, 0, 0);
    call(&mut a, DBCN, 2);
    print(&mut a, b'!');
    power_off(&mut a);
    let mut machine = start(&supervisor(&a), 1);
    assert_eq!((machine.pc(), machine.privilege()), (PAYLOAD, Privilege::Supervisor));
    assert_eq!(machine.run(1000, &mut ()), Stop::Exit { code: 0 });
    assert_eq!(machine.console(), [0xd0, b'!']);
    // Each call is its `ecall`, which retires.
    assert_eq!(machine.instret(), a.here() / 4);
}

#[test]
fn a_kernel_at_the_beginning_of_ram_is_its_own_firmware() {
    let machine = start(&common::elf(true, RAM, &[0; 64]), 2);
    assert_eq!((machine.pc(), machine.privilege()), (RAM, Privilege::Machine));
}

#[test]
fn a_reset_is_not_a_power_off() {
    let mut a = Asm::default();
    a.li(A0, 1).li(A1, 0);
    call(&mut a, SRST, 0);
    assert_eq!(start(&supervisor(&a), 1).run(1000, &mut ()), Stop::Reboot);
    // The same by the device: 0x7777 at 0x100000.
    let mut a = Asm::default();
    a.li(T0, 0x10_0000).li(T1, 0x7777).op(Op::Sw, 0, T0, T1, 0);
    assert_eq!(start(&supervisor(&a), 1).run(1000, &mut ()), Stop::Reboot);
}

#[test]
fn calls_answer_what_exists_and_refuse_the_rest() {
    // (extension, function, a0, error, value), by chapters 4 and 3.1 of the specification.
    let cases = [
        (0x10, 0, 0, 0, 2 << 24),
        (0x10, 3, TIME, 0, 1),
        (0x10, 3, 0x1234, 0, 0),
        (0x10, 99, 0, -2, 0),
        (0x1234, 0, 0, -2, 0),
        (HSM, 2, 0, 0, 0),
        (HSM, 2, 5, -3, 0),
        (HSM, 0, 5, -3, 0),
        (SRST, 0, 9, -3, 0),
    ];
    for (extension, function, argument, error, value) in cases {
        let mut a = Asm::default();
        a.li(A0, argument).li(A1, 0);
        call(&mut a, extension, function);
        let mut machine = start(&supervisor(&a), 1);
        machine.run(a.here() / 4, &mut ());
        let found = (machine.x(A0) as i64, machine.x(A1) as i64);
        assert_eq!(found, (error, value), "{extension:#x} {function} {argument:#x}");
    }
}

#[test]
fn the_timer_interrupts_supervisor_mode_at_its_time() {
    let mut a = Asm::default();
    // stvec behind the loop; sie.STIE and sstatus.SIE.
    a.op(Op::Auipc, T0, 0, 0, 0).op(Op::Addi, T0, T0, 0, 0x100).csrw(0x105, T0);
    a.li(A0, 50);
    call(&mut a, TIME, 0);
    a.li(T0, 1 << 5).csrw(0x104, T0).op(Op::Csrrsi, 0, 2, 0, 0x100);
    a.op(Op::Wfi, 0, 0, 0, 0).op(Op::Jal, 0, 0, 0, -4);
    a.0.resize(0x100, 0);
    a.csrr(T0, 0xc01);
    power_off(&mut a);
    let mut machine = start(&supervisor(&a), 1);
    assert_eq!(machine.run(1000, &mut ()), Stop::Exit { code: 0 });
    // Interrupt 5; the handler read the time in the tick for which it asked.
    assert_eq!((machine.csr(0x142), machine.x(T0)), (Some(1 << 63 | 5), 50));
}

/// A program reads its three counters without a trap; the first is its `ecall`.
#[test]
fn programs_may_read_the_time() {
    let (sepc, scause, handler, program) = (0x141, 0x142, 0x100, 0x80);
    let mut a = Asm::default();
    a.op(Op::Auipc, T0, 0, 0, 0);
    a.op(Op::Addi, T1, T0, 0, handler).csrw(0x105, T1);
    a.op(Op::Addi, T1, T0, 0, program).csrw(sepc, T1).op(Op::Sret, 0, 0, 0, 0);
    a.0.resize(program as usize, 0);
    a.csrr(A1, 0xc00).csrr(A1, 0xc01).csrr(A1, 0xc02).op(Op::Ecall, 0, 0, 0, 0);
    a.0.resize(handler as usize, 0);
    a.csrr(T2, scause);
    power_off(&mut a);
    let mut machine = start(&supervisor(&a), 1);
    assert_eq!(machine.run(1000, &mut ()), Stop::Exit { code: 0 });
    assert_eq!(machine.x(T2), 8);
}

/// Hart 0 starts hart 1 and waits for its software interrupt; hart 1 counts to 100,000, prints, interrupts hart 0 and
/// stops itself. Hart 0 prints and switches off.
fn two_harts() -> Vec<u8> {
    let mut a = Asm::default();
    a.op(Op::Auipc, T2, 0, 0, 0);
    a.li(A0, 1).op(Op::Addi, A1, T2, 0, 0x100).li(A2, 42);
    call(&mut a, HSM, 0);
    a.li(T0, 2).csrw(0x104, T0);
    a.op(Op::Wfi, 0, 0, 0, 0);
    print(&mut a, b'0');
    power_off(&mut a);
    assert!(a.here() <= 0x100);
    a.0.resize(0x100, 0);
    // Hart 1: its number and its argument.
    a.op(Op::Add, T2, A1, 0, 0).op(Op::Addi, A0, A0, 0, i64::from(b'0'));
    call(&mut a, DBCN, 2);
    a.op(Op::Add, A0, T2, 0, 0);
    call(&mut a, DBCN, 2);
    a.li(T0, 100_000).op(Op::Addi, T0, T0, 0, -1).op(Op::Bne, 0, T0, 0, -4);
    a.li(A0, 1).li(A1, 0);
    call(&mut a, IPI, 0);
    call(&mut a, HSM, 1);
    print(&mut a, b'?');
    supervisor(&a)
}

#[test]
fn one_hart_starts_another_and_is_woken_by_it() {
    let mut machine = start(&two_harts(), 2);
    assert_eq!(machine.run(1_000_000, &mut ()), Stop::Exit { code: 0 });
    assert_eq!(machine.console(), b"1*0");
    // Side by side: the time is that of hart 1's loop, not of both harts' instructions and waits.
    assert!((200_000..230_000).contains(&machine.elapsed()), "{}", machine.elapsed());
}

#[test]
fn what_several_harts_do_does_not_depend_on_how_they_are_run() {
    let run = |slice: u64, reference: bool| {
        let mut machine = start(&two_harts(), 2);
        loop {
            let stop = match reference {
                true => machine.run_reference(slice, &mut ()),
                false => machine.run(slice, &mut ()),
            };
            if stop != Stop::Budget {
                return (stop, machine.instret(), machine.elapsed(), machine.console().to_vec());
            }
        }
    };
    let whole = run(u64::MAX, false);
    for (slice, reference) in [(1, false), (777, false), (10_000, false), (12_345, true)] {
        assert_eq!(run(slice, reference), whole, "{slice} {reference}");
    }
}

/// Each instruction is reported on its hart: the console's characters are printed by hart 1, hart 1 and hart 0.
#[test]
fn an_observer_learns_whose_turn_it_is() {
    #[derive(Default)]
    struct Prints {
        hart: usize,
        by: Vec<usize>,
    }
    impl tollgate_riscv::Observer for Prints {
        const TRAP: bool = true;
        const RETIRE: bool = true;
        fn hart(&mut self, hart: usize) {
            self.hart = hart;
        }
        fn retire(&mut self, retired: &tollgate_riscv::Retired) {
            // Only a call of the debug console sets its function to 2.
            if (retired.insn.rd, retired.value) == (A6, 2) {
                self.by.push(self.hart);
            }
        }
    }
    for (slice, single) in [(u64::MAX, false), (3333, false), (1, true)] {
        let mut machine = start(&two_harts(), 2);
        let mut prints = Prints::default();
        loop {
            let ended = match single {
                true => matches!(machine.step(&mut prints), tollgate_riscv::Step::Stopped(_)),
                false => machine.run(slice, &mut prints) != Stop::Budget,
            };
            if ended {
                break;
            }
        }
        assert_eq!(prints.by, [1, 1, 0], "{slice} {single}");
    }
}

#[test]
fn harts_that_all_wait_for_ever_are_idle() {
    let mut a = Asm::default();
    a.op(Op::Wfi, 0, 0, 0, 0).op(Op::Jal, 0, 0, 0, -4);
    for harts in [1, 3] {
        let mut machine = Machine::new(config(harts)).unwrap();
        let kernel = common::elf(true, RAM, &a.0);
        machine.boot(boot(&kernel)).unwrap();
        assert_eq!(machine.run(1_000_000, &mut ()), Stop::Idle, "{harts}");
    }
}

#[test]
fn typing_wakes_a_guest_that_waits_for_the_serial_port() {
    let mut a = Asm::default();
    // The PLIC passes source 10 to supervisor mode of hart 0; the port interrupts when it receives.
    a.li(T0, 0xc00_0028).li(T1, 1).op(Op::Sw, 0, T0, T1, 0);
    a.li(T0, 0xc00_2080).li(T1, 1 << 10).op(Op::Sw, 0, T0, T1, 0);
    a.li(T2, 0x1000_0000).li(T1, 1).op(Op::Sb, 0, T2, T1, 1);
    a.li(T0, 1 << 9).csrw(0x104, T0);
    a.op(Op::Wfi, 0, 0, 0, 0);
    a.li(T0, 0xc20_1004).op(Op::Lw, A2, T0, 0, 0);
    // Echo, then complete.
    a.op(Op::Lbu, T1, T2, 0, 0).op(Op::Sb, 0, T2, T1, 0).op(Op::Sw, 0, T0, A2, 0);
    a.csrr(A1, 0x144);
    a.op(Op::Jal, 0, 0, 0, 0);
    for harts in [1, 2] {
        let mut machine = start(&supervisor(&a), harts);
        assert_eq!(machine.run(1_000_000, &mut ()), Stop::Idle);
        assert_eq!(machine.type_in(b"x"), 1);
        assert_eq!(machine.run(100_000, &mut ()), Stop::Budget);
        assert_eq!((machine.console(), machine.x(A2), machine.x(A1)), (&b"x"[..], 10, 0));
    }
}

/// Firmware as OpenSBI is linked: position-independent, from address 0.
fn firmware(code: &Asm) -> Vec<u8> {
    let mut elf = common::elf(true, 0, &code.0);
    elf[16] = 3;
    elf
}

#[test]
fn firmware_is_moved_to_ram_and_is_told_where_the_kernel_is() {
    let mut a = Asm::default();
    // fw_dynamic's structure: magic, version, next address, next mode.
    for (register, offset) in [(5, 0), (6, 8), (7, 16), (28, 24)] {
        a.op(Op::Ld, register, A2, 0, offset);
    }
    a.op(Op::Jalr, 0, T2, 0, 0);
    let mut kernel = Asm::default();
    kernel.op(Op::Jal, 0, 0, 0, 0);
    let (kernel, file) = (supervisor(&kernel), firmware(&a));
    let mut machine = Machine::new(config(1)).unwrap();
    machine.boot(Boot { firmware: Some(Firmware::File(file)), ..boot(&kernel) }).unwrap();
    assert_eq!((machine.pc(), machine.privilege()), (RAM, Privilege::Machine));
    machine.run(10, &mut ());
    assert_eq!([5, 6, 7, 28].map(|r| machine.x(r)), [0x4942_534f, 2, PAYLOAD, 1]);
    assert_eq!(machine.pc(), PAYLOAD);
}

/// Linux's header: two instructions, offset, size, flags, version, reserved, and the second magic number.
fn image(offset: u64, size: u64) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[8..16].copy_from_slice(&offset.to_le_bytes());
    bytes[16..24].copy_from_slice(&size.to_le_bytes());
    bytes[56..60].copy_from_slice(b"RSC\x05");
    bytes
}

#[test]
fn an_image_is_placed_at_its_offset_and_an_initial_ram_disk_behind_it() {
    let mut machine = Machine::new(config(1)).unwrap();
    let kernel = image(0x20_0000, 0x10_0000);
    machine.boot(Boot { initrd: Some(b"0707"), ..boot(&kernel) }).unwrap();
    assert_eq!(machine.pc(), PAYLOAD);
    // The tree is in the last two aligned megabytes, the disk before it.
    let tree = machine.x(A1);
    assert_eq!(tree, 0x8060_0000);
    assert_eq!(machine.read_memory(tree, 4).unwrap(), [0xd0, 0x0d, 0xfe, 0xed]);
    assert_eq!(machine.read_memory(tree - 4096, 4).unwrap(), b"0707");
    let text = machine.read_memory(tree, 4096).unwrap();
    for word in ["linux,initrd-start", "virtio,mmio", "syscon-poweroff", "ns16550a", "goldfish-rtc", "plic0"]
    {
        assert!(text.windows(word.len()).any(|w| w == word.as_bytes()), "{word}");
    }
}

#[test]
fn what_cannot_be_booted_has_a_reason() {
    let mut machine = Machine::new(config(1)).unwrap();
    let good = image(0x20_0000, 0x10_0000);
    let mut refused = |boot: Boot| machine.boot(boot).unwrap_err();
    let rv32 = image(0x40_0000, 4096);
    let huge = image(0x20_0000, 1 << 40);
    let wraps = image(u64::MAX, 1);
    let elf32 = common::elf(false, RAM, &[0; 64]);
    let big = vec![0; 6 << 20];
    assert_eq!(refused(Boot { kernel: b"#!/bin/sh", ..boot(&good) }), BootError::NotAKernel);
    assert_eq!(refused(Boot { kernel: b"", ..boot(&good) }), BootError::Kernel(LoadError::Empty));
    let wrong = BootError::KernelWidth { found: Xlen::Rv32, expected: Xlen::Rv64 };
    for kernel in [&rv32, &elf32] {
        assert_eq!(refused(Boot { kernel, ..boot(&good) }), wrong, "{}", kernel.len());
    }
    assert!(matches!(
        refused(Boot { kernel: &huge, ..boot(&good) }),
        BootError::Kernel(LoadError::OutsideRam { .. })
    ));
    assert!(matches!(
        refused(Boot { kernel: &wraps, ..boot(&good) }),
        BootError::Kernel(LoadError::Damaged(_))
    ));
    assert!(matches!(
        refused(Boot { initrd: Some(&big), ..boot(&good) }),
        BootError::Initrd { len: 0x60_0000, .. }
    ));
    assert_eq!(refused(Boot { drive: Some(Box::new(vec![0; 513])), ..boot(&good) }), BootError::Drive(513));
    assert_eq!(refused(Boot { drive: Some(Box::new(vec![])), ..boot(&good) }), BootError::Drive(0));
    let firmware = Firmware::File(vec![0; 3 << 20]);
    let overlap = BootError::Firmware(LoadError::Overlap(RAM, PAYLOAD));
    assert_eq!(refused(Boot { firmware: Some(firmware), ..boot(&good) }), overlap);
    let mut spike = Machine::new(Config::default()).unwrap();
    assert_eq!(spike.boot(boot(&good)).unwrap_err(), BootError::Machine);
}

/// Calls a function twice that returns 1, writes an instruction over it that makes it return 2, without `fence.i`.
#[test]
fn a_store_to_code_is_seen_at_once_only_where_fetches_are_coherent() {
    let mut a = Asm::default();
    a.op(Op::Auipc, T2, 0, 0, 0);
    let new = Insn::encode(Op::Addi, Operands { rd: A0, imm: 2, ..Default::default() });
    a.li(T0, new as i32);
    a.op(Op::Jalr, 1, T2, 0, 0x100).op(Op::Jalr, 1, T2, 0, 0x100);
    a.op(Op::Sw, 0, T2, T0, 0x100);
    a.op(Op::Jalr, 1, T2, 0, 0x100);
    a.op(Op::Jal, 0, 0, 0, 0);
    a.0.resize(0x100, 0);
    a.op(Op::Addi, A0, 0, 0, 1).op(Op::Jalr, 0, 1, 0, 0);
    let kernel = common::elf(true, RAM, &a.0);
    for (coherent_code, expected) in [(true, 2), (false, 1)] {
        let mut machine = Machine::new(Config { coherent_code, ..config(1) }).unwrap();
        machine.boot(boot(&kernel)).unwrap();
        machine.run(1000, &mut ());
        assert_eq!(machine.x(A0), expected);
    }
}

#[test]
fn harts_are_one_to_eight() {
    for (harts, fits) in [(0, false), (1, true), (8, true), (9, false)] {
        assert_eq!(Machine::new(config(harts)).is_ok(), fits, "{harts}");
    }
    assert!(Machine::new(Config { harts: 2, ..Config::default() }).is_err());
}
