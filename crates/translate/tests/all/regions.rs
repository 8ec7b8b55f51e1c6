//! Single translations, run by hand.

use crate::common::Asm;
use crate::common::random::BASE;
use tollgate_riscv::tier::{
    Exit, LOG, ROOM, Region, Registers, Reports, Run, STARTS, Start, Starts, TLB_ENTRIES, Tlb, Translation,
    Translator,
};
use tollgate_riscv::{Op, Xlen};
use tollgate_translate::Translations;

/// A region of instructions one after another.
fn straight(entry: u64, asm: &Asm) -> Region {
    let insn = |(place, word): (usize, &[u8])| {
        let word = u32::from_le_bytes(word.try_into().unwrap());
        let insn = tollgate_riscv::Decoder::new("rv64imac".parse().unwrap()).decode(word).unwrap();
        tollgate_riscv::BlockInsn { pc: entry + place as u64 * 4, insn, word, page: 1 }
    };
    let insns = asm.0.chunks(4).enumerate().map(insn).collect();
    let (runs, xlen, reports) = (vec![Run { place: 0, insns }], Xlen::Rv64, Reports::Nothing);
    Region { entry, runs, xlen, target_mask: 1, rounding: None, misaligned: false, ram_base: BASE, reports }
}

/// Five instructions had retired, and the context is 3.
fn run(
    (translations, number): (&mut Translations, u16),
    x: &mut [u64; 256],
    ram: &mut [u8],
    table: &Tlb,
    starts: &Starts,
    limit: u64,
) -> Option<Exit> {
    let registers = Registers {
        x,
        f: &mut [0; 256],
        fflags: &mut 0,
        reservation: &mut None,
        ram,
        loads: table,
        stores: table,
        starts,
        context: 3,
        retired: 5,
        limit,
        observed: None,
    };
    translations.run(number, registers)
}

#[test]
fn a_translation_goes_on_in_another_one_only_in_its_context_and_below_the_limit() {
    let mut translations = Translations::new().unwrap();
    let mut asm = Asm::default();
    asm.op(Op::Addi, 10, 10, 0, 1);
    let first = translations.translate(straight(0x1000, &asm)).number().unwrap();
    let second = translations.translate(straight(0x1004, &asm)).number().unwrap();
    let good = Start { pc: 0x1004, context: 3, number: second.into() };
    let cases = [
        ("all is right", good, 6, 2),
        ("the limit is exceeded", good, 5, 1),
        ("another context", Start { context: 4, ..good }, 6, 1),
        ("another address", Start { pc: 0x1004 + 2 * STARTS as u64, ..good }, 6, 1),
        // Whatever the table contains, nothing but a translation is called.
        ("no translation", Start { number: 2, ..good }, 6, 1),
        ("no number of one", Start { number: u32::MAX, ..good }, 6, 1),
    ];
    for (what, start, limit, expected) in cases {
        let mut starts = [Start { pc: 1, context: 0, number: 0 }; STARTS];
        starts[(0x1004 >> 1) % STARTS] = start;
        let table = [tollgate_riscv::tier::TlbEntry { tag: 0, addend: 0 }; TLB_ENTRIES];
        let mut x = [0; 256];
        let exit = run((&mut translations, first), &mut x, &mut [0; 64], &table, &starts, limit);
        let end = Exit { pc: 0x1000 + expected * 4, retired: 5 + expected, interpret: false };
        assert_eq!((exit, x[10]), (Some(end), expected), "{what}");
    }
}

