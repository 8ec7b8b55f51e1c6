//! Pushes and pops of several registers (Zcmp).

use tollgate_riscv::asm::{Options, Sources, assemble};
use tollgate_riscv::{Cause, Config, Decoder, Isa, Machine, Observer, Trap, disassemble};

const BASE: u64 = 0x8000_0000;
const RAM: u64 = 1 << 16;
const ISAS: [&str; 2] = ["rv32imac_zcmp", "rv64imac_zcmp"];

/// Lists and adjustments on RV32 and RV64, and what clang-19 makes of both: the room of a list differs, and not its encoding.
const WORDS: [(u16, &str, &str); 9] = [
    (0xb842, "cm.push {ra},-16", "cm.push {ra},-16"),
    (0xb852, "cm.push {ra,s0},-16", "cm.push {ra,s0},-16"),
    (0xb866, "cm.push {ra,s0-s1},-32", "cm.push {ra,s0-s1},-48"),
    (0xb8fe, "cm.push {ra,s0-s11},-112", "cm.push {ra,s0-s11},-160"),
    (0xba72, "cm.pop {ra,s0-s2},16", "cm.pop {ra,s0-s2},32"),
    (0xbee2, "cm.popret {ra,s0-s9},48", "cm.popret {ra,s0-s9},96"),
    (0xbcf2, "cm.popretz {ra,s0-s11},64", "cm.popretz {ra,s0-s11},112"),
    (0xac7e, "cm.mva01s s0,s7", "cm.mva01s s0,s7"),
    (0xacaa, "cm.mvsa01 s1,s2", "cm.mvsa01 s1,s2"),
];

#[test]
fn encodings_are_those_of_clang() {
    for (column, name) in ISAS.into_iter().enumerate() {
        let isa: Isa = name.parse().unwrap();
        for (half, rv32, rv64) in WORDS {
            let text = [rv32, rv64][column];
            assert_eq!(disassemble(half.into(), isa), text, "{name}");
            let image = assemble(&Sources::new("a.s", text), &Options { isa, ..Options::default() }).unwrap();
            assert_eq!(image.program.segments[0].data, half.to_le_bytes(), "{text}");
        }
        // Lists of fewer than `ra`, one register for two values, and neither with D, which has these encodings.
        for reserved in [0xb802, 0xba32, 0xbe22, 0xac22, 0xaca6] {
            assert_eq!(Decoder::new(isa).decode(reserved), None, "{reserved:#x}");
        }
    }
    assert_eq!(disassemble(0xb842, Isa::default()), "fsd fa6,48(sp)");
}

#[test]
fn operands_that_do_not_exist_are_refused() {
    let isa: Isa = "rv64imac_zcmp".parse().unwrap();
    for (text, reason) in [
        ("cm.push {ra,s0-s10},-112", "none ends with s10"),
        ("cm.push {s0},-16", "not a list"),
        ("cm.push {ra},-24", "one of -16, -32, -48, -64, not -24"),
        ("cm.pop {ra,s0-s1},16", "one of 32, 48, 64, 80, not 16"),
        ("cm.mva01s s0,s8", "not one of `s0` to `s7`"),
        ("cm.mvsa01 s1,s1", "needs two registers"),
    ] {
        let error = assemble(&Sources::new("a.s", text), &Options { isa, ..Options::default() }).unwrap_err();
        assert!(error[0].to_string().contains(reason), "{text}: {}", error[0]);
    }
    let numbers = Sources::new("a.s", "cm.push {x1, x8-x9, x18-x19}, -48\ncm.push {ra, s0-s3}, -48");
    let image = assemble(&numbers, &Options { isa, ..Options::default() }).unwrap();
    let [a, b, c, d] = image.program.segments[0].data[..] else { panic!("two halves") };
    assert_eq!([a, b], [c, d]);
}

#[derive(Default)]
struct Traps(Vec<Trap>);

impl Observer for Traps {
    const TRAP: bool = true;
    fn trap(&mut self, trap: &Trap) {
        self.0.push(*trap);
    }
}

