//! Stage diagrams of cases that were drawn by hand first.

mod hostile;
mod kanata;
mod o3pipeview;
mod svg;

use tollgate_record::family::PipelineAsked;
use tollgate_record::stages::{StageDiagram, StageRow, StageSpan, StageSquash};
use tollgate_record::{Asked, Host, Measurement, Per, Run, Status, Tool};
use tollgate_report::export::{ExportError, Format};
use tollgate_report::{Style, view};

const ASCII: Style = Style { width: 80, color: false, unicode: false, ..Style::PLAIN };

/// A row from the cycle of its first stage and the cycles that it spends in each.
fn row(seq: u64, text: &str, start: u64, cycles: &[u64]) -> StageRow {
    let mut at = start;
    let stages = ["IF", "ID", "EX", "MEM", "WB"]
        .into_iter()
        .zip(cycles)
        .map(|(name, &cycles)| {
            at += cycles;
            StageSpan { name: name.into(), first: at - cycles, last: at - 1 }
        })
        .collect();
    StageRow {
        address: format!("{:#x}", 0x8000_0000 + 4 * seq),
        mode: "U".into(),
        text: text.to_owned(),
        place: String::new(),
        stages,
        waits: Vec::new(),
        squash: None,
        traps: false,
        stores: text.starts_with("sd"),
    }
}

/// A run with one diagram.
fn run(rows: Vec<StageRow>) -> Run {
    let mut entry = Measurement::empty("riscv-pipeline/trap", "embedded", Per::Trap, Status::Measured);
    entry.asked = Asked::Pipeline(PipelineAsked { core: "core".into(), ..PipelineAsked::default() });
    entry.stages = Some(StageDiagram { rows, event: Some(0), first_fetch: 0 });
    Run {
        complete: true,
        results: vec![entry],
        ..Run::begin(
            "id".into(),
            String::new(),
            Tool { version: String::new(), commit: String::new() },
            Vec::new(),
            Host::default(),
            0,
        )
    }
}

/// The diagram alone, between the core's name and the sentence.
fn draw(rows: &[StageRow], style: &Style) -> String {
    let shown = view(&run(rows.to_vec()), style);
    let diagram = shown.strip_prefix("core\n\n").expect("the core");
    diagram.rsplit_once("\n\n").map_or(String::new(), |(diagram, _)| format!("{diagram}\n"))
}

/// The rows in a format of other viewers.
fn exported(rows: &[StageRow], format: &str) -> Result<String, ExportError> {
    Format::named(format).expect("a format").export(&run(rows.to_vec())).map(|it| it.text().to_owned())
}

/// A load, an instruction that needs what it loads, and one behind it: the textbook's one bubble.
fn load_use() -> Vec<StageRow> {
    let mut rows = vec![
        row(0, "ld a0, 0(sp)", 10, &[1, 1, 1, 1, 1]),
        row(1, "addi a0, a0, 1", 11, &[1, 2, 1, 1, 1]),
        row(2, "sd a0, 0(sp)", 12, &[2, 1, 1, 1, 1]),
    ];
    rows[1].waits.push(StageSpan { name: "load-use".into(), first: 12, last: 12 });
    rows
}

/// A trap: what was fetched behind the ecall is thrown away, and the handler begins.
fn trap() -> Vec<StageRow> {
    let squash = |mut row: StageRow, at| {
        row.squash = Some(StageSquash { at, by: "trap".into() });
        row
    };
    let mut rows = vec![
        row(0, "ecall", 100, &[1, 1, 1, 1, 1]),
        squash(row(1, "mv s0, a0", 101, &[1, 1, 1]), 104),
        squash(row(2, "li a7, 93", 102, &[1, 1]), 104),
        squash(row(3, "", 103, &[1]), 104),
        row(4, "csrrw sp, sscratch, sp", 104, &[1, 1, 1, 1, 1]),
    ];
    rows[4].address = "0x80100000".into();
    rows[4].mode = "S".into();
    rows
}

#[test]
fn the_bubble_behind_a_load() {
    assert_eq!(
        draw(&load_use(), &ASCII),
        "\
cycle                             10
U 80000000 ld a0, 0(sp)           FDXMW
U 80000004 addi a0, a0, 1          FD.XMW  load-use 1
U 80000008 sd a0, 0(sp)             F.DXMW
F IF   D ID   X EX   M MEM   W WB   . still there
U user mode
"
    );
}

#[test]
fn a_trap_is_a_control_hazard() {
    assert_eq!(
        draw(&trap(), &Style { unicode: true, ..ASCII }),
        "\
cycle                             100
U 80000000 ecall                  FDXMW
U 80000004 mv s0, a0               FDX×  squashed: trap
U 80000008 li a7, 93                FD×  squashed: trap
U 8000000c                           F×  squashed: trap
S 80100000 csrrw sp, sscratch, sp     FDXMW
F IF   D ID   X EX   M MEM   W WB   × thrown away
U user mode   S supervisor mode
"
    );
}

#[test]
fn a_miss_is_folded() {
    let mut rows = vec![row(0, "ld a0, 0(sp)", 0, &[1, 1, 1, 40, 1]), row(1, "nop", 1, &[1, 1, 40, 1, 1])];
    rows[0].waits.push(StageSpan { name: "d-miss".into(), first: 4, last: 42 });
    assert_eq!(
        draw(&rows, &ASCII),
        "\
cycle                             0     43
U 80000000 ld a0, 0(sp)           FDXM.~W  d-miss 39
U 80000004 nop                     FDX.~MW
F IF   D ID   X EX   M MEM   W WB   . still there   ~ nothing moves
U user mode
"
    );
}

#[test]
fn what_does_not_fit_goes_on_below() {
    let rows: Vec<_> = (0..100).map(|seq| row(seq, "nop", seq, &[1; 5])).collect();
    let drawn = draw(&rows, &ASCII);
    assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
    assert_eq!(drawn.lines().filter(|line| line.contains("nop")).count(), 100);
    // 46 columns hold 42 instructions of five stages, one behind the other.
    let windows: Vec<_> = drawn.lines().filter(|line| line.starts_with("cycle")).collect();
    assert_eq!(windows.len(), 3);
    assert!(windows[1].trim_start_matches("cycle").trim_start().starts_with("42"), "{drawn}");
    assert_eq!(draw(&[], &ASCII), "");
}

#[test]
fn a_narrow_terminal_cuts_nothing_but_what_cannot_fit() {
    let long = vec![row(0, &"x".repeat(90), 0, &[1, 1, 1, 1, 1])];
    for width in [0, 20, 40, 50, 60, 79, 200] {
        let drawn = draw(&long, &Style { width, ..ASCII });
        assert!(drawn.lines().next().is_some_and(|line| line.len() <= width.max(40)), "{drawn}");
        assert!(drawn.contains("FDXMW"), "{drawn}");
    }
}

/// A kernel's addresses do not fit into 32 bits; two that differ above must not look alike.
#[test]
fn addresses_are_whole() {
    let mut rows = vec![row(0, "ecall", 0, &[1, 1, 1, 1, 1]), row(1, "sret", 1, &[1, 1, 1, 1, 1])];
    rows[1].address = "0xffffffff80000004".into();
    let run = run(rows);
    let text = view(&run, &ASCII);
    assert!(text.contains("0000000080000000 ecall") && text.contains("ffffffff80000004 sret"), "{text}");
    let picture = Format::named("svg").unwrap().export(&run).unwrap();
    let picture = picture.text();
    assert!(picture.contains("ffffffff80000004 sret"), "{picture}");
}
