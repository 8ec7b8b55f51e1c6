//! What words cost that traps and returns stack in hardware.

use crate::common::Asm;
use tollgate_cores::{ByPrivilege, Cause, Core, Timed};
use tollgate_riscv::{Config, Machine, Op};

const BASE: u64 = 0x8000_0000;
const MTOLLSP: i64 = 0x7c1;
const MEPC: i64 = 0x341;
const MTVEC: i64 = 0x305;

fn machine(isa: &str, code: &Asm, handler: &Asm) -> Machine {
    let mut m =
        Machine::new(Config { isa: isa.parse().unwrap(), ram_bytes: 1 << 20, ..Config::default() }).unwrap();
    m.write_memory(BASE, &code.0).unwrap();
    m.write_memory(BASE + 0x100, &handler.0).unwrap();
    m.set_x(31, BASE + 0x100);
    m
}

/// Enters U-mode at the next instruction.
fn to_user(a: &mut Asm) {
    a.op(Op::Auipc, 30, 0, 0, 0).op(Op::Addi, 30, 30, 0, 16).csrw(MEPC, 30).op(Op::Mret, 0, 0, 0, 0);
}

/// The user calls with a0 = 7; the handler clobbers a0 and t0 freely, reads the user's a0 from the other bank and
/// answers a0 + 1; the user's registers are otherwise as they were. No load, no store.
/// The same program with stacking on and off: one word a cycle through the data port, there and back, and the misses
/// of the lines that contain the frame.
#[test]
fn stacking_takes_a_cycle_for_each_word_and_its_misses() {
    let mut code = Asm::default();
    code.csrw(MTVEC, 31).csrw(MTOLLSP, 30);
    to_user(&mut code);
    code.op(Op::Ecall, 0, 0, 0, 0).op(Op::Addi, 11, 10, 0, 0).op(Op::Jal, 0, 0, 0, 0);
    let mut handler = Asm::default();
    handler.csrr(9, MEPC).op(Op::Addi, 9, 9, 0, 4).csrw(MEPC, 9).op(Op::Mret, 0, 0, 0, 0);
    // The frame of 17 words is at 0xf70 to 0xff7, in three lines of 64 bytes. Its stores miss, its loads do not.
    let cached = "name = 'cached'
        [pipeline]
        memory-wait = 1
        [l1d]
        geometry = '4:2:64'
        [memory]
        latency = 20
        stores-wait = true";
    let spent = |core: &Core, stacks: u64| {
        let mut m = machine("rv64gc_xtollstack", &code, &handler);
        m.set_x(30, BASE + 0x1000 + stacks);
        let mut timed = Timed::new(core, (), ()).unwrap();
        m.run_reference(40, &mut timed);
        assert_eq!(timed.ledger().total(), timed.cycles());
        let mut m = machine("rv64gc_xtollstack", &code, &handler);
        m.set_x(30, BASE + 0x1000 + stacks);
        let mut fast = Timed::new(core, ByPrivilege, ()).unwrap();
        m.run(40, &mut fast);
        assert_eq!((fast.cycles(), fast.counts()), (timed.cycles(), timed.counts()));
        let of = |cause| timed.ledger().of_cause(cause) as i64;
        [timed.cycles() as i64, of(Cause::Structural), of(Cause::DMiss)]
    };
    let single = Core::preset("single-cycle").unwrap();
    let five = Core::preset("ripes-5stage").unwrap();
    let cached = Core::from_toml(cached).unwrap();
    for (core, port, missed) in [(single, 34, 0), (five, 34, 0), (cached, 2 * 34, 3 * 20)] {
        let (with, without) = (spent(&core, 1), spent(&core, 0));
        let more: Vec<i64> = with.iter().zip(without).map(|(with, without)| with - without).collect();
        assert_eq!(more, [port + missed, port, missed], "{}", core.name);
    }
}