/// Runs halves of code with each register holding 100 times its number, but `sp` and `ra`; both engines must agree.
fn run(isa: &str, sp: u64, ra: u64, code: &[u16]) -> (Machine, Vec<Trap>) {
    let mut ends = [false, true].map(|reference| {
        let config = Config { isa: isa.parse().unwrap(), ram_bytes: RAM, ..Config::default() };
        let mut machine = Machine::new(config).unwrap();
        let bytes: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
        machine.write_memory(BASE, &bytes).unwrap();
        (1..32).for_each(|r| machine.set_x(r, u64::from(r) * 100));
        machine.set_x(2, sp);
        machine.set_x(1, ra);
        let mut traps = Traps::default();
        match reference {
            true => machine.run_reference(code.len() as u64, &mut traps),
            false => machine.run(code.len() as u64, &mut traps),
        };
        (machine, traps.0)
    });
    let registers = |machine: &Machine| (0..32).map(|r| machine.x(r)).collect::<Vec<_>>();
    assert_eq!(registers(&ends[0].0), registers(&ends[1].0));
    assert_eq!(ends[0].1, ends[1].1);
    ends[0].1.truncate(1);
    let [(machine, traps), _] = ends;
    (machine, traps)
}

/// Unprivileged specification, 28.13.4: from the address below `sp` down, `s11` to `s0` and then `ra`.
#[test]
fn registers_are_stored_from_the_last_and_loaded_back() {
    for (isa, word) in [(ISAS[0], 4), (ISAS[1], 8)] {
        let sp = BASE + 0x8000;
        let (machine, _) = run(isa, sp, 7, &[0xb8fe]);
        let mut stored = Vec::new();
        for r in [7_u64, 800, 900].into_iter().chain((18..28).map(|r| r * 100)) {
            stored.extend(&r.to_le_bytes()[..word]);
        }
        let size = stored.len() as u64;
        assert_eq!(machine.read_memory(sp - size, size).unwrap(), stored, "{isa}");
        let room = if word == 4 { 112 } else { 160 };
        assert_eq!((machine.x(2), machine.pc()), (sp - room, BASE + 2));
        // With the same room, other values there, and a return with the result 0.
        let (machine, _) = run(isa, sp, BASE + 4, &[0xb8fe, 0xbcfe, 0x0001]);
        assert_eq!((machine.x(2), machine.x(10), machine.x(27), machine.pc()), (sp, 0, 2700, BASE + 6));
        let (machine, _) = run(isa, sp, 0, &[0xac7e]);
        assert_eq!([machine.x(10), machine.x(11)], [800, 2300]);
        let (machine, _) = run(isa, sp, 0, &[0xacaa]);
        assert_eq!([machine.x(9), machine.x(18)], [1000, 1100]);
    }
}

#[test]
fn a_trap_in_the_middle_leaves_sp() {
    // s1 and s0 fit below, and `ra` does not.
    let (machine, traps) = run(ISAS[1], BASE + 16, 7, &[0xb862]);
    let trap = (traps[0].cause, traps[0].tval, traps[0].epc, machine.x(2));
    assert_eq!(trap, (Cause::StoreAccessFault, BASE - 8, BASE, BASE + 16));
    // Of {ra, s0} the last word is behind the end.
    let sp = BASE + RAM - 8;
    let (machine, traps) = run(ISAS[1], sp, 7, &[0xba52]);
    let trap = (traps[0].cause, traps[0].tval, machine.x(2), machine.x(8), machine.x(1));
    assert_eq!(trap, (Cause::LoadAccessFault, BASE + RAM, sp, 800, 7));
    // Misaligned: nothing of it is done.
    let (machine, traps) = run(ISAS[0], BASE + 0x8002, 7, &[0xb842]);
    let trap = (traps[0].cause, traps[0].tval, machine.x(2));
    assert_eq!(trap, (Cause::StoreMisaligned, BASE + 0x7ffe, BASE + 0x8002));
}