#[test]
fn misaligned_accesses_are_done_in_one_page_where_the_machine_does_them() {
    // (unprivileged specification, 2.6: otherwise they trap, which is the interpreter's, as is what is in two pages)
    let mut asm = Asm::default();
    asm.op(Op::Sd, 0, 10, 11, 0).op(Op::Lwu, 12, 10, 0, 2);
    let starts = [Start { pc: 1, context: 0, number: 0 }; STARTS];
    // Where the store begins, and how many instructions are done if misaligned accesses are, or else.
    let cases =
        [(0, 2, 1), (1, 2, 0), (2, 2, 0), (4, 2, 0), (8, 2, 1), (4087, 2, 0), (4088, 2, 1), (4089, 0, 0)];
    for misaligned in [true, false] {
        let mut translations = Translations::new().unwrap();
        let region = Region { misaligned, ..straight(0x1000, &asm) };
        let number = translations.translate(region).number().unwrap();
        for (at, done, otherwise) in cases {
            let expected = if misaligned { done } else { otherwise };
            let mut x = [0; 256];
            (x[10], x[11]) = (at, 0x8877_6655_4433_2211);
            let mut ram = vec![0; 8192];
            // Page 0 and no other.
            let mut table = [tollgate_riscv::tier::TlbEntry { tag: 1 << 11, addend: 0 }; TLB_ENTRIES];
            table[0].tag = 0;
            let exit = run((&mut translations, number), &mut x, &mut ram, &table, &starts, 100).unwrap();
            let end = Exit { pc: 0x1000 + 4 * expected, retired: 5 + expected, interpret: expected < 2 };
            assert_eq!(exit, end, "at {at}, misaligned: {misaligned}");
            let stored = (1..=8).map(|n| n * 0x11).collect::<Vec<u8>>();
            let place = at as usize..at as usize + 8;
            assert_eq!(ram[place] == stored, expected > 0, "at {at}");
            assert_eq!(x[12], if expected == 2 { 0x6655_4433 } else { 0 }, "at {at}");
        }
    }
}

#[test]
fn accesses_beyond_ram_are_the_interpreters_whatever_the_table_says() {
    let mut asm = Asm::default();
    asm.op(Op::Sd, 0, 10, 11, 0).op(Op::Ld, 12, 10, 0, 0);
    let starts = [Start { pc: 1, context: 0, number: 0 }; STARTS];
    let mut translations = Translations::new().unwrap();
    let number = translations.translate(straight(0x1000, &asm)).number().unwrap();
    for (addend, is_inside) in [
        (0, true),
        (4096 - 8, true),
        (4096 - 7, false),
        (4096, false),
        (u64::MAX, false),
        (u64::MAX - 7, false),
        (1 << 63, false),
    ] {
        let mut x = [0; 256];
        (x[10], x[11]) = (0, 77);
        let mut ram = vec![0; 4096];
        let entry = tollgate_riscv::tier::TlbEntry { tag: 0, addend };
        let table = [entry; TLB_ENTRIES];
        let exit = run((&mut translations, number), &mut x, &mut ram, &table, &starts, 100);
        let expected = if is_inside {
            Exit { pc: 0x1008, retired: 7, interpret: false }
        } else {
            Exit { pc: 0x1000, retired: 5, interpret: true }
        };
        assert_eq!(exit, Some(expected), "{addend:#x}");
        assert_eq!(ram.iter().any(|&byte| byte != 0), is_inside, "{addend:#x}");
        assert_eq!(x[12], if is_inside { 77 } else { 0 });
    }
}

