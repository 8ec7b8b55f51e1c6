//! Stage diagrams of cases that were drawn by hand first.

mod kanata;
mod o3pipeview;
mod record;
mod svg;

use tollgate_lab::diagram::text::{Look, draw};
use tollgate_lab::diagram::{Lane, Span, Squash};

/// A lane from the cycle of its first stage and the cycles that it spends in each.
fn lane(seq: u64, text: &str, start: u64, cycles: &[u64]) -> Lane {
    let mut at = start;
    let stages = ["IF", "ID", "EX", "MEM", "WB"]
        .into_iter()
        .zip(cycles)
        .map(|(name, &cycles)| {
            at += cycles;
            Span { name, start: at - cycles, end: at }
        })
        .collect();
    Lane {
        seq,
        pc: 0x8000_0000 + 4 * seq,
        mode: 'U',
        text: text.to_owned(),
        place: String::new(),
        stages,
        stalls: Vec::new(),
        store: text.starts_with("sd"),
        squash: None,
        traps: false,
    }
}

/// A load, an instruction that needs what it loads, and one behind it: the textbook's one bubble.
fn load_use() -> Vec<Lane> {
    let mut lanes = vec![
        lane(0, "ld a0, 0(sp)", 10, &[1, 1, 1, 1, 1]),
        lane(1, "addi a0, a0, 1", 11, &[1, 2, 1, 1, 1]),
        lane(2, "sd a0, 0(sp)", 12, &[2, 1, 1, 1, 1]),
    ];
    lanes[1].stalls.push(Span { name: "load-use", start: 12, end: 13 });
    lanes
}

/// A trap: what was fetched behind the ecall is thrown away, and the handler begins.
fn trap() -> Vec<Lane> {
    let squash = |mut lane: Lane, at| {
        lane.squash = Some(Squash { at, by: "trap" });
        lane
    };
    let mut lanes = vec![
        lane(0, "ecall", 100, &[1, 1, 1, 1, 1]),
        squash(lane(1, "mv s0, a0", 101, &[1, 1, 1]), 104),
        squash(lane(2, "li a7, 93", 102, &[1, 1]), 104),
        squash(lane(3, "", 103, &[1]), 104),
        lane(4, "csrrw sp, sscratch, sp", 104, &[1, 1, 1, 1, 1]),
    ];
    lanes[4].pc = 0x8010_0000;
    lanes[4].mode = 'S';
    lanes
}

#[test]
fn the_bubble_behind_a_load() {
    assert_eq!(
        draw(&load_use(), Look::default()),
        "\
cycle                             10
U 80000000 ld a0, 0(sp)           FDXMW
U 80000004 addi a0, a0, 1          FD.XMW  load-use 1
U 80000008 sd a0, 0(sp)             F.DXMW
F IF   D ID   X EX   M MEM   W WB   . still there
"
    );
}

#[test]
fn a_trap_is_a_control_hazard() {
    assert_eq!(
        draw(&trap(), Look { width: 80, unicode: true }),
        "\
cycle                             100
U 80000000 ecall                  FDXMW
U 80000004 mv s0, a0               FDX×  squashed: trap
U 80000008 li a7, 93                FD×  squashed: trap
U 8000000c                           F×  squashed: trap
S 80100000 csrrw sp, sscratch, sp     FDXMW
F IF   D ID   X EX   M MEM   W WB   × thrown away
"
    );
}

#[test]
fn a_miss_is_folded() {
    let mut lanes = vec![lane(0, "ld a0, 0(sp)", 0, &[1, 1, 1, 40, 1]), lane(1, "nop", 1, &[1, 1, 40, 1, 1])];
    lanes[0].stalls.push(Span { name: "d-miss", start: 4, end: 43 });
    assert_eq!(
        draw(&lanes, Look::default()),
        "\
cycle                             0     43
U 80000000 ld a0, 0(sp)           FDXM.~W  d-miss 39
U 80000004 nop                     FDX.~MW
F IF   D ID   X EX   M MEM   W WB   . still there   ~ nothing moves
"
    );
}

#[test]
fn what_does_not_fit_goes_on_below() {
    let lanes: Vec<_> = (0..100).map(|seq| lane(seq, "nop", seq, &[1; 5])).collect();
    let drawn = draw(&lanes, Look::default());
    assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
    assert_eq!(drawn.lines().filter(|line| line.contains("nop")).count(), 100);
    // 46 columns hold 42 instructions of five stages, one behind the other.
    let windows: Vec<_> = drawn.lines().filter(|line| line.starts_with("cycle")).collect();
    assert_eq!(windows.len(), 3);
    assert!(windows[1].trim_start_matches("cycle").trim_start().starts_with("42"), "{drawn}");
    assert_eq!(draw(&[], Look::default()), "");
}

#[test]
fn a_narrow_terminal_cuts_nothing_but_what_cannot_fit() {
    let long = vec![lane(0, &"x".repeat(90), 0, &[1, 1, 1, 1, 1])];
    for width in [0, 20, 60, 79, 200] {
        let drawn = draw(&long, Look { width, unicode: false });
        assert!(drawn.lines().next().is_some_and(|line| line.len() <= width.max(60)), "{drawn}");
        assert!(drawn.contains("FDXMW"), "{drawn}");
    }
}