/// Accesses by one register are found together, all of them or none: before the first one, with nothing done.
#[test]
fn accesses_by_one_register_are_found_together_in_one_page_of_ram_while_it_is_not_written() {
    let mut asm = Asm::default();
    asm.op(Op::Sd, 0, 10, 11, 8).op(Op::Sw, 0, 10, 11, 0).op(Op::Sb, 0, 10, 11, 40);
    // (This one points elsewhere from then on.)
    asm.op(Op::Ld, 12, 10, 0, 8).op(Op::Ld, 10, 10, 0, 48).op(Op::Ld, 13, 10, 0, 16);
    let starts = [Start { pc: 1, context: 0, number: 0 }; STARTS];
    let (there, value) = (0x2100_u64, 0x8877_6655_4433_2211_u64);
    // Where the register points to, the bytes of RAM, and how many instructions are done.
    let cases = [
        (0x1000, 0x3000, 6),
        (0x1020, 0x3000, 6),
        // The third store, and then the fourth load, is in the next page.
        (0x1fd8, 0x3000, 0),
        (0x1fd0, 0x3000, 3),
        // RAM ends with the third store, and before it.
        (0x1000, 0x1029, 3),
        (0x1000, 0x1028, 0),
    ];
    for misaligned in [true, false] {
        let mut translations = Translations::new().unwrap();
        let region = Region { misaligned, ..straight(0x1000, &asm) };
        let number = translations.translate(region).number().unwrap();
        for (at, bytes, done) in cases {
            let mut ram = vec![0; bytes];
            for (place, value) in [(at as usize + 48, there), (there as usize + 16, 99)] {
                if let Some(place) = ram.get_mut(place..place + 8) {
                    place.copy_from_slice(&value.to_le_bytes());
                }
            }
            let mut table = [tollgate_riscv::tier::TlbEntry { tag: 1 << 11, addend: 0 }; TLB_ENTRIES];
            for (entry, page) in table.iter_mut().zip(0..3) {
                entry.tag = page << 12;
            }
            let mut x = [0; 256];
            (x[10], x[11]) = (at, value);
            let exit = run((&mut translations, number), &mut x, &mut ram, &table, &starts, 100).unwrap();
            let end = Exit { pc: 0x1000 + 4 * done, retired: 5 + done, interpret: done < 6 };
            assert_eq!(exit, end, "at {at:#x} of {bytes:#x}, misaligned: {misaligned}");
            let stored = ram.get(at as usize + 8..at as usize + 16) == Some(&value.to_le_bytes());
            assert_eq!(stored, done > 0, "at {at:#x} of {bytes:#x}");
            let loaded = if done == 6 { [there, value, 99] } else { [at, 0, 0] };
            assert_eq!([x[10], x[12], x[13]], loaded, "at {at:#x} of {bytes:#x}");
        }
    }
    // RAM without room for what is found together is the interpreter's.
    let mut translations = Translations::new().unwrap();
    let number = translations.translate(straight(0x1000, &asm)).number().unwrap();
    let table =
        [tollgate_riscv::tier::TlbEntry { tag: 0x1000, addend: 0_u64.wrapping_sub(0x1000) }; TLB_ENTRIES];
    let mut x = [0; 256];
    x[10] = 0x1000;
    assert_eq!(run((&mut translations, number), &mut x, &mut [0; 40], &table, &starts, 100), None);
    // What is not aligned as the first access is has to be.
    let mut asm = Asm::default();
    asm.op(Op::Lw, 12, 10, 0, 4).op(Op::Lw, 13, 10, 0, 6).op(Op::Ld, 14, 10, 0, 0);
    let mut translations = Translations::new().unwrap();
    let region = Region { misaligned: false, ..straight(0x1000, &asm) };
    let number = translations.translate(region).number().unwrap();
    let table = [tollgate_riscv::tier::TlbEntry { tag: 0, addend: 0 }; TLB_ENTRIES];
    for (at, done) in [(0, 1), (2, 0), (4, 1), (1, 0)] {
        let mut x = [0; 256];
        x[10] = at;
        let exit = run((&mut translations, number), &mut x, &mut [0; 4096], &table, &starts, 100).unwrap();
        assert_eq!(exit, Exit { pc: 0x1000 + 4 * done, retired: 5 + done, interpret: true }, "at {at}");
    }
}

/// Translations that write a log, run without one, or with runs for which a log has no room, would write elsewhere.
#[test]
fn translations_that_write_a_log_need_one_with_room_for_each_run() {
    let mut asm = Asm::default();
    for _ in 0..LOG as u64 - ROOM {
        asm.op(Op::Addi, 10, 10, 0, 1);
    }
    let reports = Reports::Runs { accesses: true, operands: true };
    let mut translations = Translations::new().unwrap();
    let number = translations.translate(Region { reports, ..straight(0x1000, &asm) }).number().unwrap();
    let starts = [Start { pc: 1, context: 0, number: 0 }; STARTS];
    let table = [tollgate_riscv::tier::TlbEntry { tag: 0, addend: 0 }; TLB_ENTRIES];
    let exit = run((&mut translations, number), &mut [0; 256], &mut [0; 8], &table, &starts, 1_000);
    assert_eq!(exit, None);
    asm.op(Op::Addi, 10, 10, 0, 1);
    assert_eq!(translations.translate(Region { reports, ..straight(0x1000, &asm) }), Translation::Refused);
}
